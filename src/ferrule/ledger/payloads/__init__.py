"""Stores for the bytes of large results: in files, and in memory for tests.

They implement `contracts/payloads.py` and import `contracts` and `model`. They do not know rows, calls or redaction.
"""
