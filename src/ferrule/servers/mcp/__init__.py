"""The Model Context Protocol in four revisions: `wire/` messages, `transports/`, `methods/` and `tasks/`.

It imports `servers/auth`, `app` and the layers below. It does not know the official SDK, the HTTP API or pages.
"""
