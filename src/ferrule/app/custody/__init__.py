"""Wiring: what can be done with a ledger's file besides running calls. Joins the audit engine and the SQLite ledger.

Needs no running App and disturbs none. Every function takes the paths; nothing is looked up.
"""
