"""JSON that nobody should send: texts made from a good one by a source of chance, the same for the same seed."""

from __future__ import annotations

import json
from random import Random
from typing import Any


class Verbatim:
    """A piece of JSON text that is written as it is, whether it is JSON or not."""

    def __init__(self, text: bytes) -> None:
        self.text = text


class Pairs:
    """An object that may say a name more than once."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self.pairs = pairs


_SCALARS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    1.5,
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    -(2**70),
    10**400,
    1e308,
    -1e-320,
    "",
    " ",
    "\x00",
    "\n",
    "💥",
    "é",
    "../../etc/passwd",
    "%2e%2e%2f",
    "__proto__",
    "constructor",
    "$ref",
    "' OR 1=1 --",
    "{{7*7}}",
    "${HOME}",
    "null",
    "2026-07-28",
    "tools/call",
    "add",
    "io.modelcontextprotocol/tasks",
    [],
    {},
    [[]],
    [None] * 100,
    {"": None},
    {"a": {"a": {"a": {}}}},
    "x" * 300,
    "🙂" * 200,
    "‮abc",
    "﻿add",
    "A\u0301",
)
_VERBATIM = (
    b"1e999",
    b"-1e999",
    b"-0",
    b"-0.0",
    b"1E+2",
    b"1e-999",
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"01",
    b"+1",
    b".5",
    b"1.",
    b"0x10",
    b"'a'",
    b"undefined",
    b'"\\ud800"',
    b'"\\udfff\\ud800"',
    b'"\\ud83d\\ude00"',
    b'"\\u0000"',
    b'"\\x41"',
    b'"\\',
    b'"\xff\xfe"',
    b'"\xed\xa0\x80"',
    b'"\xc0\xaf"',
    b'"a\x00b"',
    b'"a\nb"',
    b'"\x7f\x1b[31m"',
    b"1" * 5000,
    b"1." + b"0" * 5000,
    b"1e" + b"9" * 400,
    b"[" * 200 + b"]" * 200,
    b'{"a":' * 150 + b"1" + b"}" * 150,
    b"[" * 5000,
    b"[1,]",
    b"{,}",
    b"[1 2]",
    b'{"a" 1}',
    b"{1:2}",
    b"/*c*/1",
    b"tru",
    b"",
    b"[" + b"{}," * 2000 + b"{}]",
)
_NAMES = (
    "name",
    "arguments",
    "_meta",
    "id",
    "method",
    "params",
    "jsonrpc",
    "cursor",
    "uri",
    "taskId",
    "input",
    "tool",
    "",
    "tool_id",
    "request",
    "$schema",
    "context",
    "result",
    "error",
    "__class__",
    "inputResponses",
    "requestState",
)
_JUNK = (b"\xff", b"\x00", b"}", b"]", b'"', b",", b"{}", b"\xef\xbb\xbf", b"\\u", b"null", b" ", b"\r\n")


def hostile_value(chance: Random) -> Any:
    """Something that is likely to be wrong anywhere."""
    roll = chance.random()
    if roll < 0.6:
        return chance.choice(_SCALARS)
    if roll < 0.95:
        return Verbatim(chance.choice(_VERBATIM))
    return Verbatim(b'"' + b"y" * chance.choice((1000, 70_000, 300_000)) + b'"')


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything inside of a value, and of itself."""
    found = [path]
    if isinstance(value, dict):
        for name, member in value.items():
            found += places(member, (*path, name))
    elif isinstance(value, list):
        for index, member in enumerate(value[:8]):
            found += places(member, (*path, index))
    return found


def mutated(value: Any, chance: Random) -> Any:
    """A copy with one thing about it changed."""
    path = chance.choice(places(value))
    return _changed(value, path, chance)


def _changed(value: Any, path: tuple[Any, ...], chance: Random) -> Any:
    if path:
        step, *rest = path
        if isinstance(value, list):
            return [
                _changed(member, tuple(rest), chance) if index == step else member for index, member in enumerate(value)
            ]
        return {
            name: _changed(member, tuple(rest), chance) if name == step else member for name, member in value.items()
        }
    if not isinstance(value, dict) or not value or chance.random() < 0.5:
        return hostile_value(chance)
    pairs = list(value.items())
    at = chance.randrange(len(pairs))
    match chance.randrange(4):
        case 0:
            del pairs[at]
        case 1:
            pairs[at] = (
                chance.choice((*_NAMES, chance.choice(_SCALARS[15:])) if chance.random() < 0.8 else ("x" * 5000,)),
                pairs[at][1],
            )
        case 2:
            pairs.insert(chance.randrange(len(pairs) + 1), (pairs[at][0], hostile_value(chance)))
        case _:
            pairs.insert(at, (chance.choice(_NAMES), hostile_value(chance)))
    names = [name for name, _ in pairs]
    return (
        Pairs(pairs)
        if len({str(name) for name in names}) != len(names)
        else {str(name): member for name, member in pairs}
    )


def written(value: Any) -> bytes:
    """As text."""
    match value:
        case Verbatim():
            return value.text
        case Pairs():
            return b"{" + b",".join(written(str(name)) + b":" + written(member) for name, member in value.pairs) + b"}"
        case dict():
            return written(Pairs(list(value.items())))
        case list():
            return b"[" + b",".join(map(written, value)) + b"]"
        case int() if not isinstance(value, bool) and abs(value) > 10**300:
            return b"-" * (value < 0) + b"9" * 401
        case _:
            return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def spoiled(text: bytes, chance: Random) -> bytes:
    """Text with its bytes changed somewhere."""
    at = chance.randrange(len(text) + 1)
    match chance.randrange(8):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + chance.choice(_JUNK) + text[at:]
        case 2:
            return text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
        case 3:
            return b"\xef\xbb\xbf" + text
        case 4:
            return text + chance.choice(_JUNK)
        case 5:
            return text.decode("utf-8", "replace").encode(chance.choice(("utf-16", "utf-16-le", "utf-32")))
        case 6:
            return chance.choice((b" ", b"\n", b"\t")) * chance.choice((1, 100, 20_000)) + text
        case _:
            return b"[" + b",".join([text] * (chance.choice((1, 2, 40)) if len(text) < 50_000 else 1)) + b"]"


def hostile_text(value: Any, chance: Random) -> bytes:
    """A text made from a good value: changed in one place or several, sometimes in its bytes."""
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        value = mutated(value, chance) if isinstance(value, dict | list) else value
    text = written(value)
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
        text = spoiled(text, chance)
    return text
