"""The embedded ledger: one SQLite file with one writer.

It imports `ledger/stores`, the ledger's hash chain and tables, `contracts`, `model` and `errors`. It does not know
payloads or sinks.
"""
