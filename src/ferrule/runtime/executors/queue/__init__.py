"""Runs tools behind message queues: a call becomes a message, and the reply finds the call that waits for it.

It imports the parts that executors share, `infra`, `contracts` and `model`. It does not know policy, approvals or the
ledger.
"""
