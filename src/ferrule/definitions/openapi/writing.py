"""Writes a tool as an operation of an OpenAPI 3.1 document, without extensions of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

from ferrule.definitions.content.extension import decode_raw
from ferrule.definitions.openapi.shape import read_object
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject, Path
from ferrule.schema.references import relocate

JSON = "application/json"
_ENDPOINT = re.compile(r"(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (/[^?#]*)")
_PLACE = re.compile(r"\{([^{}]+)\}")
_PLAIN_INPUT = frozenset({"type", "properties", "required", "additionalProperties", "description"})
_STYLES: dict[str, JsonObject] = {
    "repeat": {},
    "comma": {"style": "form", "explode": False},
    "space": {"style": "spaceDelimited", "explode": False},
    "pipe": {"style": "pipeDelimited", "explode": False},
    "deep": {"style": "deepObject", "explode": True},
    "form": {"style": "form", "explode": False},
    "form-exploded": {"style": "form", "explode": True},
    "simple": {"style": "simple"},
    "simple-exploded": {"style": "simple", "explode": True},
    "label": {"style": "label"},
    "label-exploded": {"style": "label", "explode": True},
    "matrix": {"style": "matrix"},
    "matrix-exploded": {"style": "matrix", "explode": True},
}
_MEDIA = {"json": JSON, "form": "application/x-www-form-urlencoded", "multipart": "multipart/form-data", "text": "text/plain",
          "binary": "application/octet-stream"}  # fmt: skip


class WrittenOperation(NamedTuple):
    """An operation, and its place in the document."""

    path: str
    method: str
    operation: JsonObject
    server: str = ""
    schemes: Mapping[str, Any] = MappingProxyType({})
    """The security schemes it refers to."""
    schemas: Mapping[str, Any] = MappingProxyType({})
    """The components it refers to."""


def locate_body(path: str, method: str) -> Path:
    """Returns the path of a JSON body's schema."""
    return ("paths", path, method.lower(), "requestBody", "content", JSON, "schema")


def locate_answer(path: str, method: str, status: str = "200") -> Path:
    """Returns the path of a JSON response's schema."""
    return ("paths", path, method.lower(), "responses", status, "content", JSON, "schema")


def describe_operation(tool: Tool, name: str) -> JsonObject:
    """Returns the members that every operation has."""
    made: JsonObject = {"operationId": name}
    if tool.title:
        made["summary"] = tool.title
    if tool.description:
        made["description"] = tool.description
    if tool.tags:
        made["tags"] = list(tool.tags)
    if tool.lifecycle == "deprecated":
        made["deprecated"] = True
    return made


def build_plain_operation(tool: Tool, name: str) -> WrittenOperation:
    """Returns the operation `POST /name`, with the arguments as its body."""
    path, method = f"/{quote(name, safe='')}", "POST"
    schema = relocate(decode_raw(tool.input_schema), (), locate_body(path, method))
    operation = {
        **describe_operation(tool, name),
        "requestBody": {"required": True, "content": {JSON: {"schema": schema}}},
        "responses": {"200": _build_answer(tool, path, method)},
    }
    return WrittenOperation(path, method, operation)


def _build_answer(tool: Tool, path: str, method: str) -> JsonObject:
    made: JsonObject = {"description": "The result."}
    if tool.output_schema is not None:
        schema = relocate(decode_raw(tool.output_schema), (), locate_answer(path, method))
        made["content"] = {JSON: {"schema": schema}}
    return made


