"""The ledger in memory, which ends with its process: for tests and trials.

It imports `ledger/stores`, the ledger's tables, `contracts`, `model` and `errors`. It does not know files.
"""
