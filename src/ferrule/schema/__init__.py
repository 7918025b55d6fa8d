"""JSON Schema, in one place: walking, references, merging, unfolding, validation, and fitting to providers.

It imports `contracts`, `model` and `errors`. It does not know tools as people define or call them, and it reads no file
and fetches nothing.
"""
