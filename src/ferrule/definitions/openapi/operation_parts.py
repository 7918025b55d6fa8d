"""Reads the parameters, bodies and responses of an operation of any version into one shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule.definitions.openapi.references import Broken
from ferrule.definitions.openapi.shape import (
    PARAMETER,
    SYNTAX,
    Body,
    Heading,
    Media,
    OperationParameter,
    OperationResponse,
    read_object,
    read_text,
)
from ferrule.model.value import JsonObject, Path, type_name

if TYPE_CHECKING:
    from ferrule.definitions.openapi.read import OpenApi

_PLACES = frozenset({"path", "query", "header", "cookie", "querystring"})
_STYLES = frozenset({"simple", "form", "label", "matrix", "spaceDelimited", "pipeDelimited", "deepObject", "cookie"})
_COLLECTIONS = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "tsv": ("tabDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}
"""`collectionFormat` of 2.0 in the words of 3.x."""
_NO_SCHEMA = frozenset({"name", "in", "required", "description", "collectionFormat", "allowEmptyValue"})
"""Members of a parameter of 2.0 that are not part of its schema."""
_MOST_EXAMPLES = 3
_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_UNSENT = frozenset({"accept", "content-type", "authorization"})
"""Headers that OpenAPI 3 says are no parameters."""


def read_parameters(document: OpenApi, heading: Heading) -> tuple[OperationParameter, ...]:
    """Returns the parameters of an operation; its own replace those of its path. Raises Broken."""
    found: dict[tuple[str, str], OperationParameter] = {}
    for written, at in _list_written_parameters(document, heading):
        mark = _identify(written)
        known = document.parameters.get(mark)
        if known is not None:
            found[(known.name, known.place)] = known
            continue
        value, path = document.resolve(written, at, "a parameter")
        place, name = value.get("in"), value.get("name")
        if document.version == "2.0" and place in ("body", "formData"):
            continue
        if not isinstance(name, str) or not name or not isinstance(place, str) or place not in _PLACES:
            document.report(PARAMETER, path, "a parameter needs a `name` and a place (`in`); it is ignored")
            continue
        if place == "header" and name.lower() in _UNSENT:
            continue
        read = _read_old_parameter if document.version == "2.0" else _read_parameter
        found[(name, place)] = document.parameters[mark] = read(document, value, name, place, path)
    return tuple(found.values())


def _identify(written: object) -> int | str:
    """Returns a key that identifies a written object: its reference when it has nothing else, else its id."""
    ref = written.get("$ref") if isinstance(written, dict) and len(written) == 1 else None
    return ref if isinstance(ref, str) else id(written)


def _list_written_parameters(document: OpenApi, heading: Heading) -> Iterator[tuple[object, Path]]:
    for owner, path in ((heading.item, heading.item_path), (heading.value, heading.path)):
        written = owner.get("parameters")
        if written is None:
            continue
        if not isinstance(written, list):
            document.report(SYNTAX, (*path, "parameters"), f"`parameters` must be a list, not {type_name(written)}")
            continue
        for index, each in enumerate(written):
            yield each, (*path, "parameters", index)


def _read_parameter(document: OpenApi, value: JsonObject, name: str, place: str, path: Path) -> OperationParameter:
    usual = "form" if place in ("query", "cookie") else "simple"
    style = value.get("style", usual)
    if not isinstance(style, str) or style not in _STYLES:
        document.report(PARAMETER, (*path, "style"), f"{str(style)[:60]!r} is no style; {usual!r} is used")
        style = usual
    if style == "cookie":
        style = "form"
    explode = value.get("explode")
    schema, media_type = value.get("schema"), ""
    content = read_object(value, "content")
    examples = _read_examples(document, value, path)
    if content:
        media_type = str(next(iter(content))).lower()
        media = next(iter(content.values()))
        if isinstance(media, dict):
            schema = media.get("schema")
            examples = examples or _read_examples(document, media, path)
    return OperationParameter(
        name=name,
        place=place,
        schema={} if schema is None else schema,
        is_required=value.get("required") is True or place == "path",
        description=read_text(value, "description"),
        style=style,
        explode=explode if isinstance(explode, bool) else style == "form",
        is_reserved=value.get("allowReserved") is True,
        media_type=media_type,
        is_deprecated=value.get("deprecated") is True,
        examples=examples,
        path=path,
    )


def _read_old_parameter(document: OpenApi, value: JsonObject, name: str, place: str, path: Path) -> OperationParameter:
    style, explode = _COLLECTIONS.get(read_text(value, "collectionFormat") or "csv", ("form", False))
    if place in ("path", "header"):
        style = "simple"
    # In 2.0, a parameter has the keywords of its schema beside its own.
    schema = {key: member for key, member in value.items() if key not in _NO_SCHEMA}
    return OperationParameter(
        name=name,
        place=place,
        schema=schema,
        is_required=value.get("required") is True or place == "path",
        description=read_text(value, "description"),
        style=style,
        explode=explode,
        is_reserved=False,
        media_type="",
        is_deprecated=value.get("deprecated") is True,
        examples=(value["x-example"],) if "x-example" in value else (),
        path=path,
    )


def read_body(document: OpenApi, heading: Heading) -> Body | None:
    """Reads the body of an operation. Raises Broken."""
    if document.version == "2.0":
        return _read_old_body(document, heading)
    written = heading.value.get("requestBody")
    if written is None:
        return None
    value, path = document.resolve(written, (*heading.path, "requestBody"), "a request body")
    media = _read_content(document, value, path)
    if not media:
        return None
    return Body(value.get("required") is True, read_text(value, "description"), media, path)


def _read_content(document: OpenApi, value: JsonObject, path: Path) -> tuple[Media, ...]:
    content = value.get("content")
    if content is None:
        return ()
    if not isinstance(content, dict):
        document.report(SYNTAX, (*path, "content"), f"`content` must be an object, not {type_name(content)}")
        return ()
    found = []
    for media_type, written in content.items():
        at: Path = (*path, "content", media_type)
        try:
            media, at = document.resolve(written, at, "a media type")
        except Broken as problem:
            document.add_finding(problem.finding)
            continue
        is_sequence = "schema" not in media and "itemSchema" in media
        schema = media.get("itemSchema" if is_sequence else "schema")
        examples = _read_examples(document, media, at)
        found.append(Media(str(media_type).strip(), schema, read_object(media, "encoding"), examples, is_sequence, at))
    return tuple(found)


def _read_old_body(document: OpenApi, heading: Heading) -> Body | None:
    fields: dict[str, tuple[JsonObject, Path]] = {}
    whole: tuple[JsonObject, Path] | None = None
    for written, at in _list_written_parameters(document, heading):
        value, path = document.resolve(written, at, "a parameter")
        if value.get("in") == "body":
            whole = value, path
        elif value.get("in") == "formData" and isinstance(value.get("name"), str):
            fields[value["name"]] = value, path
    consumes = _read_types(document, heading, "consumes")
    if whole is not None:
        value, path = whole
        media = tuple(
            Media(each, value.get("schema"), {}, (), False, path) for each in consumes or ("application/json",)
        )
        return Body(value.get("required") is True, read_text(value, "description"), media, path)
    if not fields:
        return None
    # Only multipart bodies can carry files.
    has_file = any(value.get("type") == "file" for value, _ in fields.values())
    media_type = _MULTIPART if has_file or (_MULTIPART in consumes and _FORM not in consumes) else _FORM
    return _read_old_form(fields, media_type)


def _read_old_form(fields: dict[str, tuple[JsonObject, Path]], media_type: str) -> Body:
    properties: JsonObject = {}
    encoding: JsonObject = {}
    for name, (value, _) in fields.items():
        schema = {key: member for key, member in value.items() if key not in _NO_SCHEMA or key == "description"}
        if schema.get("type") == "file":
            schema = {**schema, "type": "string", "format": "binary"}
        properties[name] = schema
        if value.get("type") == "array":
            style, explode = _COLLECTIONS.get(read_text(value, "collectionFormat") or "csv", ("form", False))
            encoding[name] = {"style": style, "explode": explode}
    required = [name for name, (value, _) in fields.items() if value.get("required") is True]
    path = next(iter(fields.values()))[1]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return Body(bool(required), "", (Media(media_type, schema, encoding, (), False, path),), path)


def _read_types(document: OpenApi, heading: Heading, key: str) -> tuple[str, ...]:
    """Returns `consumes` or `produces`: of the operation, else of the document."""
    said = heading.value.get(key, document.root.get(key))
    return tuple(each for each in said if isinstance(each, str)) if isinstance(said, list) else ()


def read_answers(document: OpenApi, heading: Heading) -> tuple[OperationResponse, ...]:
    """Reads the responses, in the order of the document."""
    written = heading.value.get("responses")
    path: Path = (*heading.path, "responses")
    if not isinstance(written, dict):
        if written is not None:
            document.report(SYNTAX, path, f"`responses` must be an object, not {type_name(written)}")
        return ()
    found = []
    for status, each in written.items():
        word = str(status).strip()
        if word.startswith("x-"):
            continue
        mark = (word, _identify(each))
        # A response of 2.0 depends on its operation (`produces`), so only those of 3.x are shared.
        known = document.answers.get(mark) if document.version != "2.0" else None
        if known is not None:
            found.append(known)
            continue
        try:
            value, at = document.resolve(each, (*path, status), "a response")
        except Broken as problem:
            document.add_finding(problem.finding)
            continue
        headers = tuple(str(name).lower() for name in read_object(value, "headers"))
        description = read_text(value, "description") or read_text(value, "summary")
        if document.version == "2.0":
            media = _read_old_media(document, heading, value, at)
        else:
            media = _read_content(document, value, at)
        document.answers[mark] = read = OperationResponse(word, description, media, headers, at)
        found.append(read)
    return tuple(found)


def _read_old_media(document: OpenApi, heading: Heading, value: JsonObject, path: Path) -> tuple[Media, ...]:
    schema = value.get("schema")
    if schema is None:
        return ()
    if isinstance(schema, dict) and schema.get("type") == "file":
        schema = {**schema, "type": "string", "format": "binary"}
    produces = _read_types(document, heading, "produces") or ("application/json",)
    examples = read_object(value, "examples")
    return tuple(
        Media(each, schema, {}, (examples[each],) if each in examples else (), False, path) for each in produces
    )


def _read_examples(document: OpenApi, value: JsonObject, path: Path) -> tuple[object, ...]:
    """Returns the examples written beside a schema."""
    found = [value["example"]] if "example" in value else []
    written = value.get("examples")
    if isinstance(written, dict):
        for name, each in list(written.items())[:_MOST_EXAMPLES]:
            try:
                example, _ = document.resolve(each, (*path, "examples", name), "an example")
            except Broken:  # a broken example does not affect the tool
                continue
            for key in ("value", "dataValue", "serializedValue"):
                if key in example:
                    found.append(example[key])
                    break
    return tuple(found[:_MOST_EXAMPLES])
