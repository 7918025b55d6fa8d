"""Joins the parameters and the body of an operation into one object of arguments, and says where each of them goes.

An argument has the name that the document gives it, made legal; of two with one name the one that stands first in the order
path, query, header, cookie, body keeps it, the other is told by its place: `id_in_body`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ferrule.definitions.openapi.bodies import BodyPlan, plan_body
from ferrule.definitions.openapi.entries import described
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.references import broken
from ferrule.definitions.openapi.schemas import Schemas
from ferrule.definitions.openapi.shape import LEFT_OUT, PARAMETER, Operation, Parameter
from ferrule.definitions.openapi.wording import bounded, joined, shown, spoken, words_of
from ferrule.model.diagnostic import Severity
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


class Sending(NamedTuple):
    """What is sent."""

    schema: dict[str, Any]
    """Of the arguments."""
    template: str
    """The path, with the places that arguments fill."""
    transport: dict[str, Any]
    """`x-body`, `x-mapping` and `x-headers`, as far as they are needed."""
    arguments: dict[str, Parameter]
    """Parameters by the names of their arguments."""
    body_arguments: dict[str, str]
    """Members of the body by the names of their arguments; the empty name is the whole."""
    media_type: str
    """How the body is written; empty when there is none."""


class _Draft:
    """Arguments, as they are gathered."""

    def __init__(self) -> None:
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []
        self.mapping: dict[str, dict[str, Any]] = {}
        self.parameters: dict[str, Parameter] = {}
        self.members: dict[str, str] = {}

    def name_for(self, name: str, place: str) -> str:
        """A legal argument's name that is still free."""
        if place == "header" or not _LEGAL.fullmatch(name):
            legal = "_".join(word for word in words_of(name) if word.isascii())[:60] or "argument"
            legal = f"_{legal}" if legal[0].isdigit() else legal
        else:
            legal = name
        if legal in self.properties:
            legal = f"{legal[:50]}_in_{place}"
        made, number = legal, 1
        while made in self.properties:
            number += 1
            made = f"{legal}_{number}"
        return made


def sending_of(document: OpenApi, schemas: Schemas, operation: Operation) -> Sending:
    """The arguments of an operation. Raises Broken when it cannot be sent at all."""
    heading = operation.heading
    draft = _Draft()
    body = _body(document, schemas, operation)
    kind = body.kind if body is not None else "none"
    template = heading.template
    places = list(dict.fromkeys(_PLACE.findall(template)))
    declared = sorted(operation.parameters, key=lambda each: _ORDER[each.place])
    for parameter in declared:
        if parameter.place == "path" and parameter.name not in places:
            document.tell(
                PARAMETER, parameter.path, f"the path has no place for {parameter.name[:60]!r}; it is passed over"
            )
            continue
        _add_parameter(document, schemas, draft, parameter, kind)
    known = {parameter.name for parameter in declared if parameter.place == "path"}
    for name in places:
        if name not in known:
            document.tell(PARAMETER, heading.path, f"{{{name[:60]}}} is not described; it is taken for text")
            _add_parameter(document, schemas, draft, _made_up(name, heading.path), kind)
    headers: dict[str, str] = {}
    if body is not None:
        _add_body(draft, body)
        if body.content_type:
            headers["Content-Type"] = body.content_type
    schema: dict[str, Any] = {"type": "object"}
    if draft.properties:
        schema["properties"] = draft.properties
    if draft.required:
        schema["required"] = draft.required
    schema["additionalProperties"] = False
    transport: dict[str, Any] = {}
    if kind != ("json" if heading.method in _BODY_BY_DEFAULT else "none"):
        transport["x-body"] = kind
    if headers:
        transport["x-headers"] = headers
    if draft.mapping:
        transport["x-mapping"] = draft.mapping
    media_type = body.media_type if body is not None else ""
    return Sending(schema, template, transport, draft.parameters, draft.members, media_type)


def _body(document: OpenApi, schemas: Schemas, operation: Operation) -> BodyPlan | None:
    body, heading = operation.body, operation.heading
    if body is None:
        return None
    if heading.method in _BODILESS:
        if body.is_required:
            raise broken(LEFT_OUT, body.path, f"{heading.label} needs a body, and {heading.method} requests have none")
        document.tell(
            PARAMETER, body.path, f"the body of {heading.label} is passed over: {heading.method} requests have none"
        )
        return None
    return plan_body(document, schemas, body, heading.label)


def _made_up(name: str, path: Any) -> Parameter:
    return Parameter(name, "path", {"type": "string"}, True, "", "simple", False, False, "", False, (), path)


