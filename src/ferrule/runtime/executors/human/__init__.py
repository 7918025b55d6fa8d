"""Runs tools that a person carries out: a task in the inbox, announced by the tool's transport.

It imports the parts that executors share, `infra`, `contracts` and `model`. It does not know policy, approvals or the
ledger.
"""
