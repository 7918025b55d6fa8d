"""Joins the parameters and the body of an operation into one object of arguments, and maps each to its place in the request.

An argument has its name in the document, made legal. When several have one name, the first in the order path, query, header,
cookie, body keeps it; the place distinguishes the others: `id_in_body`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ferrule.definitions.openapi.bodies import BodyPlan, plan_body
from ferrule.definitions.openapi.expanded_schemas import add_description
from ferrule.definitions.openapi.names import number_name
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.references import make_broken
from ferrule.definitions.openapi.schemas import Schemas
from ferrule.definitions.openapi.shape import LEFT_OUT, PARAMETER, Operation, OperationParameter
from ferrule.definitions.openapi.wording import append_sentences, format_value, humanize, shorten_text, split_words
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonObject
from ferrule.schema.pointers import escape_step

_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_PLACE = re.compile(r"\{([^{}]+)\}")
_ORDER = {"path": 0, "query": 1, "querystring": 1, "header": 2, "cookie": 3}
_BODILESS = frozenset({"GET", "HEAD"})
_BODY_BY_DEFAULT = frozenset({"POST", "PUT", "PATCH", "OPTIONS"})
_DELIMITED = {"spaceDelimited": "space", "pipeDelimited": "pipe", "tabDelimited": "comma"}
_MOST_SCHEMAS = 150
_MOST_DESCRIPTION = 1_000
_CARRIAGE = frozenset(
    ["accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "te", "trailer",
     "transfer-encoding", "upgrade", "cookie", "proxy-authorization"]
)  # fmt: skip
"""Headers that no argument may set."""


class RequestPlan(NamedTuple):
    """The request of a tool: its arguments, and the place of each."""

    schema: JsonObject
    """The schema of the arguments."""
    template: str
    """The path, with placeholders for arguments."""
    transport: JsonObject
    """`x-body`, `x-mapping` and `x-headers`, where they are needed."""
    arguments: dict[str, OperationParameter]
    """Parameters by the names of their arguments."""
    body_arguments: dict[str, str]
    """Members of the body by the names of their arguments; the empty name stands for the entire body."""
    media_type: str
    """The format of the body; empty when there is none."""


class _ArgumentList:
    """The arguments of one operation while they are collected."""

    def __init__(self) -> None:
        self.properties: JsonObject = {}
        self.required: list[str] = []
        self.mapping: dict[str, JsonObject] = {}
        self.parameters: dict[str, OperationParameter] = {}
        self.members: dict[str, str] = {}

    def choose_name(self, name: str, place: str) -> str:
        """Returns a legal argument's name that is still free."""
        if place == "header" or not _LEGAL.fullmatch(name):
            legal = "_".join(word for word in split_words(name) if word.isascii())[:60] or "argument"
            legal = f"_{legal}" if legal[0].isdigit() else legal
        else:
            legal = name
        if legal in self.properties:
            legal = f"{legal[:50]}_in_{place}"
        return number_name(legal, self.properties)


def plan_request(document: OpenApi, schemas: Schemas, operation: Operation) -> RequestPlan:
    """Plans the request of an operation. Raises Broken when it cannot be sent at all."""
    heading = operation.heading
    draft = _ArgumentList()
    body = _plan_body(document, schemas, operation)
    kind = body.kind if body is not None else "none"
    template = heading.template
    places = list(dict.fromkeys(_PLACE.findall(template)))
    declared = sorted(operation.parameters, key=lambda each: _ORDER[each.place])
    for parameter in declared:
        if parameter.place == "path" and parameter.name not in places:
            document.report(
                PARAMETER, parameter.path, f"the path has no place for {parameter.name[:60]!r}; it is ignored"
            )
            continue
        _add_parameter(document, schemas, draft, parameter, kind)
    known = {parameter.name for parameter in declared if parameter.place == "path"}
    for name in places:
        if name not in known:
            document.report(PARAMETER, heading.path, f"{{{name[:60]}}} is not declared; it is read as text")
            _add_parameter(document, schemas, draft, _build_undeclared(name, heading.path), kind)
    headers: dict[str, str] = {}
    if body is not None:
        _add_body(draft, body)
        if body.content_type:
            headers["Content-Type"] = body.content_type
    schema: JsonObject = {"type": "object"}
    if draft.properties:
        schema["properties"] = draft.properties
    if draft.required:
        schema["required"] = draft.required
    schema["additionalProperties"] = False
    transport: JsonObject = {}
    # Written only where it is not what the executor assumes for the method.
    if kind != ("json" if heading.method in _BODY_BY_DEFAULT else "none"):
        transport["x-body"] = kind
    if headers:
        transport["x-headers"] = headers
    if draft.mapping:
        transport["x-mapping"] = draft.mapping
    media_type = body.media_type if body is not None else ""
    return RequestPlan(schema, template, transport, draft.parameters, draft.members, media_type)


def _plan_body(document: OpenApi, schemas: Schemas, operation: Operation) -> BodyPlan | None:
    body, heading = operation.body, operation.heading
    if body is None:
        return None
    if heading.method in _BODILESS:
        if body.is_required:
            raise make_broken(
                LEFT_OUT, body.path, f"{heading.label} needs a body, and {heading.method} requests have none"
            )
        document.report(
            PARAMETER, body.path, f"the body of {heading.label} is ignored: {heading.method} requests have none"
        )
        return None
    return plan_body(document, schemas, body, heading.label)


def _build_undeclared(name: str, path: Any) -> OperationParameter:
    return OperationParameter(name, "path", {"type": "string"}, True, "", "simple", False, False, "", False, (), path)


