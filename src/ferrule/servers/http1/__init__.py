"""HTTP/1.1 straight on the event loop: what a request costs is its parsing, its work and one write.

Time limits hold for everything a client can be slow with: sending a head, sending a body, reading an answer, and being idle.
One that keeps them all costs the others nothing. The application is the same that ASGI servers can run (`Root`).
"""
