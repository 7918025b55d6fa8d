"""The OpenAPI 3.1 document of the HTTP API, made from the table of routes, and the same as a page for people.

Both need no credential. The router and the checks use the same table, so the document cannot differ from the server.
The page has no script and loads nothing from elsewhere.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.metadata import version
from inspect import cleandoc
from typing import Any

import msgspec
import msgspec.inspect

from ferrule.model.value import JsonObject
from ferrule.servers.api.ask import KEY
from ferrule.servers.api.field_docs import read_field_docs
from ferrule.servers.api.replies import Problem, ProblemDetails, etag_of, has_tag
from ferrule.servers.api.requests import choose_media_type, pairs_of, query_of
from ferrule.servers.api.route import EVENT_TYPE, JSON_TYPE, ApiRoute, RequestField
from ferrule.servers.api.routes import ROUTES
from ferrule.servers.api.shapes import ToolResult
from ferrule.servers.asgi import JSON, HttpAnswer, HttpRequest

_REF = "#/components/schemas/{name}"
_WORDS = {
    200: "What was asked for.",
    202: "It has not ended yet; `Location` says where to look.",
    204: "There is nothing more to come.",
    206: "The range that was asked for.",
    304: "It is as the client has it.",
    400: "The request is not as it must be.",
    401: "A valid credential is needed.",
    403: "The credential is not enough, or the call was refused.",
    404: "It is not there, or not the caller's to know of.",
    405: "The method cannot be used here.",
    406: "It cannot be given in a form the client takes.",
    408: "The request took too long to arrive.",
    409: "It cannot be done as things stand.",
    410: "Its bytes are no longer kept.",
    413: "The body has more bytes than are taken.",
    414: "The path and the query have more bytes than are taken.",
    415: "The body is not application/json.",
    416: "There are no such bytes.",
    421: "The request is for another host.",
    422: "What was sent does not fit what the tool wants.",
    429: "The caller has to slow down; `Retry-After` says for how long.",
    431: "The headers are more, or have more bytes, than are taken.",
    500: "The server failed; its log tells why.",
    501: "The body comes in a transfer encoding other than chunks.",
    503: "The server cannot do it now; `Retry-After` says when to try again.",
}
_BEFORE_ROUTING = (400, 408, 414, 431, 501, 503)
"""Statuses that the HTTP reader itself answers, before there is a request (`http1.answer_text`)."""
_EVERYWHERE = (*_BEFORE_ROUTING, 401, 403, 406, 413, 421, 429, 500)
_PARTS = {
    "invocation_id": RequestField("invocation_id", "A call.", "[!-~]{1,100}"),
    "batch_id": RequestField("batch_id", "A batch.", "[!-~]{1,100}"),
    "tool": RequestField("tool", "A tool's name, alias or id."),
    "tool_id": RequestField("tool_id", "A tool's id."),
    "number": RequestField("number", "Which of the call's stored results, counted from 0.", "0|[1-9][0-9]{0,5}"),
}
_HEADERS: dict[str, JsonObject] = {
    "X-Request-Id": {"description": "Names this request in the server's log.", "schema": {"type": "string"}},
    "Idempotency-Replayed": {
        "description": "`true` where another request with the same `Idempotency-Key` had this answer before.",
        "schema": {"type": "string"},
    },
    "ETag": {"description": "Names this very answer, for `If-None-Match`.", "schema": {"type": "string"}},
    "Link": {"description": 'The next page, with `rel="next"`.', "schema": {"type": "string"}},
    "Location": {"description": "Where to look.", "schema": {"type": "string"}},
    "Retry-After": {"description": "Seconds.", "schema": {"type": "string"}},
    "WWW-Authenticate": {"description": "What is needed.", "schema": {"type": "string"}},
}
_IF_NONE_MATCH = RequestField("If-None-Match", "ETags of what the client has; when nothing changed the answer is 304.")
_RANGE = RequestField("Range", "One range of bytes, `bytes=0-99`.")
ABOUT = (
    "The tools of a workspace, called under its rules: surfaces, calls, approvals, records, catalog and audit. Every problem "
    "is told as problem details (RFC 9457) with a stable `code`. Whatever is somebody else's is answered like what is not "
    "there. Bodies and queries are taken strictly: names nobody knows, and names given twice, are refused."
)


@cache
def build_openapi() -> JsonObject:
    """Returns the OpenAPI document."""
    shapes = [shape for route in ROUTES for shape in (route.body, route.returns) if shape is not None]
    unique = list(dict.fromkeys([*shapes, ProblemDetails, ToolResult]))
    refs, components = msgspec.json.schema_components(unique, ref_template=_REF)
    for component in components.values():
        if "description" in component:  # a docstring, which Python dedents from 3.13 on
            component["description"] = cleandoc(component["description"])
    for record in _records(unique):
        _describe(components[record.__name__], record)
    known = dict(zip(unique, refs, strict=True))
    paths: dict[str, JsonObject] = {}
    for route in ROUTES:
        paths.setdefault(f"/v1{route.path}", {})[route.method.lower()] = _operation(route, known)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Ferrule", "version": version("ferrule"), "description": ABOUT},
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "tags": [{"name": name} for name in dict.fromkeys(route.tag for route in ROUTES)],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {f"Problem{status}": _problem(status, known) for status in sorted(_WORDS) if status >= 400},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "description": "A token or a key."}},
        },
    }


def _records(shapes: Iterable[object]) -> Iterator[type]:
    """Yields every record that shapes are made of, each once."""
    waiting, seen = list(msgspec.inspect.multi_type_info(shapes)), set[type]()
    while waiting:
        shape = waiting.pop()
        if isinstance(shape, msgspec.inspect.StructType) and shape.cls not in seen:
            seen.add(shape.cls)
            yield shape.cls
            waiting += [field.type for field in shape.fields]
        for name in ("type", "item_type", "key_type", "value_type"):
            inner = getattr(shape, name, None)
            waiting += [inner] if isinstance(inner, msgspec.inspect.Type) else []
        waiting += getattr(shape, "types", ()) + getattr(shape, "item_types", ())


def _describe(component: JsonObject, record: type) -> None:
    """Adds the documentation of a record's fields where the document has none yet."""
    for name, text in read_field_docs(record).items():
        member = component.get("properties", {}).get(name)
        if member is not None and "description" not in member:
            # A reference stands alone in tools that read older drafts, so what is said about one goes beside it.
            component["properties"][name] = {**member, "description": text}


