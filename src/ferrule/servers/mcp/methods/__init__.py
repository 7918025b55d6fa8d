"""The methods of MCP: discovery, lists, calls, resources, prompts, completion and subscriptions.

They import `servers/mcp`, `servers/auth`, `app` and the layers below. They do not know sockets or pipes.
"""
