"""Stores for the bytes of large results; `builtin.py` lists them.

They implement `contracts/payloads.py` and import `contracts` and `model`. They do not know rows, calls or redaction.
"""
