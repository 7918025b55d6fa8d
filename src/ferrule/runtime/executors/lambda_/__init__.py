"""Runs tools that are cloud functions: AWS Lambda, and functions of Google Cloud and Azure over HTTP.

It imports the parts that executors share, `infra`, `contracts` and `model`. It does not know policy, approvals or the
ledger.
"""
