"""Endpoints of the HTTP API for the catalog, surfaces, search and diagnostics.

They import `servers/api`, `servers/auth`, `app` and the layers below. They do not know sockets, MCP, OXP or pages.
"""
