"""Files among the arguments: AML's attachment objects, whose bytes are `inline` or fetched by `ref` (AML-33).

Only what becomes a file of a request is opened here; in a JSON body an attachment stays an object and is only checked.
`plan.py` uses it; fetching is the executor's.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ferrule.model.value import JsonObject
from ferrule.runtime.executors.rest.values import unsendable

_MODES = ("inline", "ref")
_MEDIA_TYPE = re.compile(r"[!#$&^_.+A-Za-z0-9-]{1,127}/[!#$&^_.+A-Za-z0-9-]{1,127}(?:; ?[A-Za-z0-9-]+=[!-:<-~]{1,70})*")
_OCTETS = "application/octet-stream"

Fetch = Callable[[str, str, int], Awaitable[bytes]]
"""Fetches the bytes at an address, given the argument's name, the address and the size limit. Raises ExecutionFailed."""


class File(NamedTuple):
    """A file ready to be sent."""

    file_name: str
    media_type: str
    data: bytes


def is_attachment(schema: object) -> bool:
    """Returns True for an object schema whose `transfer` can only be inline or ref, and for an array of those."""
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "array":
        return is_attachment(schema.get("items"))
    properties = schema.get("properties")
    transfer = properties.get("transfer") if isinstance(properties, dict) else None
    if not isinstance(transfer, dict):
        return False
    words = [transfer["const"]] if "const" in transfer else transfer.get("enum")
    return isinstance(words, list) and bool(words) and all(word in _MODES for word in words)


def is_media_type(text: str) -> bool:
    """Returns True for `type/subtype`, with or without parameters."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def check_inline(name: str, value: object) -> None:
    """Checks the inline attachments of one argument. Raises ExecutionFailed (`invalid_arguments`) for invalid base64 or too
    many bytes."""
    for item in value if isinstance(value, list) else (value,):
        if isinstance(item, dict) and item.get("transfer") == "inline":
            _content(name, item)


async def files_of(name: str, value: object, fetch: Fetch, most: int) -> list[File]:
    """Opens the files of one argument: attachments, or plain base64. Raises ExecutionFailed."""
    return [await _file(name, item, fetch, most) for item in (value if isinstance(value, list) else [value])]


async def _file(name: str, item: object, fetch: Fetch, most: int) -> File:
    if isinstance(item, str):
        return File(name, _OCTETS, _decode_base64(name, item))
    if not isinstance(item, dict) or item.get("transfer") not in _MODES:
        raise unsendable(name, "must be an attachment with `transfer` inline or ref, or base64")
    media_type = item.get("mime_type") or _OCTETS
    if not isinstance(media_type, str) or not is_media_type(media_type):
        raise unsendable(name, "has a `mime_type` that is no media type")
    if item["transfer"] == "inline":
        data = _content(name, item)
    else:
        url = item.get("url")
        if not isinstance(url, str):
            raise unsendable(name, "has no `url`")
        data = await fetch(name, url, min(_limit(item), most))
    if len(data) > most:
        raise unsendable(name, f"is larger than the {most:,} bytes that are sent at most")
    return File(str(item.get("filename") or name), media_type, data)


def _content(name: str, item: JsonObject) -> bytes:
    content = item.get("content")
    if not isinstance(content, str):
        raise unsendable(name, "has no `content`")
    data = _decode_base64(name, content)
    if len(data) > _limit(item):
        raise unsendable(name, f"is larger than its `max_size_bytes` of {_limit(item):,}")
    return data


def _limit(item: JsonObject) -> int:
    """Returns the attachment's own size limit; its schema has bounded it."""
    limit = item.get("max_size_bytes")
    return int(limit) if isinstance(limit, int | float) and not isinstance(limit, bool) and limit >= 0 else 1024**2


def _decode_base64(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise unsendable(name, "holds no base64") from None
