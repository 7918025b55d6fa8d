"""Stubs in Go; `language.py` puts the files together.

It imports `definitions/stubs`, `contracts` and `model`. It does not know the other languages or the disk.
"""