@cache
def encode_openapi() -> bytes:
    """Returns the document as it is served and kept in the repository."""
    return msgspec.json.format(msgspec.json.encode(build_openapi()), indent=2) + b"\n"


def _operation(route: ApiRoute, known: dict[Any, JsonObject]) -> JsonObject:
    scopes = f"Takes a credential with the scope {' or '.join(f'`{scope}`' for scope in route.scopes)}."
    scopes = "Takes no credential." if route.is_open else scopes
    whole = " It must be for the whole workspace, not for one tenant." if route.is_for_workspace else ""
    operation: JsonObject = {
        "operationId": route.operation,
        "tags": [route.tag],
        "summary": route.summary,
        "description": f"{route.notes}\n\n{scopes}{whole}".strip(),
        "parameters": _parameters(route),
        "responses": _responses(route, known),
    }
    if route.is_open:
        operation["security"] = []
    if route.body is not None:
        content = {JSON_TYPE: {"schema": known[route.body]}}
        operation["requestBody"] = {"required": not route.is_body_optional, "content": content}
    return operation


def _parameters(route: ApiRoute) -> list[JsonObject]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    found = [_parameter(_PARTS[name], "path") for name in names]
    if route.query is not None:
        _, shapes = msgspec.json.schema_components([route.query], ref_template=_REF)
        for name, schema in shapes[route.query.__name__]["properties"].items():
            found.append(_query_parameter(name, dict(schema)))
    headers = [
        *route.headers,
        *([_IF_NONE_MATCH] if route.is_tagged else []),
        *([_RANGE] if 206 in route.statuses else []),
    ]
    return found + [_parameter(field, "header") for field in headers]


