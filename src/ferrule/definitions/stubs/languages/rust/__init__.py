"""Stubs in Rust: serde types, a schema checker, plain functions for implementations, and a client on the standard
library.

It imports `definitions/stubs`, `contracts` and `model`. It does not know the other languages or the disk.
"""
