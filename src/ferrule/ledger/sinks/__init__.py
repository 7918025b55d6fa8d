"""Event sinks, one file per kind; `builtin.py` lists them.

They implement `contracts/sink.py` and import `contracts`, `model` and `errors`. They do not know the ledger: `app`
reads it and sends them its events.
"""
