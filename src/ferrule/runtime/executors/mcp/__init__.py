"""Runs tools of upstream MCP servers, with the official client.

It imports the parts that executors share, `infra`, `contracts` and `model`. It does not know policy, approvals or the
ledger.
"""
