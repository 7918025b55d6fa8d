"""Spellings of a secret: as it is, escaped, percent-encoded, in base64 or hex, alone or inside more text.

The base64 of a secret depends on its offset among the bytes around it, in three ways; each leaves a middle part that
is always the same, so that a secret inside an encoded document is found without decoding anything.
"""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, quote_plus

import msgspec

MIN_CHARS = 4
"""Shorter secrets count only where they stand alone, and in no encoding: a "7" in "1789" gives nothing away."""
MIN_BASE64_CHARS = 6
"""Base64 with fewer fixed characters counts only as a whole word, since it occurs by chance."""
MAX_PIECE_CHARS = 1024
"""A longer secret is searched in pieces of this size, so that one long file does not take all memory."""
_LINE = 32
_URI_COMPONENT = "!'()*~"
_URI = ";/?:@&=+$,#!'()*~"
_PERCENT = re.compile("%[0-9A-F]{2}")
_ESCAPE = re.compile(r"\\u[0-9a-f]{4}")
_SIMPLE = re.compile(r"[A-Za-z0-9_.-]+")
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/=_-]+")
_DOUBLED = re.compile(r"[\\\"']")
"""The characters that get one more backslash at each level of JSON, and of Python's `repr`."""

IGNORED_BYTES = b" \t\r\n\\|>"
"""Ignored inside base64, hex and escapes:

lines are wrapped, indented and quoted, and each JSON inside JSON doubles the backslashes.
"""
_BREAKS = (b"\\n", b"\\r", b"\\t")
_MIN_DEEP_BYTES = 8
"""Escapes of more than two levels are searched only for secrets of at least this size."""


def blank_escapes(data: bytes) -> bytes:
    """Replaces escapes of blanks by blanks of the same length, so that positions stay valid."""
    for escape in _BREAKS if b"\\" in data else ():
        data = data.replace(escape, b"  ")
    return data


class SecretSpelling(NamedTuple):
    """One way to write a secret."""

    text: bytes
    is_word: bool = False
    """It counts only where no letter, digit or underscore touches it."""
    is_compact: bool = False
    """Base64, hex or escapes: line breaks, indents and backslashes inside are ignored, and missing in the text."""
    before: bool = False
    """The character before it holds bits of the secret too."""
    after: bool = False
    folds: bool = False
    """Case does not matter; the text is in lower case."""


def list_spellings(secret: str) -> tuple[SecretSpelling, ...]:
    """Lists every way to write a secret; none for an empty text, blanks, or our own mark."""
    bare = secret.strip()
    # A part of our own mark would be found in every text that was redacted before.
    if not bare or bare in "[REDACTED]":
        return ()
    found: dict[tuple[bytes, bool], SecretSpelling] = {}
    for piece in _iter_pieces(bare) if bare == secret else (*_iter_pieces(secret), *_iter_pieces(bare)):
        for spelling in _iter_spellings(piece):
            found.setdefault((spelling.text, spelling.is_compact), spelling)
    return tuple(found.values())


def _iter_pieces(secret: str) -> Iterator[str]:
    """Yields the secret, pieces of a long one, and the lines of a key, which are often shown one by one."""
    if len(secret) <= MAX_PIECE_CHARS:
        yield secret
    else:
        for start in range(0, len(secret), MAX_PIECE_CHARS):
            # The last piece overlaps the one before: a short rest would be found by chance.
            yield secret[min(start, len(secret) - MAX_PIECE_CHARS) :][:MAX_PIECE_CHARS]
    if "\n" in secret:
        for line in map(str.strip, secret.splitlines()):
            if len(line) >= _LINE and _BASE64_LINE.fullmatch(line) and not line.startswith("-----"):
                yield line


def _iter_spellings(secret: str) -> Iterator[SecretSpelling]:
    raw = secret.encode("utf-8", "surrogatepass")
    is_short = len(secret) < MIN_CHARS
    is_simple = _SIMPLE.fullmatch(secret) is not None  # nothing to escape: the quick path of most secrets
    yield SecretSpelling(raw, is_word=is_short)
    for text in () if is_simple else _iter_escaped(secret):
        written = text.encode("utf-8", "surrogatepass")
        yield SecretSpelling(written, is_word=is_short)
        if (
            _DOUBLED.search(text)
            and len(deep := blank_escapes(written).translate(None, IGNORED_BYTES)) >= _MIN_DEEP_BYTES
        ):
            yield SecretSpelling(deep, is_compact=True)
    if is_short:
        return
    little, big = (secret.encode(form, "surrogatepass") for form in ("utf-16-le", "utf-16-be"))
    yield SecretSpelling(little)
    yield SecretSpelling(big)
    escaped = () if is_simple else _iter_json(secret)
    for encoded in dict.fromkeys([raw, *(text.encode("utf-8", "surrogatepass") for text in escaped), little]):
        yield from _iter_base64(encoded)
    yield from _iter_hex(raw, big)


