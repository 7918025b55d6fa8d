"""Converts the responses of an operation to an output schema and a table of errors."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

from ferrule.definitions.openapi.bodies import classify_media_type
from ferrule.definitions.openapi.expanded_schemas import ExpandedSchema
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.schemas import Schemas
from ferrule.definitions.openapi.shape import CHOICE, Media, Operation, OperationResponse
from ferrule.definitions.openapi.wording import end_sentence, shorten_text
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonObject

MOST_SCHEMAS = 400
_MOST_MEANING = 300
_SILENT = frozenset({"201", "202", "204", "205"})
"""Statuses without a body."""
_USUAL = ("application/json", "text/json", "*/*", "application/*")
_RANK = {"json": 0, "text": 1, "form": 1, "multipart": 2, "binary": 2, "": 2}
_ACTIONS = {
    400: "Check the arguments against what the tool says about them, and call again with corrected ones.",
    401: "Do not call again; the credentials have to be set up or renewed first.",
    402: "Do not call again; tell the user that a payment is needed.",
    403: "Do not call again; tell the user that the access is not allowed.",
    404: "Check the ids in the arguments; look the thing up first if there is a tool for it.",
    405: "Do not call again; the service does not offer this.",
    406: "Do not call again; the service cannot answer in a form that is understood here.",
    408: "Call again later.",
    409: "Read the current state first, then decide whether the change is still wanted.",
    410: "Do not call again; what was asked for is gone.",
    412: "Read the current state first, then call again with its values.",
    413: "Send less at once.",
    415: "Do not call again; the service does not take this kind of content.",
    422: "Correct the arguments that the message names, and call again.",
    423: "Wait until it is released, then call again.",
    429: "Wait before calling again, as long as the answer says.",
    500: "Do not repeat it more than once; tell the user if it fails again.",
    501: "Do not call again; the service does not offer this.",
    502: "Call again later.",
    503: "Call again later.",
    504: "Call again later; what was asked for may have happened.",
}


class ResponsePlan(NamedTuple):
    """The response of a tool: its output, errors and headers."""

    schema: JsonObject
    """The schema of the output: always an object."""
    transport: JsonObject
    """`x-response` where it is needed, and an Accept header for an unusual media type."""
    errors: dict[str, dict[str, str]]
    is_list: bool
    """True when the response is a list, or an object around one."""
    headers: frozenset[str]
    """Names of headers in the response."""


def plan_response(document: OpenApi, schemas: Schemas, operation: Operation) -> ResponsePlan:
    """Plans the output of an operation, and its errors."""
    good = [answer for answer in operation.answers if answer.status[:1] == "2"]
    good = good or [answer for answer in operation.answers if answer.status.lower() == "default"]
    made = _plan_output(document, schemas, operation, good)
    is_asked_only = operation.heading.method in ("GET", "QUERY", "OPTIONS", "TRACE")
    # An empty 200 fails a tool that only reads, unless the document says that one may come.
    if is_asked_only and any(not answer.media and answer.status not in _SILENT for answer in good):
        answer = {**made.transport.get("x-response", {}), "empty": True}
        return made._replace(transport={**made.transport, "x-response": answer})
    return made


def _plan_output(
    document: OpenApi, schemas: Schemas, operation: Operation, good: list[OperationResponse]
) -> ResponsePlan:
    headers = frozenset(name for answer in good for name in answer.headers)
    errors = _build_errors(operation.answers)
    chosen = [(answer, media) for answer in good if (media := _choose_media(document, answer)) is not None]
    if operation.heading.method == "HEAD" or not good:
        return ResponsePlan({"type": "object"}, {}, errors, False, headers)
    if not chosen:
        transport = {} if _is_empty(good) else {"x-response": {"as": "value"}}
        return ResponsePlan({"type": "object"}, transport, errors, False, headers)
    kinds = {_classify_media(media) for _, media in chosen}
    if kinds == {"json"}:
        return _plan_json(schemas, chosen, errors, headers)
    if "json" not in kinds and "binary" not in kinds:
        member = {"type": "string", "description": _find_description(good) or "What the service answered."}
        output = {"type": "object", "properties": {"text": member}, "required": ["text"]}
        return ResponsePlan(output, _build_accept(chosen, "text"), errors, False, headers)
    wrapped = {} if kinds == {"binary"} else {"x-response": {"as": "value"}}
    return ResponsePlan({"type": "object"}, {**_build_accept(chosen, "binary"), **wrapped}, errors, False, headers)


def _is_empty(answers: list[OperationResponse]) -> bool:
    return all(answer.status in _SILENT for answer in answers)


def _find_description(answers: list[OperationResponse]) -> str:
    return next(
        (
            end_sentence(shorten_text(answer.description, _MOST_MEANING))
            for answer in answers
            if answer.description.strip()
        ),
        "",
    )


def _classify_media(media: Media) -> str:
    kind = "text" if media.is_sequence else classify_media_type(media.media_type)
    return {"form": "text", "multipart": "binary", "": "binary"}.get(kind, kind)


def _choose_media(document: OpenApi, answer: OperationResponse) -> Media | None:
    if len(answer.media) < 2:
        return answer.media[0] if answer.media else None
    ranked = sorted(
        answer.media, key=lambda media: (_RANK[_classify_media(media)], media.media_type.lower() not in _USUAL)
    )
    if len({_classify_media(media) for media in ranked}) > 1:
        others = ", ".join(media.media_type for media in ranked[1:])
        document.report(
            CHOICE,
            answer.path,
            f"of several media types, {ranked[0].media_type} is used; not: {others[:200]}",
            Severity.INFO,
        )
    return ranked[0]


def _build_accept(chosen: list[tuple[OperationResponse, Media]], kind: str) -> JsonObject:
    """Returns an Accept header, where the default would ask for another type."""
    if kind == "json" and all(media.media_type == "application/json" for _, media in chosen):
        return {}
    types = list(dict.fromkeys(media.media_type.strip() for _, media in chosen))
    if kind == "json" and any(each.partition(";")[0].lower() in _USUAL for each in types):
        return {}
    plain = [each for each in types if "*" not in each and "/" in each and each.isascii() and each.isprintable()]
    return {"x-headers": {"Accept": ", ".join(plain)}} if plain else {}


def _plan_json(
    schemas: Schemas,
    chosen: list[tuple[OperationResponse, Media]],
    errors: dict[str, dict[str, str]],
    headers: frozenset[str],
) -> ResponsePlan:
    entries: list[ExpandedSchema] = []
    for _, media in chosen:
        if media.schema is None:
            continue
        entry = schemas.expand(media.schema, media.path, is_input=False, most=MOST_SCHEMAS)
        if entry.is_cut:
            schemas.report_cut(media.path, "the answer")
        if all(entry.schema != known.schema for known in entries):
            entries.append(entry)
    transport = _build_accept(chosen, "json")
    if not entries or len(entries) < len({id(media.schema) for _, media in chosen if media.schema is None}):
        return ResponsePlan({"type": "object"}, {**transport, "x-response": {"as": "value"}}, errors, False, headers)
    made = [entry.schema for entry in entries]
    if all(map(is_object, made)):
        whole = made[0] if len(made) == 1 else {"anyOf": made}
        output = whole if next(iter(whole)) == "type" else {"type": "object", **whole}
        return ResponsePlan(output, transport, errors, has_list(whole), headers)
    if all(schema.get("type") == "array" for schema in made):
        whole, member = made[0] if len(made) == 1 else {"anyOf": made}, "items"
    else:
        whole, member = made[0] if len(made) == 1 else {"anyOf": made}, "value"
    if "description" not in whole:
        text = _find_description([each for each, _ in chosen]) or "What the service answered."
        whole = {**({"type": whole["type"]} if "type" in whole else {}), "description": text, **whole}
    output = {"type": "object", "properties": {member: whole}, "required": [member]}
    return ResponsePlan(output, {**transport, "x-response": {"as": member}}, errors, member == "items", headers)


def is_object(schema: JsonObject) -> bool:
    """Returns True for a schema that only objects match."""
    kind = schema.get("type")
    if kind is not None:
        return bool(kind == "object")
    return any(schema.get(word) and all(map(is_object, schema[word])) for word in ("oneOf", "anyOf"))


def has_list(schema: JsonObject) -> bool:
    """Returns True for an object that has a list among its members: `{items: […], next: …}`."""
    return any(
        isinstance(member, dict) and member.get("type") == "array" for member in schema.get("properties", {}).values()
    )


def _build_errors(answers: tuple[OperationResponse, ...]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for answer in answers:
        status = answer.status.upper()
        if status in ("4XX", "5XX"):
            status = f"{status[0]}00"
        if (
            status[0:1] in ("4", "5")
            and status not in found
            and len(status) == 3
            and status.isascii()
            and status.isdecimal()
        ):
            found[status] = _build_error(int(status), answer.description)
    return dict(sorted(found.items()))


@lru_cache(maxsize=4096)
def _build_error(status: int, description: str) -> dict[str, str]:
    """Returns the meaning of an error and the agent's next action; the object is cached and shared, so it must not be changed."""
    meaning = end_sentence(" ".join(shorten_text(description, _MOST_MEANING).split())) or _describe_status(status)
    return {"meaning": meaning, "agent_action": _ACTIONS.get(status) or _ACTIONS[400 if status < 500 else 500]}


def _describe_status(status: int) -> str:
    try:
        return f"{HTTPStatus(status).phrase}."
    except ValueError:
        return f"The service answered with status {status}."
