"""The Tasks extension of MCP: a call that takes long or waits for a person becomes a task that the client asks about.

It imports `servers/mcp`, `servers/auth`, `app` and the layers below. It keeps no state beside the ledger, and does not
know the transport.
"""
