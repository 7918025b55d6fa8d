"""Stubs in Python: types in four flavours, implementations that Ferrule runs, and a client."""