def _parameter(field: RequestField, place: str) -> JsonObject:
    return {
        "name": field.name,
        "in": place,
        "required": place == "path",
        "description": field.description,
        "schema": field.schema,
    }


def _query_parameter(name: str, schema: JsonObject) -> JsonObject:
    """Returns a query parameter. A query has no null: an optional parameter is left out instead."""
    says = schema.pop("description", "")
    options = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if options:
        schema = {**options[0]}
    if schema.get("enum") and None in schema["enum"]:
        schema["enum"] = [value for value in schema["enum"] if value is not None]
    if schema.get("default", "") is None:
        del schema["default"]
    return {"name": name, "in": "query", "required": False, "description": says, "schema": schema}


def _responses(route: ApiRoute, known: dict[Any, JsonObject]) -> JsonObject:
    responses = {str(status): _success(route, status, known) for status in route.statuses}
    if route.is_tagged:
        responses["304"] = {"description": _WORDS[304], "headers": _headers("X-Request-Id", "ETag")}
    wrong = {*_EVERYWHERE, *route.problems, *((415,) if route.body is not None else ())}
    for status in sorted(wrong):
        responses[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}
    return responses


def _success(route: ApiRoute, status: int, known: dict[Any, JsonObject]) -> JsonObject:
    names = ["X-Request-Id", *(["ETag"] if route.is_tagged else []), *(["Location"] if status == 202 else [])]
    names += ["Idempotency-Replayed"] if KEY in route.headers else []
    query = route.query.__struct_fields__ if route.query is not None else ()
    found: JsonObject = {
        "description": _WORDS[status],
        "headers": _headers(*names, *(["Link"] if "cursor" in query else [])),
    }
    kinds = [kind for kind in route.produces if status != 202 or kind != EVENT_TYPE]
    if status != 204:
        found["content"] = {kind: {"schema": _content(kind, route, known)} for kind in kinds}
    return found


def _content(kind: str, route: ApiRoute, known: dict[Any, JsonObject]) -> JsonObject:
    if kind == JSON_TYPE and route.returns is not None:
        return known[route.returns]
    if kind == EVENT_TYPE:
        return {"description": "Server-sent events; the data of each is JSON."}
    return {} if kind == "*/*" else {"type": "string"}


def _problem(status: int, known: dict[Any, JsonObject]) -> JsonObject:
    names = ["Retry-After"] if status in (429, 503) else ["WWW-Authenticate"] if status == 401 else []
    return {
        "description": _WORDS[status],
        "headers": _headers(*names),
        "content": {"application/problem+json": {"schema": known[ProblemDetails]}},
    }


def _headers(*names: str) -> JsonObject:
    return {name: _HEADERS[name] for name in names}


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


def openapi_document(request: HttpRequest) -> HttpAnswer:
    """Answers `GET /v1/openapi.json`. Raises Problem."""
    return _page(request, encode_openapi(), JSON_TYPE, [JSON])


def reference_page(request: HttpRequest) -> HttpAnswer:
    """Answers `GET /v1/docs`. Raises Problem."""
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", _POLICY.encode()),
        (b"referrer-policy", b"no-referrer"),
    ]
    return _page(request, render_page(), "text/html", headers)


