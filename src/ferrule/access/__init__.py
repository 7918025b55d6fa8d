"""Keys and tokens: which person or agent a token stands for, and what it may do.

It imports the engines, `infra`, `schema`, `contracts`, `model` and `errors`. It does not know HTTP: `servers/auth`
reads requests and asks here.
"""
