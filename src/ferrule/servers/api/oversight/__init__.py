"""Endpoints of the HTTP API for policy and audit.

They import `servers/api`, `servers/auth`, `app` and the layers below. They do not know sockets, MCP, OXP or pages.
"""
