"""How a body is written: the best of its media types, its members as arguments of their own where that is clear."""

from __future__ import annotations

from typing import Any, NamedTuple

from ferrule.definitions.openapi.entries import Entry, described
from ferrule.definitions.openapi.keywords import BINARY
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.references import broken
from ferrule.definitions.openapi.schemas import Schemas
from ferrule.definitions.openapi.shape import CHOICE, LEFT_OUT, PARAMETER, Body, Media, mapping, text
from ferrule.definitions.openapi.wording import bounded, joined, spoken
from ferrule.model.diagnostic import Severity

MOST_SCHEMAS = 600
"""Of one body; a model has to read them."""
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


class Member(NamedTuple):
    """An argument that goes into a body."""

    name: str
    schema: dict[str, Any]
    is_required: bool
    said: dict[str, Any]
    """What `x-mapping` has to say besides the name."""


class BodyPlan(NamedTuple):
    """A body of a kind that the executor can write."""

    kind: str
    media_type: str
    content_type: str
    """What has to be said in a header because it is not what the kind implies."""
    members: tuple[Member, ...]


def kind_of(media_type: str) -> str:
    """What a media type is to us: `json`, `form`, `multipart`, `text`, `binary`, or nothing when it cannot be written."""
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


def attachment(description: str, types: tuple[str, ...] = ()) -> dict[str, Any]:
    """A file as an argument: AML's attachment object (AML-33)."""
    kind: dict[str, Any] = {"type": "string", "description": "What the file is: its media type."}
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
    """The body of an operation. Raises Broken when it has to be sent and cannot be."""
    ranked = sorted(body.media, key=lambda media: (_RANK[kind_of(media.media_type)], _is_odd(media.media_type)))
    media = ranked[0]
    kind = kind_of(media.media_type)
    if not kind:
        if body.is_required:
            raise broken(LEFT_OUT, media.path, f"{label} sends {media.media_type}, which cannot be written here")
        document.tell(PARAMETER, media.path, f"the body of {label} is {media.media_type}; it is passed over")
        return None
    if len(ranked) > 1:
        others = ", ".join(each.media_type for each in ranked[1:])
        document.tell(
            CHOICE, body.path, f"of several bodies {media.media_type} is sent; not: {others[:200]}", Severity.INFO
        )
    if kind == "json":
        members = _json(schemas, media, body)
    elif kind in ("form", "multipart"):
        members = _form(document, schemas, media, kind, body)
    elif kind == "text":
        members = (_text(media, body),)
    else:
        described_as = body.description.strip() or "The file to send."
        members = (Member("file", attachment(bounded(described_as, _MOST_DESCRIPTION)), body.is_required, {}),)
    bare = media.media_type.partition(";")[0].strip().lower()
    is_usual = "*" in bare or not bare or bare in _USUAL_TYPES.get(kind, (bare,))
    return BodyPlan(kind, media.media_type, "" if is_usual else media.media_type.strip(), members)


def _is_odd(media_type: str) -> bool:
    return media_type.partition(";")[0].strip().lower() not in ("application/json", "text/plain", BINARY)


def is_flat(schema: dict[str, Any]) -> bool:
    """True for an object whose members can stand for themselves."""
    kind = schema.get("type")
    is_object = kind == "object" or (isinstance(kind, list) and set(kind) == {"object", "null"})
    if not is_object or not schema.get("properties") or schema.keys() & {"oneOf", "anyOf", "allOf", "enum", "const"}:
        return False
    return schema.get("additionalProperties", False) is False


def _json(schemas: Schemas, media: Media, body: Body) -> tuple[Member, ...]:
    entry = schemas.expanded({} if media.schema is None else media.schema, media.path, is_input=True, most=MOST_SCHEMAS)
    if entry.is_cut:
        schemas.tell_cut(media.path, "the body")
    schema = entry.schema
    required = schema.get("required", ())
    if is_flat(schema) and (body.is_required or not required):
        return tuple(Member(name, member, name in required, {}) for name, member in schema["properties"].items())
    return (Member("body", _whole(schema, body), body.is_required, {"whole": True}),)


def _whole(schema: dict[str, Any], body: Body) -> dict[str, Any]:
    text = bounded(body.description, _MOST_DESCRIPTION) or schema.get("description", "") or "What is sent."
    return schema if schema.get("description") == text else {**described(schema, text), "description": text}


