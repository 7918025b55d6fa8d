"""Plans the body of a request: chooses one of its media types, and makes its members arguments where that is unambiguous."""

from __future__ import annotations

from typing import NamedTuple

from ferrule.definitions.openapi.expanded_schemas import ExpandedSchema, add_description
from ferrule.definitions.openapi.keywords import BINARY
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.references import make_broken
from ferrule.definitions.openapi.schemas import Schemas
from ferrule.definitions.openapi.shape import CHOICE, LEFT_OUT, PARAMETER, Body, Media, read_object, read_text
from ferrule.definitions.openapi.wording import append_sentences, humanize, shorten_text
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonObject

MOST_SCHEMAS = 600
"""The most schemas of one body; a model has to read them."""
_TEXTS = ("application/xml", "application/yaml", "application/x-yaml", "application/graphql", "application/sql",
          "application/x-ndjson", "application/jsonl", "application/json-seq", "application/json-lines",
          "application/javascript", "application/toml")  # fmt: skip
_RANK = {"json": 0, "form": 1, "multipart": 2, "text": 3, "binary": 4, "": 5}
_USUAL_TYPES = {
    "json": ("application/json",),
    "text": ("text/plain",),
    "binary": (BINARY,),
}
_MOST_DESCRIPTION = 1_000


class BodyMember(NamedTuple):
    """An argument that goes into a body."""

    name: str
    schema: JsonObject
    is_required: bool
    placement: JsonObject
    """The entry in `x-mapping`, without the name."""


class BodyPlan(NamedTuple):
    """A body in a format that the executor can write."""

    kind: str
    media_type: str
    content_type: str
    """The Content-Type header, when it is not the one that the kind implies."""
    members: tuple[BodyMember, ...]


def classify_media_type(media_type: str) -> str:
    """Classifies a media type: `json`, `form`, `multipart`, `text`, `binary`, or nothing when it cannot be written."""
    bare = media_type.partition(";")[0].strip().lower()
    if bare in ("application/json", "text/json", "*/*", "application/*", "") or bare.endswith("+json"):
        return "json"
    if bare == "application/x-www-form-urlencoded":
        return "form"
    if bare == "multipart/form-data" or bare == "multipart/*":
        return "multipart"
    if bare.startswith("multipart/"):
        return ""
    if bare.startswith("text/") or bare in _TEXTS or bare.endswith(("+xml", "+yaml")):
        return "text"
    return "binary"


def build_attachment(description: str, types: tuple[str, ...] = ()) -> JsonObject:
    """Returns the schema of a file argument: AML's attachment object (AML-33)."""
    kind: JsonObject = {"type": "string", "description": "What the file is: its media type."}
    if types:
        kind["enum"] = list(types)
    return {
        "type": "object",
        "description": description,
        "properties": {
            "transfer": {
                "type": "string",
                "enum": ["inline", "ref"],
                "description": "`inline`: the bytes are in `content`. `ref`: they are fetched from `url`.",
            },
            "filename": {"type": "string", "description": "The name of the file."},
            "mime_type": kind,
            "max_size_bytes": {"type": "integer", "description": "How many bytes the file has at most."},
            "content": {"type": "string", "contentEncoding": "base64", "description": "The bytes, as base64."},
            "url": {"type": "string", "format": "uri", "description": "Where the file is."},
        },
        "required": ["transfer", "filename", "mime_type", "max_size_bytes"],
        "additionalProperties": False,
    }


def plan_body(document: OpenApi, schemas: Schemas, body: Body, label: str) -> BodyPlan | None:
    """Plans the body of an operation. Raises Broken when it is required and cannot be written."""
    ranked = sorted(
        body.media, key=lambda media: (_RANK[classify_media_type(media.media_type)], _is_odd(media.media_type))
    )
    media = ranked[0]
    kind = classify_media_type(media.media_type)
    if not kind:
        if body.is_required:
            raise make_broken(LEFT_OUT, media.path, f"{label} sends {media.media_type}, which is not supported")
        document.report(PARAMETER, media.path, f"the body of {label} is {media.media_type}; it is ignored")
        return None
    if len(ranked) > 1:
        others = ", ".join(each.media_type for each in ranked[1:])
        document.report(
            CHOICE, body.path, f"of several bodies, {media.media_type} is sent; not: {others[:200]}", Severity.INFO
        )
    if kind == "json":
        members = _plan_json(schemas, media, body)
    elif kind in ("form", "multipart"):
        members = _plan_form(document, schemas, media, kind, body)
    elif kind == "text":
        members = (_plan_text(media, body),)
    else:
        described_as = body.description.strip() or "The file to send."
        members = (
            BodyMember("file", build_attachment(shorten_text(described_as, _MOST_DESCRIPTION)), body.is_required, {}),
        )
    bare = media.media_type.partition(";")[0].strip().lower()
    is_usual = "*" in bare or not bare or bare in _USUAL_TYPES.get(kind, (bare,))
    return BodyPlan(kind, media.media_type, "" if is_usual else media.media_type.strip(), members)


def _is_odd(media_type: str) -> bool:
    return media_type.partition(";")[0].strip().lower() not in ("application/json", "text/plain", BINARY)


def is_flat(schema: JsonObject) -> bool:
    """Returns True for an object whose members can be arguments of their own."""
    kind = schema.get("type")
    is_object = kind == "object" or (isinstance(kind, list) and set(kind) == {"object", "null"})
    if not is_object or not schema.get("properties") or schema.keys() & {"oneOf", "anyOf", "allOf", "enum", "const"}:
        return False
    return schema.get("additionalProperties", False) is False


