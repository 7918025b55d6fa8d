"""Audit: proves that a ledger holds the rows that were written. Works on rows and tables that it is given.

It imports the ledger's hash chain, `contracts`, `model` and `errors`. It does not know which store the rows lie in.
"""
