"""Writers of request bodies: JSON, forms, multipart, text and bytes. Each returns the media type and the bytes."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.rest.attachments import File
from ferrule.runtime.executors.rest.settings import PlacedStyle
from ferrule.runtime.executors.rest.values import (
    encode_text,
    json_text,
    pairs_of,
    quote_form,
    quote_form_reserved,
    text_of,
    unsendable,
)

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
TEXT = "text/plain; charset=utf-8"


_ONE_PART = frozenset({"json", "json-text"})
"""Styles in which a list is a single part of a multipart body."""


def is_json(media_type: str) -> bool:
    """Returns True for `application/json` and types that end with `+json`."""
    bare = media_type.partition(";")[0].strip().lower()
    return bare == JSON or bare.endswith("+json")


class BodyField(NamedTuple):
    """One argument to be written into a body."""

    argument: str
    key: str
    """Its name in the body."""
    value: Any
    style: PlacedStyle = "repeat"
    steps: tuple[str, ...] = ()
    """Its path in a JSON body; empty: under its key."""
    content_type: str = ""
    """The media type of its multipart part; empty: by its value."""
    is_reserved: bool = False
    """True when reserved characters stay unencoded in a form."""


class RequestBody(NamedTuple):
    """A written body."""

    media_type: str
    data: bytes


NO_BODY = RequestBody("", b"")


def json_body(fields: Iterable[BodyField]) -> RequestBody:
    """Writes fields as a JSON object. Raises ExecutionFailed."""
    made: JsonObject = {}
    for field in fields:
        if field.steps:
            _put(made, field)
        else:
            made[field.key] = field.value
    return RequestBody(JSON, json_bytes(made))


def json_bytes(value: object) -> bytes:
    """Encodes a JSON value. Raises ExecutionFailed."""
    try:
        return json_text(value)
    except UnicodeEncodeError:
        message = "an argument has half a character, which nobody can be sent"
        raise ExecutionFailed("invalid_arguments", message, code="unsendable_argument") from None


def _put(made: JsonObject, field: BodyField) -> None:
    *steps, last = field.steps
    inner = made
    for step in steps:
        found = inner.setdefault(step, {})
        if not isinstance(found, dict):
            raise unsendable(field.argument, "has no place in the body: something else stands where it should go")
        inner = found
    inner[last] = field.value


def form_body(fields: Iterable[BodyField]) -> RequestBody:
    """Writes fields as HTML forms are posted. Raises ExecutionFailed."""
    pairs = [
        pair
        for field in fields
        for pair in pairs_of(
            encode_text(field.argument, field.key, quote_form),
            field.argument,
            field.value,
            field.style,
            quote_form_reserved if field.is_reserved else quote_form,
        )
    ]
    return RequestBody(FORM, "&".join(pairs).encode())


def multipart_body(fields: Iterable[BodyField], files: Mapping[str, Sequence[File]]) -> RequestBody:
    """Writes `multipart/form-data`; `files` are by the names of their fields. Raises ExecutionFailed."""
    parts: list[bytes] = []
    for field in fields:
        values = field.value if isinstance(field.value, list) and field.style not in _ONE_PART else [field.value]
        parts += [_part(field, value) for value in values if value is not None]
    parts += [_file_part(key, file) for key, several in files.items() for file in several]
    while any((boundary := secrets.token_hex(16)).encode() in part for part in parts):
        continue
    line = f"--{boundary}".encode()
    data = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    return RequestBody(f"multipart/form-data; boundary={boundary}", data)


def text_body(field: BodyField) -> RequestBody:
    """Writes one argument as text. Raises ExecutionFailed."""
    try:
        return RequestBody(TEXT, text_of(field.argument, field.value).encode())
    except UnicodeEncodeError:
        raise unsendable(field.argument, "has half a character, which nobody can be sent") from None


def _part(field: BodyField, value: object) -> bytes:
    head = f'Content-Disposition: form-data; name="{_escape_name(field.key)}"\r\n'
    kind = field.content_type
    if is_json(kind) or (not kind and isinstance(value, dict | list)):
        return _utf8(field.argument, head + f"Content-Type: {kind or JSON}\r\n\r\n") + json_bytes(value)
    head += f"Content-Type: {kind}\r\n" if kind else ""
    return _utf8(field.argument, f"{head}\r\n{text_of(field.argument, value)}")


def _file_part(key: str, file: File) -> bytes:
    disposition = f'form-data; name="{_escape_name(key)}"; filename="{_escape_name(file.file_name)}"'
    return _utf8(key, f"Content-Disposition: {disposition}\r\nContent-Type: {file.media_type}\r\n\r\n") + file.data


def _escape_name(text: str) -> str:
    """Escapes a quoted name as browsers do."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A").replace("\0", "%00")


def _utf8(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise unsendable(name, "has half a character, which nobody can be sent") from None
