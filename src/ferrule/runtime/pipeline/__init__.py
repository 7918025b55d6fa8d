"""Takes one call to exactly one result: the record of the call, the run through the phases, and the work phases share.

It imports `runtime/scheduler`, `runtime/redaction`, `infra`, `schema`, `contracts`, `model` and `errors`. Policy,
hooks, executors and the store reach it as contracts; it does not know their implementations.
"""
