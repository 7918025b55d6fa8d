"""Reads OpenAPI documents of every version into one shape: operations with their parameters, bodies and responses.

It imports `schema` and `model`. It does not know files, other formats, or tools that run.
"""