def _text(media: Media, body: Body) -> Member:
    said = bounded(body.description, _MOST_DESCRIPTION) or "What is sent."
    bare = media.media_type.partition(";")[0].strip()
    schema = {"type": "string", "description": joined(said, [f"As {bare}."] if bare != "text/plain" else [])}
    if bare != "text/plain" and "*" not in bare:
        schema["contentMediaType"] = bare
    return Member("body", schema, body.is_required, {})


def _form(document: OpenApi, schemas: Schemas, media: Media, kind: str, body: Body) -> tuple[Member, ...]:
    entry = schemas.expanded({} if media.schema is None else media.schema, media.path, is_input=True, most=MOST_SCHEMAS)
    if entry.is_cut:
        schemas.tell_cut(media.path, "the body")
    properties, required = _fields(document, media, entry)
    if not body.is_required:
        required = []
    members = []
    for name, schema in properties.items():
        encoding = mapping(media.encoding, name)
        if encoding.get("headers"):
            document.tell(
                PARAMETER, (*media.path, "encoding", name), f"headers of the part {name!r} are not sent", Severity.INFO
            )
        made = (_part if kind == "multipart" else _field)(document, media, name, schema, encoding)
        members.append(Member(name, made[0], name in required, made[1]))
    return tuple(members)


def _fields(document: OpenApi, media: Media, entry: Entry) -> tuple[dict[str, Any], list[str]]:
    """The fields of a form. Of alternatives all fields are taken, and those required that each requires."""
    schema = entry.schema
    properties, required = dict(schema.get("properties", {})), list(schema.get("required", ()))
    for word in ("oneOf", "anyOf", "allOf"):
        branches = schema.get(word, ())
        for branch in branches:
            properties = {**branch.get("properties", {}), **properties}
        if branches:
            shared = set.intersection(*(set(branch.get("required", ())) for branch in branches))
            required += sorted(shared - set(required))
            document.tell(
                PARAMETER, media.path, "the form has alternatives; all their fields can be given", Severity.INFO
            )
    if not properties:
        document.tell(PARAMETER, media.path, "the fields of the form are not described; none can be given")
    return properties, required


def _field(
    document: OpenApi, media: Media, name: str, schema: dict[str, Any], encoding: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A field of a form, and how it is written."""
    said: dict[str, Any] = {"reserved": True} if encoding.get("allowReserved") is True else {}
    style, explode = text(encoding, "style"), encoding.get("explode")
    kind = schema.get("type")
    if style == "deepObject":
        said["style"] = "deep"
    elif style in ("spaceDelimited", "pipeDelimited") and explode is not True and kind == "array":
        said["style"] = "space" if style == "spaceDelimited" else "pipe"
    elif style == "tabDelimited":
        document.tell(PARAMETER, media.path, f"{name!r} is delimited by tabs, which is sent with commas")
        said["style"] = "comma"
    elif (style == "form" or explode is not None) and kind == "array" and explode is False:
        said["style"] = "comma"
    elif (style == "form" or explode is not None) and kind == "object":
        said["style"] = "form" if explode is False else "form-exploded"
    return schema, said


def _part(
    document: OpenApi, media: Media, name: str, schema: dict[str, Any], encoding: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A part of a multipart body: a file, or a value."""
    del document, media
    types = tuple(each.strip().lower() for each in text(encoding, "contentType").split(",") if "/" in each)
    plain = tuple(each for each in types if "*" not in each)
    one = plain[0] if len(plain) == 1 == len(types) else ""
    text_said = schema.get("description", spoken(name))
    if is_file(schema, types):
        if types and not plain:
            text_said = joined(text_said, [f"A file of type {', '.join(types)}."])
        made = attachment(text_said, plain if len(plain) == len(types) else ())
        return made, {"in": "file", **({"content_type": one} if one and one != BINARY else {})}
    if schema.get("type") == "array" and is_file(schema.get("items", {}), types):
        items = attachment("One file.", plain if len(plain) == len(types) else ())
        return {"type": "array", "description": text_said, "items": items}, {"in": "file"}
    return schema, {"content_type": one} if one else {}


def is_file(schema: dict[str, Any], types: tuple[str, ...]) -> bool:
    """True for bytes as they are: not text, and not base64 within text."""
    kind = schema.get("type", "string")
    if kind not in ("string", ["string", "null"]) or "contentEncoding" in schema or "enum" in schema:
        return False
    if "contentMediaType" in schema:
        return kind_of(schema["contentMediaType"]) == "binary"
    return "type" not in schema and bool(types) and all(kind_of(each) == "binary" for each in types)