def build_rest_operation(tool: Tool, name: str) -> WrittenOperation | None:
    """Returns the operation that an AML tool with a REST transport calls; None when OpenAPI cannot express it exactly."""
    payload = decode_raw(tool.payload)
    transport = read_object(payload, "transport") if isinstance(payload, dict) else {}
    schema = decode_raw(tool.input_schema)
    endpoint = _ENDPOINT.fullmatch(str(transport.get("endpoint", "")))
    if tool.dialect != "aml" or transport.get("type") != "rest-api" or endpoint is None or not isinstance(schema, dict):
        return None
    if (
        # Such a schema relates several arguments, which parameters cannot express.
        schema.keys() - _PLAIN_INPUT
        or schema.get("additionalProperties") not in (None, False)
        or "x-query" in transport
    ):
        return None
    method, path = endpoint[1], endpoint[2]
    sorted_out = _ArgumentPlaces(method, path, transport, schema)
    if sorted_out.is_unsupported:
        return None
    operation = describe_operation(tool, name)
    if sorted_out.parameters:
        operation["parameters"] = sorted_out.parameters
    body = sorted_out.build_body()
    if body is not None:
        operation["requestBody"] = body
    operation["responses"] = _build_answers(tool, transport, read_object(payload, "error_codes"))
    schemes = _build_schemes(read_object(transport, "credentials"))
    if schemes:
        operation["security"] = [{name: [] for name in schemes}]
    return WrittenOperation(path, method, operation, str(transport.get("base_url", "")), schemes)


class _ArgumentPlaces:
    """The arguments of a REST tool, sorted by their place in the request."""

    def __init__(self, method: str, path: str, transport: JsonObject, schema: JsonObject) -> None:
        self._properties = read_object(schema, "properties")
        self._required = schema.get("required", [])
        self._mapping = read_object(transport, "x-mapping")
        said_kind = transport.get("x-body")
        has_files = any(read_object(self._mapping, name).get("in") == "file" for name in self._mapping)
        usual = "none" if method in ("GET", "HEAD", "DELETE") else "json"
        self._kind = said_kind if isinstance(said_kind, str) else "multipart" if has_files else usual
        self._content_type = str(read_object(transport, "x-headers").get("Content-Type", ""))
        self.parameters: list[JsonObject] = []
        # OpenAPI has no words for a header that is made from arguments.
        self.is_unsupported = any("{" in str(value) for value in read_object(transport, "x-headers").values())
        self._members: JsonObject = {}
        self._needed: list[str] = []
        self._whole: Any = None
        self._is_needed = False
        self._encoding: JsonObject = {}
        in_path = {read_object(self._mapping, name).get("name", name): name
                   for name in self._mapping if read_object(self._mapping, name).get("in") == "path"}  # fmt: skip
        self._in_path = {in_path.get(name, name): name for name in _PLACE.findall(path)}
        for name, member in self._properties.items():
            self._place_argument(name, member)

    def _place_argument(self, name: str, member: object) -> None:
        entry = read_object(self._mapping, name)
        place = entry.get("in") or ("path" if name in self._in_path else "query" if self._kind == "none" else "body")
        own = self._in_path.get(name) or entry.get("name") or name
        if place in ("body", "file"):
            self._place_in_body(name, own, member, entry)
            return
        style = _STYLES.get(entry.get("style", "repeat"))
        if style is None:
            self.is_unsupported = True
            return
        made: JsonObject = {"name": own, "in": place}
        if name in self._required or place == "path":
            made["required"] = True
        if isinstance(member, dict) and isinstance(member.get("description"), str):
            made["description"] = member["description"]
        if entry.get("content_type"):
            made["content"] = {entry["content_type"]: {"schema": member}}
        else:
            made |= style
            if entry.get("reserved"):
                made["allowReserved"] = True
            made["schema"] = member
        self.parameters.append(made)

    def _place_in_body(self, name: str, own: str, member: object, entry: JsonObject) -> None:
        if own.startswith("/") or (entry.get("style") and self._kind == "json"):
            self.is_unsupported = True
        if entry.get("whole") or self._kind in ("text", "binary"):
            self._whole, self._is_needed = member, name in self._required
            return
        if entry.get("in") == "file" or (self._kind == "multipart" and _is_attachment(member)):
            member = _build_file(member)
            if entry.get("content_type"):
                self._encoding[own] = {"contentType": entry["content_type"]}
        elif self._kind in ("form", "multipart"):
            style = _STYLES.get(entry.get("style", "repeat"))
            encoding = {
                **(style or {}),
                **({"contentType": entry["content_type"]} if entry.get("content_type") else {}),
            }
            if encoding:
                self._encoding[own] = encoding
        self._members[own] = member
        if name in self._required:
            self._needed.append(own)

    def build_body(self) -> JsonObject | None:
        """Returns the request body; None without one."""
        media_type = self._content_type or _MEDIA.get(self._kind, JSON)
        if self._whole is not None:
            schema = {} if self._kind == "binary" else self._whole
            return {**({"required": True} if self._is_needed else {}), "content": {media_type: {"schema": schema}}}
        if not self._members:
            return None
        schema = {"type": "object", "properties": self._members}
        if self._needed:
            schema["required"] = self._needed
        media = {"schema": schema, **({"encoding": self._encoding} if self._encoding else {})}
        return {"required": True, "content": {media_type: media}}


