"""Stubs in TypeScript: types that state the shape, and a few support files that hold, serve and call tools.

It imports `definitions/stubs`, `contracts` and `model`. It does not know the other languages or the disk.
"""