def _add_parameter(document: OpenApi, schemas: Schemas, draft: _Draft, parameter: Parameter, body: str) -> None:
    if parameter.place == "header" and parameter.name.lower() in _CARRIAGE:
        document.tell(
            PARAMETER, parameter.path, f"the header {parameter.name!r} is set by whoever sends; it is passed over",
            Severity.INFO,
        )  # fmt: skip
        return
    known = document.placed.get(id(parameter))
    if known is None:
        entry = schemas.expanded(parameter.schema, parameter.path, is_input=True, most=_MOST_SCHEMAS)
        if entry.is_cut:
            schemas.tell_cut(parameter.path, f"the parameter {parameter.name!r}")
        known = _described(parameter, entry.schema), _placed(document, parameter, entry.schema), parameter
        document.placed[id(parameter)] = known
    schema, said, _ = known
    name = draft.name_for(parameter.name, parameter.place)
    draft.properties[name] = schema
    draft.parameters[name] = parameter
    if parameter.is_required:
        draft.required.append(name)
    if name != parameter.name:
        said = {**said, "name": parameter.name}
    place = "query" if parameter.place == "querystring" else parameter.place
    is_usual = place == "path" or (place == "query" and body == "none")
    if said or not is_usual:
        draft.mapping[name] = {"in": place, **said}


def _described(parameter: Parameter, schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter's schema with its own description, which says more than the schema's."""
    extra = ["Deprecated."] if parameter.is_deprecated and "Deprecated." not in schema.get("description", "") else []
    text = bounded(parameter.description, _MOST_DESCRIPTION)
    example = parameter.examples[0] if parameter.examples else None
    if (
        example is not None
        and not isinstance(example, dict | list)
        and "xample" not in text + schema.get("description", "")
    ):
        written = shown(example)
        if written:
            extra.append(f"Example: {written}.")
    if not text:
        text = schema.get("description", "") or spoken(parameter.name)
    made = joined(text, extra)
    return schema if schema.get("description") == made else {**described(schema, made), "description": made}


def kinds_of(schema: dict[str, Any]) -> set[str]:
    """Whether a value may be a list or an object, as far as its schema says."""
    kind = schema.get("type")
    words = {kind} if isinstance(kind, str) else set(kind or ())
    for word in ("oneOf", "anyOf", "allOf"):
        for branch in schema.get(word, ()):
            words |= kinds_of(branch)
    return words & {"array", "object"} if words else {"array", "object"}


def _placed(document: OpenApi, parameter: Parameter, schema: dict[str, Any]) -> dict[str, Any]:
    """How a parameter is written where it goes; empty for the usual way."""
    said: dict[str, Any] = {}
    place = parameter.place
    if parameter.is_reserved and place in ("query", "path"):
        said["reserved"] = True
    if parameter.media_type:
        if "json" in parameter.media_type:
            return {**said, "content_type": "application/json"}
        if place != "querystring":
            if kinds_of(schema):
                document.tell(
                    PARAMETER,
                    parameter.path,
                    f"{parameter.name!r} is {parameter.media_type}, which is sent as plain text",
                )
            return said
    if place == "querystring":
        return {**said, "style": "form-exploded"}
    style = (_in_path if place in ("path", "header") else _in_query)(document, parameter, kinds_of(schema))
    return {**said, "style": style} if style else said


def _in_path(document: OpenApi, parameter: Parameter, kinds: set[str]) -> str:
    ending = "-exploded" if parameter.explode and kinds else ""
    if parameter.style in ("label", "matrix") and parameter.place == "path":
        return parameter.style + ending
    if parameter.style != "simple":
        document.tell(
            PARAMETER, parameter.path, f"{parameter.style!r} is no style of a {parameter.place}; it is written plainly"
        )
    return f"simple{ending}" if "object" in kinds and kinds != {"array", "object"} else ""


def _in_query(document: OpenApi, parameter: Parameter, kinds: set[str]) -> str:
    if not kinds:
        return ""
    style = parameter.style
    if style == "deepObject":
        return "deep" if "object" in kinds else ""
    if style in _DELIMITED:
        if style == "tabDelimited":
            document.tell(
                PARAMETER, parameter.path, f"{parameter.name!r} is delimited by tabs, which is sent with commas"
            )
        return "" if parameter.explode else _DELIMITED[style]
    if style != "form":
        document.tell(
            PARAMETER, parameter.path, f"{style!r} is no style of a {parameter.place}; it is taken for 'form'"
        )
    if parameter.explode:
        return "form-exploded" if kinds == {"object"} else ""
    return "form" if "object" in kinds else "comma"


def _add_body(draft: _Draft, body: BodyPlan) -> None:
    for member in body.members:
        name = draft.name_for(member.name, "body")
        draft.properties[name] = member.schema
        draft.members[name] = "" if member.said.get("whole") else member.name
        if member.is_required:
            draft.required.append(name)
        said = dict(member.said)
        if name != member.name and not said.get("whole"):
            said["name"] = (
                f"/{escape_step(member.name)}" if body.kind == "json" and member.name.startswith("/") else member.name
            )
        elif member.name.startswith("/") and body.kind == "json":
            said["name"] = f"/{escape_step(member.name)}"
        if said or body.kind in ("text", "binary"):
            draft.mapping[name] = {"in": "body", **said}
