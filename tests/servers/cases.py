"""Requests to begin with, one of every kind, and what is made of them: cases for the fuzz tests."""

from __future__ import annotations

import json
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

from ferrule.servers.api.routes import ROUTES
from ferrule.servers.mcp.methods.table import METHODS
from tests.servers.hostile import hostile_text, hostile_value, mutated, written
from tests.servers.plain_client import META, SESSION_HEADERS, modern_headers, rpc

_PARAMS: dict[str, list[dict[str, Any]]] = {
    "tools/call": [
        {"name": "add", "arguments": {"a": 1, "b": 2}},
        {"name": "echo", "arguments": {"value": {"a": [1, 2.5, "x", None, {"b": True}]}}},
        {"name": "large", "arguments": {"size": 10}},
        {"name": "ask", "arguments": {"what": "hm"}},
        {
            "name": "ask",
            "arguments": {"what": "hm"},
            "requestState": "x",
            "inputResponses": {"form": {"action": "accept"}},
        },
        {"name": "act", "arguments": {"n": 1, "key": "k"}},
        {"name": "nothing", "arguments": {}},
    ],
    "tools/list": [{}, {"cursor": "abc"}],
    "resources/list": [{}, {"cursor": ""}],
    "resources/read": [{"uri": "docs://page/one"}, {"uri": "ferrule://none"}],
    "resources/subscribe": [{"uri": "docs://page/one"}],
    "resources/unsubscribe": [{"uri": "docs://page/one"}],
    "prompts/get": [{"name": "greet", "arguments": {"name": "you"}}],
    "completion/complete": [
        {"ref": {"type": "ref/resource", "uri": "docs://page/{name}"}, "argument": {"name": "name", "value": "o"}},
        {
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "name", "value": "o"},
            "context": {"arguments": {}},
        },
    ],
    "logging/setLevel": [{"level": "info"}],
    "tasks/get": [{"taskId": "task_1"}],
    "tasks/update": [{"taskId": "task_1", "inputResponses": {"form": {"action": "accept"}}}],
    "tasks/cancel": [{"taskId": "task_1"}],
    "subscriptions/listen": [
        {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["docs://page/one"]}}
    ],
    "initialize": [{"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}],
    "notifications/cancelled": [{"requestId": 1, "reason": "why"}],
    "notifications/progress": [{"progressToken": 1, "progress": 1}],
    "notifications/roots/list_changed": [{}],
}
_CAPABILITIES: tuple[dict[str, Any], ...] = (
    {},
    {"elicitation": {}, "sampling": {}, "roots": {}},
    {"extensions": {"io.modelcontextprotocol/tasks": {}}},
)
_IDS: tuple[Any, ...] = (1, "a", 0, -5, 2**53, "", "💥", "x" * 300)
_MORE_META: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"progressToken": 7},
    {"io.modelcontextprotocol/logLevel": "debug"},
    {"dev.ferrule/run": "r1"},
    {"dev.ferrule/idempotency-key": "k1"},
    {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
)


