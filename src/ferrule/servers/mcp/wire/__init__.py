"""The messages of MCP: reading, headers, cursors, content blocks, results and server-sent events.

It imports `servers/mcp`, `app` and the layers below. It does not know who is connected or how.
"""
