"""The floor over HTTP: a bare ASGI application that reads the body and gives a fixed one.

python serve_floor.py http PORT
"""

from serve_app import listen

BODY = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3"}],"structuredContent":{"result":3}}}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]


async def app(scope, receive, send):
    """One request."""
    if scope["type"] == "lifespan":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


if __name__ == "__main__":
    listen(app)
