"""The outside world: network, processes, clouds, credentials, secrets, the lock file; clock, private files, optional
drivers.

It imports `schema`, `contracts`, `model` and `errors`. It does not know definitions, calls or the ledger: the engines
above use it and pass in everything it needs.
"""
