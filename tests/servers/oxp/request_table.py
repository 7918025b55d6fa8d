"""Requests to the OXP server, and what each is answered with. Every requirement of the protocol from OXP-19 on is named here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

CALL = "/oxp/tools/call"
LIST = "/oxp/tools"
ADD = {"tool_id": "Calculator.Add", "input": {"a": 1, "b": 2}}
SECRETS = {
    "authorization": [{"id": "google", "token": "tok-0123456789"}],
    "secrets": [{"id": "POST_KEY", "value": "key-0123456789"}, {"id": "OTHER", "value": "unasked-0123456789"}],
    "user_id": "ada",
}


class Case(NamedTuple):
    """One request."""

    ids: str
    """The requirements it shows."""
    name: str
    method: str
    path: str
    body: Any
    status: int
    members: Mapping[str, Any] = MappingProxyType({})
    """Members of the answer, by path with dots; `...` for one that only has to be there, `None` for one that must not be."""
    headers: Mapping[str, str] = MappingProxyType({})


def call(ids: str, name: str, request: Any, status: int = 200, /, **members: Any) -> Case:
    """A call in its envelope."""
    return Case(
        ids,
        name,
        "POST",
        CALL,
        {"request": request},
        status,
        {key.replace("__", "."): value for key, value in members.items()},
    )


def send(
    ids: str, name: str, body: Any, status: int = 400, headers: dict[str, str] | None = None, **members: Any
) -> Case:
    """Something posted to where calls are made."""
    return Case(ids, name, "POST", CALL, body, status, members, headers or {})


def version_case(ids: str, version: str, runs: str | None) -> Case:
    """A call of a version."""
    request = {"tool_id": f"Which.Version{version}"}
    if runs is None:
        return call(ids, f"version {version} is not there", request, 400, message=...)
    return call(ids, f"version {version or 'none'} is {runs}", request, result__value=runs)


FINE = json.dumps({"request": ADD}).encode()
TABLE = (
    Case("OXP-19", "health", "GET", "/oxp/health", b"", 200),
    Case("OXP-20", "list", "GET", LIST, b"", 200, {"$schema": "urn:oxp:1.0", "tools": ...}),
    Case("OXP-20 OXP-48", "list with a version", "GET", LIST, {"$schema": "urn:oxp:1.0"}, 200, {"tools": ...}),
    Case("OXP-20 OXP-23", "list with a broken body", "GET", LIST, b"{", 400, {"message": ...}),
    Case("OXP-48", "list with a version that is null", "GET", LIST, {"$schema": None}, 400, {"message": ...}),
    Case("OXP-48", "list with an unknown version", "GET", LIST, {"$schema": "urn:oxp:9.9"}, 400, {"message": ...}),
    Case("OXP-20", "list with a body of something else", "GET", LIST, b"[1]", 400, {"message": ...}),
    Case("OXP-25", "list with a body that is no JSON", "GET", LIST, b"{}", 400, {}, {"Content-Type": "text/plain"}),
    call("OXP-21 OXP-31", "call", ADD, result__success=True, result__value=3, result__error=None, result__call_id=...,
         result__duration=...),
    call("OXP-22 OXP-33 OXP-34", "a tool that raises", {"tool_id": "Fails.Always"}, result__success=False, result__value=None,
         result__error__message=..., result__error__can_retry=False),
    call("OXP-23 OXP-36", "a tool that wants to be called later", {"tool_id": "own.later"}, result__success=False,
         result__error__can_retry=True, result__error__retry_after_ms=1500),
    call("OXP-23", "an unknown tool", {"tool_id": "No.Such"}, 400, message="there is no tool No.Such"),
    call("OXP-23", "a tool that is hidden", {"tool_id": "Hidden.Away"}, 400, message="there is no tool Hidden.Away"),
    call("OXP-23", "a malformed id", {"tool_id": "Calculator"}, 400, message=...),
    call("OXP-23", "an id with too many parts", {"tool_id": "A.B.C"}, 400, message=...),
    call("OXP-23", "an id with a pre-release", {"tool_id": "Calculator.Add@1.0.0-beta"}, 400, message=...),
    call("OXP-23", "an id with half a version", {"tool_id": "Calculator.Add@1.0"}, 400, message=...),
    call("OXP-23", "an id with another line", {"tool_id": "Calculator.Add\n"}, 400, message=...),
    call("OXP-23", "an id in other digits", {"tool_id": "Calculator.Add@\u0661"}, 400, message=...),
    call("OXP-23", "an endless version", {"tool_id": f"Calculator.Add@{'9' * 5000}"}, 400, message=...),
    send("OXP-23", "no JSON at all", b"nonsense", message=...),
    send("OXP-23", "no text", b"\xff\xfe{}", message=...),
    send("OXP-23", "an empty body", b"", headers={"Content-Type": "application/json"}, message=...),
    send("OXP-23", "no request", {}, message=...),
    send("OXP-23", "a request that is none", {"request": 5}, message=...),
    send("OXP-23", "a body that is a list", [ADD], message=...),
    Case("OXP-20", "a list, one name twice", "GET", LIST, b'{"$schema": "urn:oxp:1.0", "$schema": "urn:oxp:1.0"}', 400,
         {"message": ..., "tools": None}),
    Case("OXP-20", "a list, nested without end", "GET", LIST, b'{"of":' * 200 + b"1" + b"}" * 200, 400,
         {"message": ..., "tools": None}),
    send("OXP-23", "one name twice", b'{"request": {"tool_id": "Calculator.Add", "tool_id": "Doorbell.Ring"}}', message=...),
    send("OXP-23", "nested without end", b'{"request": {"tool_id": "Any.Value", "input": ' + b'{"of":' * 500 + b"1" + b"}" * 502,
         message=...),
    call("OXP-24", "input that does not fit", {"tool_id": "Calculator.Add", "input": {"a": 1}}, 422, message=...,
         parameter_errors__b=...),
    call("OXP-24", "input that is nearly right is not mended", {"tool_id": "Calculator.Add", "input": {"a": "1", "b": 2}}, 422,
         parameter_errors__a=...),
    call("OXP-24 OXP-35", "input with something more", {"tool_id": "Calculator.Add", "input": {"a": 1, "b": 2, "c": 3}}, 422,
         message=..., parameter_errors__c=..., missing_requirements=None),
    call("OXP-24", "requirements come before input", {"tool_id": "Mail.Read", "input": {"x": 1}}, 400, missing_requirements=...),
    send("OXP-24", "the shape comes before the version", {"$schema": "urn:oxp:9.9"}, message="the body has no member `request`,"
         " which holds the call"),
    send("OXP-24", "the version comes before the tool", {"$schema": "urn:oxp:9.9", "request": {"tool_id": "No.Such"}},
         message="this version of the protocol is not spoken here; urn:oxp:1.0 is"),
    Case("OXP-25", "another method for calls", "GET", CALL, b"", 405),
    Case("OXP-25", "another method for the list", "POST", LIST, {}, 405),
    Case("OXP-25", "another method for health", "DELETE", "/oxp/health", b"", 405),
    Case("OXP-25", "the path of some examples", "POST", "/oxp/call", {"request": ADD}, 404),
    Case("OXP-25", "nothing there", "GET", "/oxp/", b"", 404),
    send("OXP-25", "another type", FINE, headers={"Content-Type": "text/plain"}, message=...),
    send("OXP-25", "a type with a charset", FINE, 200, {"Content-Type": "application/json; charset=utf-8"}, result=...),
    call("OXP-26", "an unknown member", {**ADD, "extra": 1}, 400, message=...),
    call("OXP-26", "a call_id of another type", {**ADD, "call_id": 7}, 400, message=...),
    call("OXP-26", "a null call_id", {**ADD, "call_id": None}, 400, message=...),
    call("OXP-26", "no tool_id", {"input": {}}, 400, message=...),
    call("OXP-26", "input that is a list", {"tool_id": "Doorbell.Ring", "input": []}, 400, message=...),
    call("OXP-26", "a context that is a text", {**ADD, "context": "none"}, 400, message=...),
    call("OXP-26", "a null user", {**ADD, "context": {"user_id": None}}, 400, message=...),
    call("OXP-26", "an open context", {**ADD, "context": {"locale": "de", "authorization": []}}, result__success=True),
    call("OXP-26", "a token without an id", {**ADD, "context": {"authorization": [{"token": "t"}]}}, 400, message=...),
    call("OXP-27 OXP-37", "no input", {"tool_id": "Doorbell.Ring"}, result__success=True, result__value=None),
    call("OXP-27", "the other word for input", {"tool_id": "Doorbell.Ring", "inputs": {}}, 400,
         message="the call does not fit: Object contains unknown field `inputs`; did you mean `input`?"),
    call("OXP-28", "a call_id comes back", {**ADD, "call_id": "mine-1"}, result__call_id="mine-1"),
    call("OXP-28", "a call_id is made", ADD, result__call_id=...),
    call("OXP-29", "a trace", {**ADD, "trace_id": "trace-7"}, result__success=True),
    version_case("OXP-30", "", "1.10.0"),
    version_case("OXP-30", "@1", "1.0.0"),
    version_case("OXP-30", "@1.9.0", "1.9.0"),
    version_case("OXP-30", "@1.10.0", "1.10.0"),
    version_case("OXP-30", "@2", None),
    version_case("OXP-30", "@1.1.0", None),
    call("OXP-32", "no output", {"tool_id": "Doorbell.Ring"}, result__success=True, result__value=None),
    call("OXP-32", "null where anything goes", {"tool_id": "Any.Value", "input": {"of": "none"}}, result__success=True,
         result__error=None),
    call("OXP-32", "a list", {"tool_id": "Any.Value", "input": {"of": "list"}}, result__value=[1, None]),
    call("OXP-32", "a number past 64 bits", {"tool_id": "Any.Value", "input": {"of": "long"}}, result__value=2**70),
    call("OXP-32", "a text", {"tool_id": "Any.Value", "input": {"of": "text"}}, result__value="words"),
    call("OXP-32", "a value that breaks its promise", {"tool_id": "Bad.Typed"}, result__success=False, result__value=None,
         result__error__can_retry=False),
    call("OXP-35", "an error of the server", {"tool_id": "No.Such"}, 400, message=..., parameter_errors=None),
    call("OXP-38", "no token", {"tool_id": "Mail.Read", "context": {"user_id": "ada", "secrets": SECRETS["secrets"]}}, 400,
         missing_requirements__tokens=["google"], missing_requirements__authorization=None, missing_requirements__secrets=None),
    call("OXP-38", "an empty token",
         {"tool_id": "Mail.Read", "context": {**SECRETS, "authorization": [{"id": "google", "token": ""}]}},
         400, missing_requirements__tokens=["google"], missing_requirements__authorization=None),
    call("OXP-39", "no secret", {"tool_id": "Mail.Read", "context": {**SECRETS, "secrets": []}}, 400,
         missing_requirements={"secrets": ["POST_KEY"]}),
    call("OXP-40", "no user", {"tool_id": "Users.Whoami"}, 400, missing_requirements={"user_id": True}),
    call("OXP-40", "a user", {"tool_id": "Users.Whoami", "context": {"user_id": "ada"}}, result__value="ada"),
    call("OXP-40", "a user that is no name", {"tool_id": "Users.Whoami", "context": {"user_id": " \n"}}, 400, message=...),
    call("OXP-41", "everything missing is told at once", {"tool_id": "Mail.Read"}, 400,
         missing_requirements={"tokens": ["google"], "secrets": ["POST_KEY"], "user_id": True}),
    Case("OXP-41", "an authorization that nobody began", "GET", "/oxp/authorizations/made-up", b"", 200, {"status": "failed"}),
    call("OXP-42 OXP-38 OXP-39", "what it needs", {"tool_id": "Mail.Read", "context": SECRETS}, result__success=True,
         result__value={"for": "ada", "echo": "[REDACTED]"}),
    Case("OXP-43", "no-auth: a broken header is ignored", "POST", CALL, {"request": ADD}, 200, {"result": ...},
         {"Authorization": "garbage garbage"}),
    Case("OXP-43", "no-auth: a wrong key is ignored", "GET", LIST, b"", 200, {"tools": ...}, {"OXP-API-Key": "wrong"}),
    send("OXP-48", "no version is ours", {"request": ADD}, 200, result=...),
    send("OXP-48", "our version", {"$schema": "urn:oxp:1.0", "request": ADD}, 200, result=...),
    send("OXP-48", "our version as an address", {"$schema": "https://example.com/specification/http/1.0/openapi.json",
         "request": ADD}, 200, result=...),
    send("OXP-48", "a later version", {"$schema": "urn:oxp:1.1", "request": ADD}, message=...),
    send("OXP-48", "a later version as an address", {"$schema": "https://example.com/http/2.0/openapi.json", "request": ADD},
         message=...),
    send("OXP-48", "no address", {"$schema": "one point oh", "request": ADD}, message=...),
    send("OXP-48", "a number", {"$schema": 1.0, "request": ADD}, message=...),
    send("OXP-49", "a call without its envelope", ADD, message=...),
    send("OXP-49", "an unknown version in the header", {"request": ADD}, 400, {"OXP-Version": "9.9"}, message=...),
    send("OXP-49", "our version in the header", {"request": ADD}, 200, {"OXP-Version": "1.0"}, result=...),
    call("OXP-50", "an old version beside a new one", {"tool_id": "Calculator.Add@1.0.0", "input": {"a": 2, "b": 2}},
         result__value=4),
    call("OXP-50", "the new one beside an old", {"tool_id": "Calculator.Add@2.0.0", "input": {"a": 2, "b": 3}}, result__value=5),
)  # fmt: skip
