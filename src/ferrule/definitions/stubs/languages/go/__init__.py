"""Stubs in Go: `language.py` puts the files together."""
