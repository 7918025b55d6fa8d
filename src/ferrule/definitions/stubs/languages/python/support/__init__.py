"""Modules that are copied into Python stubs: they read, check and write values.

They run where Ferrule is not installed and import one another only. One exception,
`builtin_tools.py`, serves implementations that Ferrule runs and imports `contracts`
and `model`. They do not know the generator that copies them.
"""
