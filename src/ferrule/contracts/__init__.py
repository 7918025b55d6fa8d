"""The duties of each kind of part: one Protocol per kind, one file each, and the registry that joins them.

This is the whole extension surface, and it is public. It imports only `model` and `errors`. It does not know a single
implementation, and it opens nothing.
"""
