"""Notifiers tell people that a call waits for them: one file per channel; `builtin.py` lists them.

They implement `contracts/notifier.py` and import `infra/network` and `contracts`. They do not know the inbox or its
rules.
"""
