"""The HTTP API: routes, requests, responses, problems, and the OpenAPI document that describes them.

It imports `servers/auth`, `app` and the layers below. It does not know MCP, OXP or pages.
"""
