"""Stubs in TypeScript: types that state the shape, and support files that check values by the schema.

It imports `definitions/stubs`, `contracts` and `model`. It does not know the other languages or the disk.
"""