def _iter_escaped(secret: str) -> Iterator[str]:
    yield from _iter_json(secret)
    for once in (_json_utf8(secret), _json_ascii(secret)):
        yield _json_utf8(once)  # JSON inside a string of JSON
    yield _json_ascii(secret).replace("/", "\\/")
    yield _json_utf8(secret).replace("/", "\\/")
    upper = _ESCAPE.sub(lambda found: "\\u" + found[0][2:].upper(), _json_ascii(secret))
    yield upper
    for special in ("<>&", "<>&'=", "<>&'+`"):  # as Go, Gson and .NET write them
        yield _as_escapes(_json_utf8(secret), special)
        yield _as_escapes(upper.replace('\\"', "\\u0022"), special, upper=True)
    yield repr(secret)[1:-1]
    yield ascii(secret)[1:-1]
    yield repr(secret.encode("utf-8", "surrogatepass"))[2:-1]
    yield shlex.quote(secret).strip("'")
    yield secret.replace("'", "'\\''")
    quoted = html.escape(secret)
    yield from (html.escape(secret, quote=False), quoted)
    yield quoted.replace("&#x27;", "&#39;")
    yield quoted.replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    yield quoted.replace("&#x27;", "&apos;")
    yield from _iter_percent(secret)


def _iter_json(secret: str) -> Iterator[str]:
    yield _json_utf8(secret)
    yield _json_ascii(secret)


def _json_utf8(text: str) -> str:
    try:
        return msgspec.json.encode(text).decode()[1:-1]
    except UnicodeEncodeError:  # a lone surrogate, which JSON allows and UTF-8 does not
        return json.dumps(text, ensure_ascii=False)[1:-1]


def _json_ascii(text: str) -> str:
    return json.dumps(text)[1:-1]


def _as_escapes(text: str, characters: str, *, upper: bool = False) -> str:
    form = "\\u{:04X}" if upper else "\\u{:04x}"
    for character in characters:
        text = text.replace(character, form.format(ord(character)))
    return text


def _iter_percent(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    forms = [quote(raw, safe=safe) for safe in ("", "/", _URI_COMPONENT, _URI)]
    forms.append(quote_plus(raw))
    for form in dict.fromkeys(forms):
        yield form
        yield _PERCENT.sub(lambda found: found[0].lower(), form)
    yield quote(forms[0], safe="")  # an address inside an address


def _iter_base64(plain: bytes) -> Iterator[SecretSpelling]:
    """Yields the characters that are the same whatever surrounds them, for each of the three offsets."""
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + plain + bytes(3))
        # Six bits a character: from the first one that holds bits of the secret alone to the last.
        first, last = -(-8 * offset // 6), 8 * (offset + len(plain)) // 6
        if last - first >= MIN_BASE64_CHARS:
            ends = {"before": offset > 0, "after": (offset + len(plain)) % 3 > 0}
            for text in _list_alphabets(encoded[first:last]):
                yield SecretSpelling(text, is_compact=True, **ends)
    if len(plain) * 8 // 6 < MIN_BASE64_CHARS:
        for text in _list_alphabets(base64.b64encode(plain).rstrip(b"=")):
            yield SecretSpelling(text, is_word=True, is_compact=True)


def _list_alphabets(text: bytes) -> set[bytes]:
    return {text, text.translate(bytes.maketrans(b"+/", b"-_"))}


def _iter_hex(raw: bytes, wide: bytes) -> Iterator[SecretSpelling]:
    pairs = [raw[at : at + 1].hex() for at in range(len(raw))]
    units = [wide[at : at + 2].hex() for at in range(0, len(wide), 2)]
    for separator in ("", ":", "-"):
        yield _build_folded(separator.join(pairs), is_word=len(raw) <= MIN_CHARS)
    for mark in ("%", "x"):
        yield _build_folded("".join(mark + pair for pair in pairs))
    yield _build_folded(",".join("0x" + pair for pair in pairs))
    yield _build_folded("".join("u" + unit for unit in units))


def _build_folded(text: str, *, is_word: bool = False) -> SecretSpelling:
    return SecretSpelling(text.encode(), is_word=is_word, is_compact=True, folds=True)