def _page(request: HttpRequest, body: bytes, kind: str, headers: list[tuple[bytes, bytes]]) -> HttpAnswer:
    if request.method == "OPTIONS":
        return HttpAnswer(204, b"", [(b"allow", b"GET, HEAD, OPTIONS")])
    if request.method not in ("GET", "HEAD"):
        detail = f"{request.method[:20]} cannot be done here; this path takes GET"
        raise Problem(405, "method_not_allowed", detail, headers=[(b"allow", b"GET, HEAD, OPTIONS")])
    query_of(pairs_of(request.query), None)
    if choose_media_type(request, (kind,)) is None:
        raise Problem(406, "not_acceptable", f"this is given as {kind}")
    tag = etag_of(body)
    tagged = [*headers, (b"etag", tag), (b"cache-control", b"no-cache")]
    if has_tag(request, tag):
        return HttpAnswer(304, b"", tagged)
    return HttpAnswer(200, body, tagged)


@cache
def render_page() -> bytes:
    """Returns the reference page."""
    return "".join(_lines(build_openapi())).encode()


def _lines(document: JsonObject) -> Iterator[str]:
    info = document["info"]
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])} HTTP API</title>'
    yield f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>'
    yield f"<h1>{escape(info['title'])} HTTP API <small>{escape(info['version'])}</small></h1>"
    yield f'<p>{_render_text(info["description"])}</p><p><a href="/v1/openapi.json">OpenAPI document</a></p>'
    for tag in document["tags"]:
        yield f"<h2>{escape(tag['name'])}</h2>"
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if tag["name"] in operation["tags"]:
                    yield from _render_operation(method, path, operation)
    yield "<h2>Shapes</h2>"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield from _render_shape(name, schema)
    yield "</body></html>\n"


def _render_operation(method: str, path: str, operation: JsonObject) -> Iterator[str]:
    yield f'<details id="{escape(operation["operationId"])}"><summary><span class="method">{escape(method.upper())}</span>'
    yield f'<code>{escape(path)}</code><span class="says">{_render_text(operation["summary"])}</span></summary>'
    for paragraph in operation["description"].split("\n\n"):
        yield f"<p>{_render_text(paragraph)}</p>"
    if operation["parameters"]:
        yield "<table><tr><th>Parameter</th><th>In</th><th>Type</th><th>Meaning</th></tr>"
        for one in operation["parameters"]:
            yield _row(
                f"<code>{escape(one['name'])}</code>",
                escape(one["in"]),
                _render_type(one["schema"]),
                _render_text(one["description"]),
            )
        yield "</table>"
    body = operation.get("requestBody")
    if body is not None:
        need = "" if body["required"] else ", may be left out"
        yield f"<p>Body{need}: {_render_type(body['content']['application/json']['schema'])}</p>"
    yield "<table><tr><th>Status</th><th>Gives</th><th>Meaning</th></tr>"
    for status, response in operation["responses"].items():
        if "$ref" in response:
            response = build_openapi()["components"]["responses"][response["$ref"].rpartition("/")[2]]
        given = ", ".join(
            f"{_render_type(content['schema'])} <code>{escape(kind)}</code>"
            for kind, content in response.get("content", {}).items()
        )
        yield _row(escape(status), given, _render_text(response["description"]))
    yield "</table></details>"


def _render_shape(name: str, schema: JsonObject) -> Iterator[str]:
    yield f'<details id="{escape(name)}"><summary><code>{escape(name)}</code>'
    yield f'<span class="says">{_render_text(schema.get("description", ""))}</span></summary>'
    yield "<table><tr><th>Member</th><th>Type</th><th>Meaning</th></tr>"
    required = schema.get("required", ())
    for member, about in schema.get("properties", {}).items():
        star = "" if member in required else " <small>optional</small>"
        yield _row(
            f"<code>{escape(member)}</code>{star}", _render_type(about), _render_text(about.get("description", ""))
        )
    yield "</table></details>"


def _render_text(text: str) -> str:
    """Returns a text of the document as HTML, with names between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _render_type(schema: JsonObject) -> str:
    """Returns a schema in a few words."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_render_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(one))}</code>" for one in schema["enum"])
    kind = escape(str(schema.get("type", "anything")))
    return (
        f"{kind} of {_render_type(schema['items'])}"
        if kind == "array" and isinstance(schema.get("items"), dict)
        else kind
    )
