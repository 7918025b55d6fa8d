"""The body of an answer as JSON can hold it: text where it is text, else base64."""

from __future__ import annotations

import base64
import codecs
import re
from typing import Any

_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_HALVES = re.compile("[\ud800-\udfff]")
"""Half characters, which JSON in UTF-8 cannot hold."""
_TEXT_CODECS = re.compile(
    r"utf-?(8|16|32).*|ascii|latin.?1|iso8859-\d+|cp\d+|koi8-[rut]|mac-\w+|shift_jis\w*|euc_\w+|iso2022_\w+|big5\w*|gb\w+|hz|johab|tis-620"
)


def as_text(data: bytes, content_type: str, *, is_cut: bool) -> dict[str, Any]:
    """`body`, and `body_encoding: base64` when it is no text. `is_cut`: the last character may be half."""
    text = None if b"\0" in data and not _is_wide(content_type) else _decoded(data, content_type, is_cut=is_cut)
    if text is None:
        return {"body": base64.b64encode(data).decode(), "body_encoding": "base64"}
    return {"body": text}


def _decoded(data: bytes, content_type: str, *, is_cut: bool) -> str | None:
    try:
        text = codecs.getincrementaldecoder(_codec(content_type))("strict").decode(data, not is_cut)
    except (UnicodeError, LookupError):
        return None
    return None if "\0" in text or _HALVES.search(text) else text


def _codec(content_type: str) -> str:
    """The codec that was named, if it is one for text; else UTF-8."""
    named = _CHARSET.search(content_type)
    if named is not None:
        try:
            name = codecs.lookup(named[1]).name
        except LookupError:
            return "utf-8"
        if _TEXT_CODECS.fullmatch(name):
            return name
    return "utf-8"


def _is_wide(content_type: str) -> bool:
    return _codec(content_type).startswith(("utf-16", "utf-32"))
