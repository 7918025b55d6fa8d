"""Turns the credentials that a definition declares into the values that a remote system expects; holds OAuth and the
vault.

It keeps a value for a bounded time only, and gives it to the redactor before anyone else. It imports other parts of
`infra`, `contracts` and `model`. It does not know executors or calls.
"""
