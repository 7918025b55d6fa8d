"""Authentication of requests: Host and Origin, keys, access tokens, and the grants that callers get.

It imports `access`, `runtime/redaction`, `infra`, `model` and `errors`. It does not know the protocol spoken after it.
"""
