"""Compiles definitions: finds files, reads and checks them, gives findings their places, and builds the catalog.

Its callers pass in the dialects and rules; it imports neither, only `infra`, `schema`, `contracts`, `model` and
`errors`. It does not know the words of any standard.
"""
