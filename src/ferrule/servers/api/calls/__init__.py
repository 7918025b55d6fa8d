"""Endpoints of the HTTP API for calls, batches, approvals, payloads and past calls.

They import `servers/api`, `servers/auth`, `app` and the layers below. They do not know sockets, MCP, OXP or pages.
"""