def _add_parameter(
    document: OpenApi, schemas: Schemas, draft: _ArgumentList, parameter: OperationParameter, body: str
) -> None:
    if parameter.place == "header" and parameter.name.lower() in _CARRIAGE:
        document.report(
            PARAMETER, parameter.path, f"the header {parameter.name!r} is set by the HTTP client; it is ignored",
            Severity.INFO,
        )  # fmt: skip
        return
    known = document.converted_parameters.get(id(parameter))
    if known is None:
        # Operations share parameters, so each is converted once. The parameter is kept, so that its id stays in use.
        entry = schemas.expand(parameter.schema, parameter.path, is_input=True, most=_MOST_SCHEMAS)
        if entry.is_cut:
            schemas.report_cut(parameter.path, f"the parameter {parameter.name!r}")
        known = (
            _describe_parameter(parameter, entry.schema),
            _build_placement(document, parameter, entry.schema),
            parameter,
        )
        document.converted_parameters[id(parameter)] = known
    schema, said, _ = known
    name = draft.choose_name(parameter.name, parameter.place)
    draft.properties[name] = schema
    draft.parameters[name] = parameter
    if parameter.is_required:
        draft.required.append(name)
    if name != parameter.name:
        said = {**said, "name": parameter.name}
    place = "query" if parameter.place == "querystring" else parameter.place
    # Where a request has no body, the executor puts arguments into the query by itself.
    is_usual = place == "path" or (place == "query" and body == "none")
    if said or not is_usual:
        draft.mapping[name] = {"in": place, **said}


def _describe_parameter(parameter: OperationParameter, schema: JsonObject) -> JsonObject:
    """Adds a parameter's own description, which is more specific than its schema's."""
    extra = ["Deprecated."] if parameter.is_deprecated and "Deprecated." not in schema.get("description", "") else []
    text = shorten_text(parameter.description, _MOST_DESCRIPTION)
    example = parameter.examples[0] if parameter.examples else None
    if (
        example is not None
        and not isinstance(example, dict | list)
        and "xample" not in text + schema.get("description", "")
    ):
        written = format_value(example)
        if written:
            extra.append(f"Example: {written}.")
    if not text:
        text = schema.get("description", "") or humanize(parameter.name)
    made = append_sentences(text, extra)
    return schema if schema.get("description") == made else {**add_description(schema, made), "description": made}


def list_container_kinds(schema: JsonObject) -> set[str]:
    """Returns the container types that a value may have: `array` and `object`, both when the schema does not say."""
    kind = schema.get("type")
    words = {kind} if isinstance(kind, str) else set(kind or ())
    for word in ("oneOf", "anyOf", "allOf"):
        for branch in schema.get(word, ()):
            words |= list_container_kinds(branch)
    return words & {"array", "object"} if words else {"array", "object"}


def _build_placement(document: OpenApi, parameter: OperationParameter, schema: JsonObject) -> JsonObject:
    """Returns a parameter's entry in `x-mapping`; empty for the default placement."""
    said: JsonObject = {}
    place = parameter.place
    if parameter.is_reserved and place in ("query", "path"):
        said["reserved"] = True
    if parameter.media_type:
        if "json" in parameter.media_type:
            return {**said, "content_type": "application/json"}
        if place != "querystring":
            if list_container_kinds(schema):
                document.report(
                    PARAMETER,
                    parameter.path,
                    f"{parameter.name!r} is {parameter.media_type}, which is sent as plain text",
                )
            return said
    if place == "querystring":
        return {**said, "style": "form-exploded"}
    style = (_choose_path_style if place in ("path", "header") else _choose_query_style)(
        document, parameter, list_container_kinds(schema)
    )
    return {**said, "style": style} if style else said


def _choose_path_style(document: OpenApi, parameter: OperationParameter, kinds: set[str]) -> str:
    ending = "-exploded" if parameter.explode and kinds else ""
    if parameter.style in ("label", "matrix") and parameter.place == "path":
        return parameter.style + ending
    if parameter.style != "simple":
        document.report(
            PARAMETER, parameter.path, f"{parameter.style!r} is no style of a {parameter.place}; the default is used"
        )
    return f"simple{ending}" if "object" in kinds and kinds != {"array", "object"} else ""


def _choose_query_style(document: OpenApi, parameter: OperationParameter, kinds: set[str]) -> str:
    if not kinds:
        return ""
    style = parameter.style
    if style == "deepObject":
        return "deep" if "object" in kinds else ""
    if style in _DELIMITED:
        if style == "tabDelimited":
            document.report(
                PARAMETER, parameter.path, f"{parameter.name!r} is delimited by tabs, which are sent as commas"
            )
        return "" if parameter.explode else _DELIMITED[style]
    if style != "form":
        document.report(
            PARAMETER, parameter.path, f"{style!r} is no style of a {parameter.place}; it is read as 'form'"
        )
    if parameter.explode:
        return "form-exploded" if kinds == {"object"} else ""
    return "form" if "object" in kinds else "comma"


def _add_body(draft: _ArgumentList, body: BodyPlan) -> None:
    for member in body.members:
        name = draft.choose_name(member.name, "body")
        draft.properties[name] = member.schema
        draft.members[name] = "" if member.placement.get("whole") else member.name
        if member.is_required:
            draft.required.append(name)
        said = dict(member.placement)
        if name != member.name and not said.get("whole"):
            said["name"] = (
                f"/{escape_step(member.name)}" if body.kind == "json" and member.name.startswith("/") else member.name
            )
        elif member.name.startswith("/") and body.kind == "json":
            said["name"] = f"/{escape_step(member.name)}"
        if said or body.kind in ("text", "binary"):
            draft.mapping[name] = {"in": "body", **said}
