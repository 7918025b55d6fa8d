"""HTTP/1.1 on the event loop: connections, request heads and bodies, and time limits for everything a client can delay.

It runs the same application that ASGI servers can run. It imports `servers` and `infra`. It does not know paths,
callers or protocols above HTTP.
"""
