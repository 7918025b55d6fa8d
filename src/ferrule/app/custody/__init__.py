"""Care of a ledger's file apart from calls: verify, export, erase, prune, back up, restore.

It joins `ledger/audit` with the SQLite store. It imports `workspace` and the layers below. It needs no running App, and
does not know one; every function takes its paths.
"""
