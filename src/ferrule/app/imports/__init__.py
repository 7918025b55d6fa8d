"""Imports tools from OpenAPI documents, MCP servers and Python functions, and updates them when the source changes.

It imports `app/lock`, `workspace`, `settings` and the layers below. It does not know the command line or its questions.
"""
