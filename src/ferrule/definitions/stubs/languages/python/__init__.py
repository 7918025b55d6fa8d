"""Stubs in Python: types in four flavours, implementations that Ferrule runs, and a client.

It imports `definitions/stubs`, `contracts` and `model`. It does not know the other languages or the disk.
"""
