"""Two hundred made-up secrets, every way to write them, and a search that finds one in any of them.

A secret begins and ends with a marker. Whatever was written anywhere is looked through for the markers, as they are and in
every encoding: so half a secret is found too, and a search through megabytes costs a dozen passes.
"""

from __future__ import annotations

import base64
import html
import json
import random
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, quote_plus

Kind = Literal["env", "config", "signing", "sensitive", "hidden"]

_HEAD, _TAIL = "Kv9qZx7w", "Jt4mWb8k"
_FIRST, _LAST = "90418273", "55172604"
_SPICES = ("", '"', "/", "+/=", "&<>", "'", "é", "漢字", " ", "\\", "%2F", "🔑", "$(x)", "{}", "?&#", "~*!")
_LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


class Canary(NamedTuple):
    """One secret."""

    name: str
    value: str
    kind: Kind


def canaries(seed: int) -> list[Canary]:
    """Two hundred of them."""
    rng = random.Random(seed)
    counts: dict[Kind, int] = {"env": 90, "config": 50, "signing": 2, "sensitive": 28, "hidden": 30}
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    made = []
    for number, kind in enumerate(kinds):
        noise = "".join(rng.choices(_LETTERS, k=rng.randint(2, 24)))
        value = f"{_HEAD}{number:03}{_SPICES[number % len(_SPICES)]}{noise}{_TAIL}"
        if kind == "env" and number % 15 == 7:
            value = f"{_FIRST}{number:03}{_LAST}"
        made.append(Canary(f"{kind.upper()}_{number:03}", value, kind))
    return made


def _base64(before: str, *, urlsafe: bool = False) -> Callable[[str], str]:
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    return lambda secret: encode(f"{before}{secret} and more".encode()).decode()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda secret: secret,
    "JSON": lambda secret: json.dumps(secret)[1:-1],
    "JSON in UTF-8": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda secret: json.dumps(json.dumps({"token": secret})),
    "escapes": lambda secret: "".join(f"\\u{unit:04x}" for unit in _units(secret)),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64, second": _base64("u:"),
    "base64, third": _base64("user:"),
    "base64, fourth": _base64("a long document before it, then "),
    "base64 for addresses": _base64("us:", urlsafe=True),
    "base64 without padding": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode().rstrip("="),
    "base64 in lines": lambda secret: base64.encodebytes(f"{'x' * 40}{secret}{'y' * 90}".encode()).decode(),
    "percent": lambda secret: quote(secret, safe=""),
    "percent, form": quote_plus,
    "percent, path": quote,
    "percent, twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "percent, every byte": lambda secret: "".join(f"%{byte:02X}" for byte in secret.encode()),
    "hex": lambda secret: secret.encode().hex(),
    "HEX": lambda secret: secret.encode().hex().upper(),
    "hex with colons": lambda secret: secret.encode().hex(":"),
    "hex in escapes": lambda secret: "".join(f"\\x{byte:02x}" for byte in secret.encode()),
    "HTML": html.escape,
    "repr": lambda secret: repr({"token": secret}),
    "repr of bytes": lambda secret: repr(secret.encode()),
    "shell": shlex.quote,
}


def _units(secret: str) -> Iterator[int]:
    wide = secret.encode("utf-16-be")
    return (int.from_bytes(wide[at : at + 2], "big") for at in range(0, len(wide), 2))


class Spill:
    """Says secrets, another one in another spelling each time, until every pair was said."""

    def __init__(self, known: list[Canary], seed: int, each: int = 24) -> None:
        self._pairs = [(canary, spelling) for spelling in SPELLINGS for canary in known]
        random.Random(seed).shuffle(self._pairs)
        self._each = each
        self.said = 0

    @property
    def is_all_said(self) -> bool:
        """True when nothing is left that was never said."""
        return self.said >= len(self._pairs)

    def pieces(self, count: int) -> list[str]:
        """Some secrets, spelled."""
        found = [self._pairs[(self.said + step) % len(self._pairs)] for step in range(count)]
        self.said += count
        return [SPELLINGS[spelling](canary.value) for canary, spelling in found]

    def text(self) -> str:
        """A text with many in it."""
        return "".join(f"see {piece}, then " for piece in self.pieces(self._each))

    def short(self) -> str:
        """A text with one."""
        return f"it was {self.pieces(1)[0]} here"

    def value(self) -> dict[str, Any]:
        """A JSON value with some in its names, its texts and its numbers."""
        first, second, third, fourth, fifth = self.pieces(5)
        numbers = [int(_FIRST + f"{number:03}" + _LAST) for number in (7, 22)]
        return {
            "plain": first,
            "deep": [{"deeper": {"list": [second, 1, None, numbers[0]]}}],
            third: {"under": True, fourth: fifth},
            "count": numbers[1],
            "as text": str(numbers[0]),
        }

    def data(self, size: int = 0) -> bytes:
        """Bytes with many in them, perhaps padded to a size."""
        canary, _ = self._pairs[self.said % len(self._pairs)]
        return self.text().encode() + b"\0" + canary.value.encode("utf-16-le") + bytes(size)


def _needles() -> dict[bytes, str]:
    found: dict[bytes, str] = {}
    for marker in (_HEAD, _TAIL, _FIRST, _LAST):
        plain = marker.encode()
        wide = [marker.encode("utf-16-le"), marker.encode("utf-16-be")]
        found |= {plain: "as it is", wide[0]: "UTF-16", wide[1]: "UTF-16"}
        pairs = [f"{byte:02x}" for byte in plain]
        for joint in ("", ":", "-", " "):
            found[joint.join(pairs).encode()] = "hex"
        for lead in ("%", "%25", "x", "u00", ",0x"):
            found["".join(lead + pair for pair in pairs).lstrip(",").encode()] = f"{lead}…"
        for raw in (plain, wide[0]):
            for offset in range(3):
                text = base64.b64encode(bytes(offset) + raw + bytes(3))
                middle = text[-(-8 * offset // 6) : 8 * (offset + len(raw)) // 6]
                found[middle] = found[middle.translate(bytes.maketrans(b"+/", b"-_"))] = "base64"
    return found


_NEEDLES = _needles()
_FOLDED = tuple(
    (needle.lower(), how) for needle, how in _NEEDLES.items() if how not in ("as it is", "UTF-16", "base64")
)
_EXACT = tuple((needle, how) for needle, how in _NEEDLES.items() if how in ("as it is", "UTF-16", "base64"))
_BREAKS = re.compile(rb"\\+[nrt]")


def found_in(data: bytes | str) -> str | None:
    """Where a secret stands in what was written somewhere: how it is spelled, and what stands around it. None is good."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    joined = _BREAKS.sub(b"", data).translate(None, b" \t\r\n\\")  # what was wrapped into lines, or is JSON in JSON
    for text in (data, joined):
        for needle, how in _EXACT:
            if (at := text.find(needle)) >= 0:
                return f"{how}: {text[max(0, at - 300) : at + 80]!r}"
        lower = text.lower()
        for needle, how in _FOLDED:
            if (at := lower.find(needle)) >= 0:
                return f"{how}: {text[max(0, at - 300) : at + 80]!r}"
    return None
