"""The policy engine: reads rules from eight sources and gives one ruling per call.

It imports `infra/processes`, `contracts`, `model` and `errors`. It reads no clock, asks no network, and does not know
the pipeline or approvals.
"""
