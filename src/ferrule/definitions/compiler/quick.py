"""Reads the plain block-style YAML most definitions are written in, fast, and declines anything it is not sure of.

It reads line by line, and definitions share most of their lines, so a line seen before costs a dictionary look-up.
`compose.py` reads the same text to the same value (property tests compare the two), and everything this reader
declines. It knows no places: `compose.py` works those out for the few files that need them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ferrule.definitions.compiler.scalars import UnusableNumber, parse_plain
from ferrule.model.value import JsonObject, JsonValue

_ENTRY, _FLOW, _OPEN, _BLOCK = range(4)
_MAX_LINES = 50_000
_MAX_DEPTH = 60
_KEY = re.compile(r"""([A-Za-z0-9_$][A-Za-z0-9_$./@-]*|"[^"\\]*"|'[^']*'):(?: +|$)""")
_QUOTED = re.compile(r"""(?:"([^"\\]*)"|'([^']*)')(?: *$| +#)""")
_BLOCK_HEADER = re.compile(r"([|>])(-?) *$")
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_FLOW_TOKEN = re.compile(
    r""" *(?:"([^"\\]*)"|'([^']*)'|([^\s,\[\]{}:"'#&*!|>%@`?-][^,\[\]{}:#"'\n]*)|([\[\]{},]|: )) *"""
)


class _Line(NamedTuple):
    """One line, parsed on its own."""

    kind: int
    indent: int
    """Column of the key or value, or of the dash of a list item."""
    is_item: int
    """For a list item the column of what follows the dash, else 0."""
    key: str | None
    value: Any


_KNOWN: dict[str, _Line | None] = {}
"""Lines seen before. Documents share most of theirs."""
_MOST_KNOWN = 50_000
_NEW: Any = object()


class _Decline(Exception):
    """The text is not plain enough for this reader."""


