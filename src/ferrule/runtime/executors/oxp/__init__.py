"""Runs tools of upstream OXP servers.

It imports the parts that executors share, `infra`, `contracts` and `model`. It does not know policy, approvals or the
ledger.
"""