def _is_attachment(member: object) -> bool:
    if isinstance(member, dict) and member.get("type") == "array":
        return _is_attachment(member.get("items"))
    return isinstance(member, dict) and "transfer" in read_object(member, "properties")


def _build_file(member: object) -> JsonObject:
    described = {"description": member["description"]} if isinstance(member, dict) and "description" in member else {}
    if isinstance(member, dict) and member.get("type") == "array":
        return {"type": "array", **described, "items": {"type": "string", "format": "binary"}}
    return {"type": "string", "format": "binary", **described}


def _build_answers(tool: Tool, transport: JsonObject, errors: JsonObject) -> JsonObject:
    said_answer = read_object(transport, "x-response")
    schema = None if tool.output_schema is None else decode_raw(tool.output_schema)
    member = said_answer.get("as")
    if member and isinstance(schema, dict):
        schema = read_object(schema, "properties").get(member)
    good: JsonObject = {"description": "The result."}
    if schema is not None and not said_answer.get("pointer") and said_answer.get("type") in (None, "json"):
        good["content"] = {JSON: {"schema": schema}}
    made = {"200": good}
    for status, entry in errors.items():
        meaning = entry.get("meaning") if isinstance(entry, dict) else None
        made[str(status)] = {"description": meaning if isinstance(meaning, str) else "An error."}
    return made


def _build_schemes(credentials: JsonObject) -> JsonObject:
    """Returns the security schemes that credentials represent."""
    found: JsonObject = {}
    others = credentials.get("x-and")
    for each in (credentials, *(others if isinstance(others, list) else ())):
        made = _build_scheme(each) if isinstance(each, dict) else None
        if made is not None:
            found[made[0]] = made[1]
    return found


def _build_scheme(credentials: JsonObject) -> tuple[str, JsonObject] | None:
    match credentials.get("scheme"):
        case "api-key" if credentials.get("x-encode") == "basic":
            return "basic", {"type": "http", "scheme": "basic"}
        case "api-key":
            name, place = str(credentials.get("x-name") or credentials.get("header")), credentials.get("x-in", "header")
            key = re.sub(r"[^A-Za-z0-9._-]", "_", name)
            return f"key-{place}-{key}", {"type": "apiKey", "in": place, "name": name}
        case "bearer-token" | "service-account":
            return "bearer", {"type": "http", "scheme": "bearer"}
        case "oauth2":
            url = credentials.get("x-token-url")
            if isinstance(url, str):
                scopes = credentials.get("scopes")
                listed = {str(scope): "" for scope in scopes} if isinstance(scopes, list) else {}
                key = re.sub(r"[^A-Za-z0-9._-]+", "_", url.partition("://")[2])
                flow = {"tokenUrl": url, "scopes": listed}
                return f"oauth2-{key}", {"type": "oauth2", "flows": {"clientCredentials": flow}}
            return "bearer", {"type": "http", "scheme": "bearer"}
    return None
