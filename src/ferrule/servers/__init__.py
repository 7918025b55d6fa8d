"""The edges that serve a workspace: MCP, OXP, the HTTP API and the console, on one port.

A server decodes the wire, calls `app`, and encodes the answer. It imports `app` and every layer below, never `cli`. It
does not know how a call is decided or run.
"""