class Case(NamedTuple):
    """One request over HTTP."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def message(chance: Random, *, is_modern: bool) -> dict[str, Any]:
    """A good message of any kind."""
    method = chance.choice((*METHODS, "tools/call", "tools/call", "initialize", "no/such", *list(_PARAMS)[-3:]))
    params = dict(chance.choice(_PARAMS.get(method, [{}])))
    if is_modern:
        meta = {
            **META,
            **chance.choice(_MORE_META),
            "io.modelcontextprotocol/clientCapabilities": chance.choice(_CAPABILITIES),
        }
        params["_meta"] = meta
    elif chance.random() < 0.2:
        params["_meta"] = {"progressToken": chance.choice((1, "t"))}
    said: dict[str, Any] = rpc(method, params, chance.choice(_IDS))
    if method.startswith("notifications/") or chance.random() < 0.05:
        del said["id"]
    return said


def modern(chance: Random) -> Case:
    """A hostile POST of the revision without sessions. Headers agree with what it was before, mostly."""
    said = message(chance, is_modern=True)
    headers = modern_headers(said["method"], said["params"])
    if chance.random() < 0.15:
        headers = _spoiled_headers(headers, chance)
    return Case("POST", "/mcp", headers, hostile_text(said, chance))


def sessioned(chance: Random, session: dict[str, str]) -> Case:
    """A hostile POST in a session; sometimes another method."""
    said: Any = message(chance, is_modern=False)
    if chance.random() < 0.1:
        said = [said, message(chance, is_modern=False)]
    headers = dict(session)
    if chance.random() < 0.15:
        headers = _spoiled_headers(headers, chance)
    if chance.random() < 0.05:
        return Case(chance.choice(("GET", "PUT", "HEAD", "OPTIONS", "PATCH")), "/mcp", headers, b"")
    return Case("POST", "/mcp", headers, hostile_text(said, chance))


_BODIES: dict[str, list[Any]] = {
    "/calls": [
        {"tool": "add", "arguments": {"a": 1, "b": 2}},
        {
            "tool": "echo",
            "arguments": {"value": 1},
            "timeout_seconds": 5,
            "priority": 1,
            "native_call_id": "n",
            "idempotency_key": "k",
            "client": ["roots"],
        },
    ],
    "/search": [{"query": "add", "limit": 3}],
    "/selection": [{"tools": ["add"]}],
    "/batches": [{"calls": [{"tool": "add", "arguments": {"a": 1, "b": 2}}, {"tool": "nothing"}]}],
    "/calls/{invocation_id}/answers": [{"answers": {"form": {"action": "accept", "content": {}}}}],
    "/calls/{invocation_id}/cancel": [{"reason": "why"}],
    "/approvals/{invocation_id}/approve": [{"reason": "yes"}, {"input": {"n": 2, "key": "k"}, "seen": "x"}],
    "/approvals/{invocation_id}/reject": [{"reason": "no"}],
    "/approvals/{invocation_id}/settle": [{"happened": True, "reason": "seen"}],
    "/approvals/{invocation_id}/delegate": [{"to": "ada", "reason": "why"}],
    "/approvals/{invocation_id}/answer": [{"value": {"a": 1}, "reason": "why"}],
}
_QUERIES = (
    "limit",
    "cursor",
    "after",
    "status",
    "tool",
    "state",
    "from",
    "to",
    "q",
    "principal",
    "tenant",
    "since",
    "until",
)
_PIECES = (
    "",
    ".",
    "..",
    "%00",
    "%ff",
    "%2e%2e",
    "a" * 2000,
    "é",
    "%F0%9F%92%A5",
    "*",
    "inv_1",
    "add",
    "rough.add",
    "%",
    "%zz",
    "+",
    ";",
    "a/b",
    "%2F",
    "\\",
    "'",
    "<script>",
    "0",
    "-1",
    "1e9",
    "99999999999999999999",
)
_HEADERS = (
    "Accept",
    "Content-Type",
    "Prefer",
    "Idempotency-Key",
    "Ferrule-Run",
    "Last-Event-ID",
    "If-None-Match",
    "Range",
    "X-Request-Id",
    "Origin",
    "Content-Encoding",
    "Cookie",
    "X-Forwarded-For",
    "Mcp-Param-A",
    "Mcp-Session-Id",
    "MCP-Protocol-Version",
)
_VALUES = (
    "",
    " ",
    "*",
    "text/html",
    "application/json",
    "text/event-stream",
    "application/json;q=0",
    "*/*;q=nan",
    "respond-async, wait=1",
    "wait=99999999999999999999",
    "bytes=0-",
    "bytes=-1",
    "bytes=9-1,2-",
    'W/"x"',
    "x" * 4000,
    "é\xff",
    "http://evil.example",
    "null",
    "gzip",
    "=?base64?////?=",
    "=?base64?YQ==?=",
    "end",
    "-1",
    "0",
    "2026-07-28",
    "2025-11-25",
    "1999-01-01",
    "application/json; charset=utf-16",
)


_LEFT_OUT = ("/audit/export", "/policy/reload", "/switches/{tool_id}")


def _piece(part: str, chance: Random, calls: list[str]) -> str:
    if part == "{invocation_id}" and chance.random() < 0.7:
        return chance.choice(calls)
    return chance.choice(_PIECES) if part.startswith("{") or chance.random() < 0.05 else part


def api(chance: Random, calls: list[str]) -> Case:
    """A hostile request to the HTTP API; `calls`: invocations that there are."""
    routes = [route for route in ROUTES if route.path not in _LEFT_OUT]
    route = chance.choice(routes)
    path, said = route.path, chance.choice(_BODIES.get(route.path, [{}]))
    parts = [_piece(part, chance, calls) for part in path.split("/")[1:]]
    target = "/v1/" + "/".join(quote(part, safe="%+;\\'<>*/") for part in parts)
    if chance.random() < 0.5:
        pairs = [
            (chance.choice(_QUERIES), chance.choice((*_PIECES, *map(str, range(3)))))
            for _ in range(chance.randrange(4))
        ]
        target += "?" + "&".join(
            f"{name}{chance.choice(('=', '', '=='))}{quote(value, safe='%+;')}" for name, value in pairs
        )
    method = (
        route.method if chance.random() < 0.9 else chance.choice(("DELETE", "PATCH", "HEAD", "OPTIONS", "PUT", "GET"))
    )
    headers = {"Content-Type": "application/json"}
    if chance.random() < 0.3:
        headers = _spoiled_headers(headers, chance)
    body = hostile_text(said, chance) if method in ("POST", "PUT") else b""
    return Case(method, target, headers, body)


def oxp(chance: Random) -> Case:
    """A hostile request to the OXP server."""
    call = {
        "$schema": "urn:oxp:1.0",
        "request": {
            "call_id": chance.choice(("c1", "c2", f"c{chance.randrange(10**9)}")),
            "tool_id": chance.choice(("rough.add", "rough.add@1.0.0", "rough.echo", "No.Such")),
            "input": {"a": 1, "b": 2, "value": 1},
            "context": {
                "authorization": [{"id": "x", "token": "t"}],
                "secrets": [{"id": "s", "value": "v"}],
                "user_id": "u",
            },
        },
    }
    headers = {"Content-Type": "application/json"}
    if chance.random() < 0.2:
        headers = _spoiled_headers(headers, chance)
    method, path = chance.choice(
        (("POST", "/oxp/tools/call"),) * 8
        + (
            ("GET", "/oxp/tools"),
            ("GET", "/oxp/health"),
            ("PUT", "/oxp/tools"),
            ("GET", f"/oxp/{quote(chance.choice(_PIECES), safe='%')}"),
        )
    )
    if "request" in call and chance.random() < 0.3:
        call["request"] = mutated(call["request"], chance)
    return Case(method, path, headers, hostile_text(call, chance) if method != "GET" else b"")


def _spoiled_headers(headers: dict[str, str], chance: Random) -> dict[str, str]:
    found = dict(headers)
    name = chance.choice((*_HEADERS, *headers))
    match chance.randrange(3):
        case 0:
            found.pop(name, None)
        case _:
            found[name] = chance.choice(_VALUES)
    return found


def line(chance: Random) -> bytes:
    """A hostile line for a pipe."""
    said: Any = message(chance, is_modern=chance.random() < 0.5)
    if chance.random() < 0.1:
        said = [said, message(chance, is_modern=False)]
    return hostile_text(said, chance).replace(b"\n", b" ")


_HEADS = (
    b"GET /health HTTP/1.1",
    b"POST /mcp HTTP/1.1",
    b"GET /v1/tools HTTP/1.0",
    b"OPTIONS * HTTP/1.1",
    b"GET http://localhost/health HTTP/1.1",
    b"CONNECT a:1 HTTP/1.1",
    b"GET //health HTTP/1.1",
    b"get /health HTTP/1.1",
    b"GET /health HTTP/2.0",
    b"GET /health",
    b"PRI * HTTP/2.0",
    b"GET /%zz HTTP/1.1",
    b"GET /\xff HTTP/1.1",
    b"GET /a b HTTP/1.1",
    b"GET /health\tHTTP/1.1",
    b"\x16\x03\x01\x02\x00",
    b"",
    b"M-SEARCH * HTTP/1.1",
    b"GET /../../etc/passwd HTTP/1.1",
    b"GET /health#x HTTP/1.1",
    b"GET ?a HTTP/1.1",
    b"FOO /health HTTP/1.1",
    b"GET /health HTTP/1.1 x",
    b"GET /" + b"a" * 9000 + b" HTTP/1.1",
    b"HEAD /health HTTP/1.1",
    b"DELETE /mcp HTTP/1.1",
    b"TRACE / HTTP/1.1",
    b"SOURCE / HTTP/1.1",
)
_LINES = (
    b"Host: localhost",
    b"Host: evil.example",
    b"Host: localhost\r\nHost: localhost",
    b"Host:",
    b"Host: localhost:99999",
    b"Host: [::1",
    b"Content-Length: 5",
    b"Content-Length: -1",
    b"Content-Length: 5, 5",
    b"Content-Length: 99999999999999999999",
    b"Content-Length: 0x5",
    b"Content-Length: 5\r\nContent-Length: 6",
    b"Content-Length : 5",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: chunked\r\nContent-Length: 5",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding:\x0bchunked",
    b"Expect: 100-continue",
    b"Expect: 200-maybe",
    b"Upgrade: websocket\r\nConnection: Upgrade",
    b"Upgrade: h2c",
    b"Connection: close",
    b"Connection: keep-alive, Upgrade",
    b": nameless",
    b"A B: c",
    b"X-\x00: a",
    b"X: a\x00b",
    b"X: a\rb",
    b" folded: x",
    b"X: y\r\n folded",
    b"X: " + b"z" * 40_000,
    b"Accept: */*",
    b"Origin: null",
    b"Authorization: Basic eDp5",
    b"Authorization: Bearer ",
    b"Authorization: Bearer x\r\nAuthorization: Bearer y",
    b"Cookie: a=b",
    b"MCP-Protocol-Version: 2026-07-28",
    b"Mcp-Session-Id: \xff",
    b"\xff: \xff",
    b"X: a\r\nGET /health HTTP/1.1",
    b"Content-Type: application/json",
    b"Content-Type: application/json\r\nContent-Type: text/plain",
)
_BODIES_RAW = (
    b"",
    b"hello",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"5\r\nhel",
    b"zz\r\n",
    b"-1\r\n",
    b"FFFFFFFFFFFFFFFFFF\r\n",
    b"5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
    b"0\r\n\r\n",
    b"5\nhello\n0\n\n",
    b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x00" * 100,
    b"{}" * 1000,
)


def raw(chance: Random) -> bytes:
    """Bytes that may be HTTP or not."""
    lines = [chance.choice(_LINES) for _ in range(chance.randrange(5))]
    if chance.random() < 0.7:
        lines.insert(0, b"Host: localhost")
    if chance.random() < 0.03:
        lines += [b"X-%d: a" % number for number in range(150)]
    end = b"\r\n" if chance.random() < 0.9 else chance.choice((b"\n", b"\r", b"\n\r"))
    text = end.join([chance.choice(_HEADS), *lines]) + end + end + chance.choice(_BODIES_RAW)
    if chance.random() < 0.2:
        at = chance.randrange(len(text) + 1)
        text = text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
    if chance.random() < 0.1:
        text = text[: chance.randrange(len(text) + 1)]
    return text


def arguments_text(chance: Random) -> bytes:
    """Arguments of a call, hostile inside, in a call that is good outside."""
    said = rpc("tools/call", {"name": "echo", "arguments": {"value": hostile_value(chance)}, "_meta": META}, 1)
    return written(said)


def shown(case: Case | bytes) -> str:
    """A case as a person can repeat it."""
    if isinstance(case, bytes):
        return repr(case[:2000])
    return f"{case.method} {case.path}\n{json.dumps(case.headers)}\n{case.body[:2000]!r}"


MODERN_HEADERS = modern_headers("tools/call", {"name": "echo"})
__all__ = [
    "MODERN_HEADERS",
    "SESSION_HEADERS",
    "Case",
    "api",
    "arguments_text",
    "line",
    "modern",
    "oxp",
    "raw",
    "sessioned",
    "shown",
]
