"""Request bodies: JSON, forms, multipart, text and bytes. Each writer gives the media type and the bytes."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.executors.rest.attachments import File
from ferrule.runtime.executors.rest.settings import PlacedStyle
from ferrule.runtime.executors.rest.values import (
    encoded,
    json_text,
    pairs_of,
    quote_form,
    quote_form_reserved,
    refused,
    text_of,
)

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
TEXT = "text/plain; charset=utf-8"


_ONE_PART = frozenset({"json", "json-text"})
"""Styles in which a list is one part of a multipart body."""


def is_json(media_type: str) -> bool:
    """True for `application/json` and whatever ends with `+json`."""
    bare = media_type.partition(";")[0].strip().lower()
    return bare == JSON or bare.endswith("+json")


class Field(NamedTuple):
    """One argument on its way into a body."""

    argument: str
    key: str
    """What it is called there."""
    value: Any
    style: PlacedStyle = "repeat"
    steps: tuple[str, ...] = ()
    """Where it stands in a JSON body; empty: under its key."""
    content_type: str = ""
    """Of a part of a multipart body; empty: what the value is."""
    is_reserved: bool = False
    """True when a form has its reserved characters as they are."""


class Body(NamedTuple):
    """A written body."""

    media_type: str
    data: bytes


NO_BODY = Body("", b"")


def json_body(fields: Iterable[Field]) -> Body:
    """An object. Raises ExecutionFailed."""
    made: dict[str, Any] = {}
    for field in fields:
        if field.steps:
            _put(made, field)
        else:
            made[field.key] = field.value
    return Body(JSON, json_bytes(made))


def json_bytes(value: Any) -> bytes:
    """A JSON value, written. Raises ExecutionFailed."""
    try:
        return json_text(value)
    except UnicodeEncodeError:
        message = "an argument has half a character, which nobody can be sent"
        raise ExecutionFailed("invalid_arguments", message, code="unsendable_argument") from None


def _put(made: dict[str, Any], field: Field) -> None:
    *steps, last = field.steps
    inner = made
    for step in steps:
        found = inner.setdefault(step, {})
        if not isinstance(found, dict):
            raise refused(field.argument, "has no place in the body: something else stands where it should go")
        inner = found
    inner[last] = field.value


def form_body(fields: Iterable[Field]) -> Body:
    """As HTML forms are posted. Raises ExecutionFailed."""
    pairs = [
        pair
        for field in fields
        for pair in pairs_of(
            encoded(field.argument, field.key, quote_form),
            field.argument,
            field.value,
            field.style,
            quote_form_reserved if field.is_reserved else quote_form,
        )
    ]
    return Body(FORM, "&".join(pairs).encode())


def multipart_body(fields: Iterable[Field], files: Mapping[str, Sequence[File]]) -> Body:
    """`multipart/form-data`; `files` by the names of their fields. Raises ExecutionFailed."""
    parts: list[bytes] = []
    for field in fields:
        values = field.value if isinstance(field.value, list) and field.style not in _ONE_PART else [field.value]
        parts += [_part(field, value) for value in values if value is not None]
    parts += [_file_part(key, file) for key, several in files.items() for file in several]
    while any((boundary := secrets.token_hex(16)).encode() in part for part in parts):
        continue
    line = f"--{boundary}".encode()
    data = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    return Body(f"multipart/form-data; boundary={boundary}", data)


def text_body(field: Field) -> Body:
    """The text of one argument."""
    try:
        return Body(TEXT, text_of(field.argument, field.value).encode())
    except UnicodeEncodeError:
        raise refused(field.argument, "has half a character, which nobody can be sent") from None


def _part(field: Field, value: Any) -> bytes:
    head = f'Content-Disposition: form-data; name="{_quoted(field.key)}"\r\n'
    kind = field.content_type
    if is_json(kind) or (not kind and isinstance(value, dict | list)):
        return _utf8(field.argument, head + f"Content-Type: {kind or JSON}\r\n\r\n") + json_bytes(value)
    head += f"Content-Type: {kind}\r\n" if kind else ""
    return _utf8(field.argument, f"{head}\r\n{text_of(field.argument, value)}")


def _file_part(key: str, file: File) -> bytes:
    disposition = f'form-data; name="{_quoted(key)}"; filename="{_quoted(file.file_name)}"'
    return _utf8(key, f"Content-Disposition: {disposition}\r\nContent-Type: {file.media_type}\r\n\r\n") + file.data


def _quoted(text: str) -> str:
    """A name inside quotes, as browsers write it."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A").replace("\0", "%00")


def _utf8(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise refused(name, "has half a character, which nobody can be sent") from None
