"""The record: stores, payloads, event sinks, audit, and the history of calls.

One of three engines. It imports `infra`, `schema`, `contracts`, `model` and `errors`, never `definitions` or `runtime`.
It does not know how a call runs.
"""
