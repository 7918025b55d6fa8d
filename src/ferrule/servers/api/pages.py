"""What anybody may read of the HTTP API: its OpenAPI document, and the same as a page for people. No script, nothing from
elsewhere."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Any

from ferrule.servers.api.openapi import openapi, openapi_bytes
from ferrule.servers.api.problems import Problem
from ferrule.servers.api.reading import accepted, pairs_of, query_of
from ferrule.servers.api.reply import etag_of, has_tag
from ferrule.servers.api.route import JSON_TYPE
from ferrule.servers.asgi import JSON, Answer, Request

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }
code, pre { font: .9em/1.4 ui-monospace, monospace; }
h2 { margin-top: 3rem; border-bottom: 1px solid #8886; }
details { margin: .4rem 0; border: 1px solid #8884; border-radius: .4rem; padding: .4rem .8rem; }
summary { cursor: pointer; }
.method { display: inline-block; min-width: 3.5rem; font-weight: 700; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
td, th { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-top: 1px solid #8883; }
.says { color: #777; margin-left: .8rem; }
"""
_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


async def openapi_document(request: Request) -> Answer:
    """`GET /v1/openapi.json`. Raises Problem."""
    return _page(request, openapi_bytes(), JSON_TYPE, [JSON])


async def reference_page(request: Request) -> Answer:
    """`GET /v1/docs`. Raises Problem."""
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", _POLICY.encode()),
        (b"referrer-policy", b"no-referrer"),
    ]
    return _page(request, page(), "text/html", headers)


def _page(request: Request, body: bytes, kind: str, headers: list[tuple[bytes, bytes]]) -> Answer:
    if request.method == "OPTIONS":
        return Answer(204, b"", [(b"allow", b"GET, HEAD, OPTIONS")])
    if request.method not in ("GET", "HEAD"):
        detail = f"{request.method[:20]} cannot be done here; this path takes GET"
        raise Problem(405, "method_not_allowed", detail, headers=[(b"allow", b"GET, HEAD, OPTIONS")])
    query_of(pairs_of(request.query), None)
    if accepted(request, (kind,)) is None:
        raise Problem(406, "not_acceptable", f"this is given as {kind}")
    tag = etag_of(body)
    said = [*headers, (b"etag", tag), (b"cache-control", b"no-cache")]
    if has_tag(request, tag):
        return Answer(304, b"", said)
    return Answer(200, body, said)


@cache
def page() -> bytes:
    """The page, whole."""
    return "".join(_lines(openapi())).encode()


def _lines(document: dict[str, Any]) -> Iterator[str]:
    info = document["info"]
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])} HTTP API</title>'
    yield f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>'
    yield f"<h1>{escape(info['title'])} HTTP API <small>{escape(info['version'])}</small></h1>"
    yield f'<p>{_said(info["description"])}</p><p><a href="/v1/openapi.json">OpenAPI document</a></p>'
    for tag in document["tags"]:
        yield f"<h2>{escape(tag['name'])}</h2>"
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if tag["name"] in operation["tags"]:
                    yield from _operation(method, path, operation)
    yield "<h2>Shapes</h2>"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield from _shape(name, schema)
    yield "</body></html>\n"


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f'<details id="{escape(operation["operationId"])}"><summary><span class="method">{escape(method.upper())}</span>'
    yield f'<code>{escape(path)}</code><span class="says">{_said(operation["summary"])}</span></summary>'
    for paragraph in operation["description"].split("\n\n"):
        yield f"<p>{_said(paragraph)}</p>"
    if operation["parameters"]:
        yield "<table><tr><th>Parameter</th><th>In</th><th>Type</th><th>Meaning</th></tr>"
        for one in operation["parameters"]:
            yield _row(
                f"<code>{escape(one['name'])}</code>",
                escape(one["in"]),
                _type(one["schema"]),
                _said(one["description"]),
            )
        yield "</table>"
    body = operation.get("requestBody")
    if body is not None:
        need = "" if body["required"] else ", may be left out"
        yield f"<p>Body{need}: {_type(body['content']['application/json']['schema'])}</p>"
    yield "<table><tr><th>Status</th><th>Gives</th><th>Meaning</th></tr>"
    for status, response in operation["responses"].items():
        if "$ref" in response:
            response = openapi()["components"]["responses"][response["$ref"].rpartition("/")[2]]
        given = ", ".join(
            f"{_type(content['schema'])} <code>{escape(kind)}</code>"
            for kind, content in response.get("content", {}).items()
        )
        yield _row(escape(status), given, _said(response["description"]))
    yield "</table></details>"


def _shape(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f'<details id="{escape(name)}"><summary><code>{escape(name)}</code>'
    yield f'<span class="says">{_said(schema.get("description", ""))}</span></summary>'
    yield "<table><tr><th>Member</th><th>Type</th><th>Meaning</th></tr>"
    required = schema.get("required", ())
    for member, about in schema.get("properties", {}).items():
        star = "" if member in required else " <small>optional</small>"
        yield _row(f"<code>{escape(member)}</code>{star}", _type(about), _said(about.get("description", "")))
    yield "</table></details>"


def _said(text: str) -> str:
    """A text of the document, where names stand between backticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _type(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(one))}</code>" for one in schema["enum"])
    kind = escape(str(schema.get("type", "anything")))
    return f"{kind} of {_type(schema['items'])}" if kind == "array" and isinstance(schema.get("items"), dict) else kind
