"""The compiler: finds files, reads and checks them, turns findings into diagnostics with places, and builds the
catalog.

Its callers pass in the dialects and rules; it imports neither shelf, only `schema`, `contracts`, `model` and `errors`.
It does not know the words of any standard.
"""
