"""Approvals: the inbox where people answer, the check that an answer permits the call, and the key that seals both.

It imports `infra`, `schema`, `contracts`, `model` and `errors`. It does not know the pipeline, notifiers or who is
signed in where.
"""