def _plan_json(schemas: Schemas, media: Media, body: Body) -> tuple[BodyMember, ...]:
    entry = schemas.expand({} if media.schema is None else media.schema, media.path, is_input=True, most=MOST_SCHEMAS)
    if entry.is_cut:
        schemas.report_cut(media.path, "the body")
    schema = entry.schema
    required = schema.get("required", ())
    # Arguments of their own cannot say "required if there is a body at all".
    if is_flat(schema) and (body.is_required or not required):
        return tuple(BodyMember(name, member, name in required, {}) for name, member in schema["properties"].items())
    return (BodyMember("body", _describe_body(schema, body), body.is_required, {"whole": True}),)


def _describe_body(schema: JsonObject, body: Body) -> JsonObject:
    text = shorten_text(body.description, _MOST_DESCRIPTION) or schema.get("description", "") or "What is sent."
    return schema if schema.get("description") == text else {**add_description(schema, text), "description": text}


def _plan_text(media: Media, body: Body) -> BodyMember:
    said = shorten_text(body.description, _MOST_DESCRIPTION) or "What is sent."
    bare = media.media_type.partition(";")[0].strip()
    schema = {"type": "string", "description": append_sentences(said, [f"As {bare}."] if bare != "text/plain" else [])}
    if bare != "text/plain" and "*" not in bare:
        schema["contentMediaType"] = bare
    return BodyMember("body", schema, body.is_required, {})


def _plan_form(document: OpenApi, schemas: Schemas, media: Media, kind: str, body: Body) -> tuple[BodyMember, ...]:
    entry = schemas.expand({} if media.schema is None else media.schema, media.path, is_input=True, most=MOST_SCHEMAS)
    if entry.is_cut:
        schemas.report_cut(media.path, "the body")
    properties, required = _list_fields(document, media, entry)
    if not body.is_required:
        required = []
    members = []
    for name, schema in properties.items():
        encoding = read_object(media.encoding, name)
        if encoding.get("headers"):
            document.report(
                PARAMETER, (*media.path, "encoding", name), f"headers of the part {name!r} are not sent", Severity.INFO
            )
        made = (_plan_part if kind == "multipart" else _plan_field)(document, media, name, schema, encoding)
        members.append(BodyMember(name, made[0], name in required, made[1]))
    return tuple(members)


def _list_fields(document: OpenApi, media: Media, entry: ExpandedSchema) -> tuple[JsonObject, list[str]]:
    """Returns the fields of a form: with alternatives the fields of all, and as required those that each requires."""
    schema = entry.schema
    properties, required = dict(schema.get("properties", {})), list(schema.get("required", ()))
    for word in ("oneOf", "anyOf", "allOf"):
        branches = schema.get(word, ())
        for branch in branches:
            properties = {**branch.get("properties", {}), **properties}
        if branches:
            shared = set.intersection(*(set(branch.get("required", ())) for branch in branches))
            required += sorted(shared - set(required))
            document.report(
                PARAMETER, media.path, "the form has alternatives; all their fields can be given", Severity.INFO
            )
    if not properties:
        document.report(PARAMETER, media.path, "the fields of the form are not described; it takes none")
    return properties, required


def _plan_field(
    document: OpenApi, media: Media, name: str, schema: JsonObject, encoding: JsonObject
) -> tuple[JsonObject, JsonObject]:
    """Returns a field of a form, and its entry in `x-mapping`."""
    said: JsonObject = {"reserved": True} if encoding.get("allowReserved") is True else {}
    style, explode = read_text(encoding, "style"), encoding.get("explode")
    kind = schema.get("type")
    if style == "deepObject":
        said["style"] = "deep"
    elif style in ("spaceDelimited", "pipeDelimited") and explode is not True and kind == "array":
        said["style"] = "space" if style == "spaceDelimited" else "pipe"
    elif style == "tabDelimited":
        document.report(PARAMETER, media.path, f"{name!r} is delimited by tabs, which are sent as commas")
        said["style"] = "comma"
    elif (style == "form" or explode is not None) and kind == "array" and explode is False:
        said["style"] = "comma"
    elif (style == "form" or explode is not None) and kind == "object":
        said["style"] = "form" if explode is False else "form-exploded"
    return schema, said


def _plan_part(
    document: OpenApi, media: Media, name: str, schema: JsonObject, encoding: JsonObject
) -> tuple[JsonObject, JsonObject]:
    """Returns a part of a multipart body: a file or a value, and its entry in `x-mapping`."""
    del document, media
    types = tuple(each.strip().lower() for each in read_text(encoding, "contentType").split(",") if "/" in each)
    plain = tuple(each for each in types if "*" not in each)
    one = plain[0] if len(plain) == 1 == len(types) else ""
    text_said = schema.get("description", humanize(name))
    if is_file(schema, types):
        if types and not plain:
            text_said = append_sentences(text_said, [f"A file of type {', '.join(types)}."])
        made = build_attachment(text_said, plain if len(plain) == len(types) else ())
        return made, {"in": "file", **({"content_type": one} if one and one != BINARY else {})}
    if schema.get("type") == "array" and is_file(schema.get("items", {}), types):
        items = build_attachment("One file.", plain if len(plain) == len(types) else ())
        return {"type": "array", "description": text_said, "items": items}, {"in": "file"}
    return schema, {"content_type": one} if one else {}


def is_file(schema: JsonObject, types: tuple[str, ...]) -> bool:
    """Returns True for raw bytes: neither text, nor base64 within text."""
    kind = schema.get("type", "string")
    if kind not in ("string", ["string", "null"]) or "contentEncoding" in schema or "enum" in schema:
        return False
    if "contentMediaType" in schema:
        return classify_media_type(schema["contentMediaType"]) == "binary"
    # OpenAPI 3.1 writes raw bytes without a type; only the encoding tells.
    return "type" not in schema and bool(types) and all(classify_media_type(each) == "binary" for each in types)