def quick_load(text: str) -> JsonObject | None:
    """Returns the mapping a text holds, or None to decline."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text.startswith("---\n"):
        text = text[4:]
    # A block text at the very end would have no line break after it.
    if not text.endswith("\n"):
        return None
    lines = text.split("\n")
    if not "".join(lines).isprintable() and _odd_character_pattern().search(text):  # the first test is the quick one
        return None
    if len(lines) > _MAX_LINES:
        return None
    try:
        return _build(lines)
    except (_Decline, UnusableNumber, IndexError):  # IndexError: a line to the left of everything open
        return None


@cache
def _odd_character_pattern() -> re.Pattern[str]:
    """Returns the pattern of characters that YAML refuses, or counts as line breaks although editors do not. Made on
    first use: it is large."""
    return re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def _build(lines: list[str]) -> JsonObject:
    """Builds the mapping from the lines. `top` is the innermost open container, at column `column`; the stack holds
    those around it."""
    root: JsonObject = {}
    top: Any = root
    column = 0
    in_list = False
    stack: list[tuple[int, Any, bool]] = []
    open_key: str | None = None  # a key of `top` whose value begins on a later line
    numbers = iter(range(len(lines)))
    known = _KNOWN
    for number in numbers:
        text = lines[number]
        line = known.get(text, _NEW)
        if line is _NEW:
            line = _remember_line(text)
        if line is None:
            continue
        kind, indent, is_item, key, value = line
        if open_key is not None:
            if indent > column or (is_item and indent == column):
                stack.append((column, top, in_list))
                if len(stack) > _MAX_DEPTH:
                    raise _Decline
                child: Any = [] if is_item else {}
                top[open_key] = child
                top, column, in_list = child, indent, bool(is_item)
            open_key = None
        while column > indent:
            column, top, in_list = stack.pop()
        if column != indent:
            raise _Decline
        if is_item:
            if not in_list:
                raise _Decline
            if key is None:
                if kind == _BLOCK:
                    value, past = _read_block(lines, number + 1, indent, value)
                    _skip(numbers, past - number - 1)
                top.append(_copy(value) if kind == _FLOW else value)
                continue
            stack.append((column, top, True))
            member: JsonObject = {}
            top.append(member)
            top, column, in_list = member, is_item, False  # for an item, is_item is the column of its key
        elif in_list:  # a list may stand at the column of the key that owns it; here it ends
            column, top, in_list = stack.pop()
            if column != indent or in_list:
                raise _Decline
        # The composer reports what is written twice.
        if key in top:
            raise _Decline
        if kind == _ENTRY:
            top[key] = value
        elif kind == _OPEN:
            # Null, unless a later line begins its value.
            top[key] = None
            open_key = key
        elif kind == _FLOW:
            top[key] = _copy(value)
        else:
            top[key], past = _read_block(lines, number + 1, column, value)
            _skip(numbers, past - number - 1)
    if not root:
        raise _Decline
    return root


def _skip(numbers: Iterator[int], count: int) -> None:
    for _ in range(count):
        next(numbers)


def _remember_line(line: str) -> _Line | None:
    """Parses the line and remembers it; None for a blank line or a comment. Raises _Decline."""
    if len(_KNOWN) >= _MOST_KNOWN:
        # In place: `_build` holds the same table.
        _KNOWN.clear()
    parsed = _KNOWN[line] = _parse_line(line)
    return parsed


def _parse_line(line: str) -> _Line | None:
    content = line.lstrip(" ")
    if not content or content[0] == "#":
        return None
    indent = inner = len(line) - len(content)
    is_item = content.startswith("- ")
    if is_item:
        rest = content[1:].lstrip(" ")
        inner = indent + len(content) - len(rest)
        content = rest
        if not content or content[0] == "#":
            raise _Decline
    if len(content) > 1000:
        raise _Decline
    key = None
    match = _KEY.match(content)
    if match:
        key = match[1]
        content = content[match.end() :]
        if key[0] in "\"'":
            key = key[1:-1]
    elif not is_item:
        raise _Decline
    kind, value = _parse_value(content)
    if kind == _OPEN and key is None:
        raise _Decline
    return _Line(kind, indent, inner if is_item else 0, key, value)


def _parse_value(content: str) -> tuple[int, Any]:
    content = content.rstrip(" ")
    if not content or content[0] == "#":
        return _OPEN, None
    first = content[0]
    if first in "\"'":
        match = _QUOTED.match(content)
        if not match:
            raise _Decline
        return _ENTRY, match[1] if match[1] is not None else match[2]
    if first in "[{":
        return _FLOW, _parse_flow(content)
    if first in "|>":
        match = _BLOCK_HEADER.match(content)
        if not match:
            raise _Decline
        return _BLOCK, (match[1], match[2])
    if first in _INDICATORS and not (first == "-" and content[1:2] not in ("", " ", "-")):
        raise _Decline
    comment = content.find(" #")
    if comment >= 0:
        content = content[:comment].rstrip(" ")
    if ": " in content or content.endswith(":"):
        raise _Decline
    return _ENTRY, parse_plain(content)


def _parse_flow(content: str) -> JsonValue:
    value, end = _parse_flow_node(content, 0, 0)
    if end != len(content):
        raise _Decline
    return value


def _parse_flow_node(text: str, at: int, depth: int) -> tuple[JsonValue, int]:
    match = _FLOW_TOKEN.match(text, at)
    if match is None or depth > 8:
        raise _Decline
    if match.lastindex != 4:
        return _parse_flow_scalar(match), match.end()
    if match[4] == "[":
        return _parse_flow_list(text, match.end(), depth)
    if match[4] == "{":
        return _parse_flow_mapping(text, match.end(), depth)
    raise _Decline


def _parse_flow_scalar(match: re.Match[str]) -> JsonValue:
    if match.lastindex == 1:
        return match[1]
    if match.lastindex == 2:
        return match[2]
    return parse_plain(match[3].rstrip(" "))


def _parse_flow_list(text: str, at: int, depth: int) -> tuple[list[JsonValue], int]:
    items: list[Any] = []
    if text[at : at + 1] == "]":
        return items, _skip_spaces(text, at + 1)
    while True:
        item, at = _parse_flow_node(text, at, depth + 1)
        items.append(item)
        mark = text[at : at + 1]
        if mark == "]":
            return items, _skip_spaces(text, at + 1)
        if mark != ",":
            raise _Decline
        at += 1


def _parse_flow_mapping(text: str, at: int, depth: int) -> tuple[JsonObject, int]:
    members: JsonObject = {}
    if text[at : at + 1] == "}":
        return members, _skip_spaces(text, at + 1)
    while True:
        match = _FLOW_TOKEN.match(text, at)
        if match is None or match.lastindex == 4 or not text.startswith(": ", match.end()):
            raise _Decline
        key = match[3].rstrip(" ") if match.lastindex == 3 else match[match.lastindex or 0]
        if key in members or key == "<<":
            raise _Decline
        members[key], at = _parse_flow_node(text, match.end() + 2, depth + 1)
        mark = text[at : at + 1]
        if mark == "}":
            return members, _skip_spaces(text, at + 1)
        if mark != ",":
            raise _Decline
        at += 1


def _skip_spaces(text: str, at: int) -> int:
    while text[at : at + 1] == " ":
        at += 1
    return at


def _copy(value: Any) -> JsonValue:
    """Copies a value: lines are shared between documents, their lists and mappings must not be."""
    if type(value) is list:
        return [_copy(item) if type(item) in (list, dict) else item for item in value]
    return {key: _copy(item) if type(item) in (list, dict) else item for key, item in value.items()}


def _read_block(lines: list[str], number: int, indent: int, header: tuple[str, str]) -> tuple[str, int]:
    """Returns a literal or folded scalar whose key is at column `indent`, and the number of the line after it."""
    first = lines[number] if number < len(lines) else ""
    content_indent = len(first) - len(first.lstrip(" "))
    if content_indent <= indent or len(first) == content_indent:
        raise _Decline
    margin = " " * content_indent
    taken: list[str] = []
    count = len(lines)
    while number < count:
        line = lines[number]
        if line.startswith(margin):
            text = line[content_indent:]
            if not text or text[0] == " ":
                raise _Decline
            taken.append(text)
        elif line.strip(" "):
            if len(line) - len(line.lstrip(" ")) > indent:
                raise _Decline
            break
        elif line and len(line) > content_indent:
            raise _Decline
        else:
            taken.append("")
        number += 1
    while taken and not taken[-1]:
        taken.pop()
    style, chomp = header
    text = "\n".join(taken) if style == "|" else _fold(taken)
    return text if chomp else text + "\n", number


def _fold(lines: list[str]) -> str:
    if "" not in lines:
        return " ".join(lines)
    text = ""
    breaks = -1  # breaks since the last text; one break alone becomes a space
    for line in lines:
        breaks += 1
        if line:
            text += ("\n" * (breaks - 1) or " ") + line if text else line
            breaks = 0
    return text
