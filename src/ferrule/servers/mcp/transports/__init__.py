"""The transports of MCP: streamable HTTP with and without sessions, and standard input and output.

They import `servers/mcp`, `servers/auth`, `app` and the layers below. They do not know tools or results.
"""
