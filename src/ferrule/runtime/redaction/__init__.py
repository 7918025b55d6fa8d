"""Redaction: removes known secrets, well-known tokens and sensitive fields from texts, values, streams and log lines.

It imports `schema`, `contracts`, `model` and `errors`. It does not know where secrets come from or where a text goes.
"""
