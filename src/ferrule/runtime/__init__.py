"""Run time: takes one call through thirteen phases under policy, hooks and approval, and runs the tool.

One of three engines. It imports `infra`, `schema`, `contracts`, `model` and `errors`, never `definitions` or `ledger`.
It does not know how definitions are written or where the ledger is stored.
"""
