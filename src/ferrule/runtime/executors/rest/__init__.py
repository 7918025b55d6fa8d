"""Runs tools over HTTP (AML's `rest-api` transport): compiles the mapping once per tool, fills in values per call.

It imports the parts that executors share, `infra`, `contracts` and `model`. It does not know policy, approvals or the
ledger.
"""
