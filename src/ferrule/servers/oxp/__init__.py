"""A workspace as an OXP 1.0 tool server: health, tools, calls and authorization challenges (OXP-19 to OXP-50).

It imports `servers/auth`, `app` and the layers below. It does not know MCP, the HTTP API or pages.
"""
