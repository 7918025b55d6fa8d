"""Runs tools that query a database: one file per engine, and the parts that engines share.

It imports the parts that executors share, `infra`, `contracts` and `model`. It does not know policy, approvals or the
ledger.
"""
