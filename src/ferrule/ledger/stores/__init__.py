"""Stores of the ledger: one folder per kind, with the same file names inside each.

They implement `contracts/store.py` and import the ledger's hash chain and tables, `contracts`, `model` and `errors`.
They do not know phases or events.
"""
