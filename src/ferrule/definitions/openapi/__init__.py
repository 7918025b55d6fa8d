"""OpenAPI documents of every version, read into one shape: operations, their parameters, bodies and answers.

Knows nothing of files, and nothing of tools that run.
"""
