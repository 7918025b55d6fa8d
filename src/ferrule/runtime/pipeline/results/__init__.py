"""Makes the result of a call out of what a tool gave: maps it, redacts it, keeps it, packs it for the ledger.

`phases/map_result` and `phases/persist_result` call it. It runs no tool and knows no phase.
"""
