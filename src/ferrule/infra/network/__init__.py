"""The HTTP client and its guard: resolves each name once, checks the address, and connects to the address it checked.

It imports `errors` and nothing else of ours. It does not know credentials, tools or retries of calls.
"""
