"""A fast reader for the plain block-style YAML most definitions are written in. Declines whatever it is not sure of.

Lines are understood one by one, and definitions share most of their lines, so a line seen before costs a dictionary
look-up. What this reads, `compose.py` reads to the same value (property tests compare the two); what it declines,
`compose.py` reads. It knows no places: those are worked out by `compose.py` for the few files that need them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from ferrule.compiler.scalars import UnusableNumber, plain

_SKIP, _ENTRY, _FLOW, _OPEN, _BLOCK, _BAD = range(6)
_MAX_LINES = 50_000
_MAX_DEPTH = 60
_ODD_CHARACTER = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_KEY = re.compile(r"""([A-Za-z0-9_$][A-Za-z0-9_$./@-]*|"[^"\\]*"|'[^']*'):(?: +|$)""")
_QUOTED = re.compile(r"""(?:"([^"\\]*)"|'([^']*)')(?: *$| +#)""")
_BLOCK_HEADER = re.compile(r"([|>])(-?) *$")
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_FLOW_TOKEN = re.compile(
    r""" *(?:"([^"\\]*)"|'([^']*)'|([^\s,\[\]{}:"'#&*!|>%@`?-][^,\[\]{}:#"'\n]*)|([\[\]{},]|: )) *"""
)


class _Line(NamedTuple):
    """One line, understood on its own."""

    kind: int
    indent: int
    """Column of the key or value, or of the dash of a list item."""
    is_item: bool
    inner: int
    """Column of the key after a dash."""
    key: str | None
    value: Any


_NOTHING = _Line(_SKIP, 0, False, 0, None, None)
_DECLINED = _Line(_BAD, 0, False, 0, None, None)


class _Decline(Exception):
    """Not plain enough for this reader."""


def quick_load(text: str) -> dict[str, Any] | None:
    """The mapping a text holds, or None to decline."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text.startswith("---\n"):
        text = text[4:]
    if not text.endswith("\n"):
        return None
    lines = text.split("\n")
    if not "".join(lines).isprintable() and _ODD_CHARACTER.search(text):  # the first test is the quick one
        return None
    if len(lines) > _MAX_LINES:
        return None
    try:
        return _build(lines)
    except _Decline:
        return None


def _build(lines: list[str]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    stack: list[tuple[int, Any]] = [(0, root)]
    open_key: str | None = None  # a key whose value begins on a later line, in open_parent at column open_indent
    open_parent: dict[str, Any] = root
    open_indent = 0
    number = 0
    count = len(lines)
    while number < count:
        kind, indent, is_item, inner, key, value = _understand(lines[number])
        number += 1
        if kind == _SKIP:
            continue
        if kind == _BAD:
            raise _Decline
        if open_key is not None:
            if indent > open_indent or (is_item and indent == open_indent):
                child: Any = [] if is_item else {}
                open_parent[open_key] = child
                stack.append((indent, child))
                if len(stack) > _MAX_DEPTH:
                    raise _Decline
            open_key = None
        top_indent, top = stack[-1]
        while top_indent > indent:
            stack.pop()
            top_indent, top = stack[-1]
        if top_indent != indent:
            raise _Decline
        if is_item:
            if type(top) is not list:
                raise _Decline
            if key is None:
                if kind == _BLOCK:
                    value, number = _block(lines, number, indent, value)
                top.append(_fresh(value) if kind == _FLOW else value)
                continue
            member: dict[str, Any] = {}
            top.append(member)
            stack.append((inner, member))
            top, indent = member, inner
        elif type(top) is list:  # a list may stand at the column of the key that owns it; here it ends
            stack.pop()
            top_indent, top = stack[-1]
            if top_indent != indent or type(top) is list:
                raise _Decline
        if key in top:
            raise _Decline
        if kind == _ENTRY:
            top[key] = value
        elif kind == _OPEN:
            top[key] = None
            open_key, open_parent, open_indent = key, top, indent
        elif kind == _FLOW:
            top[key] = _fresh(value)
        else:
            top[key], number = _block(lines, number, indent, value)
    if not root:
        raise _Decline
    return root


@lru_cache(maxsize=32_768)
def _understand(line: str) -> _Line:
    content = line.lstrip(" ")
    if not content or content[0] == "#":
        return _NOTHING
    indent = inner = len(line) - len(content)
    is_item = content.startswith("- ")
    if is_item:
        rest = content[1:].lstrip(" ")
        inner = indent + len(content) - len(rest)
        content = rest
        if not content or content[0] == "#":
            return _DECLINED
    if len(content) > 1000:
        return _DECLINED
    key = None
    match = _KEY.match(content)
    if match:
        key = match[1]
        content = content[match.end() :]
        if key[0] in "\"'":
            key = key[1:-1]
    elif not is_item:
        return _DECLINED
    try:
        kind, value = _value(content)
    except (_Decline, UnusableNumber):
        return _DECLINED
    if kind == _OPEN and key is None:
        return _DECLINED
    return _Line(kind, indent, is_item, inner, key, value)


def _value(content: str) -> tuple[int, Any]:
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
        return _FLOW, _flow(content)
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
    return _ENTRY, plain(content)


def _flow(content: str) -> Any:
    value, end = _flow_node(content, 0, 0)
    if end != len(content):
        raise _Decline
    return value


def _flow_node(text: str, at: int, depth: int) -> tuple[Any, int]:
    match = _FLOW_TOKEN.match(text, at)
    if match is None or depth > 8:
        raise _Decline
    if match.lastindex != 4:
        return _flow_scalar(match), match.end()
    if match[4] == "[":
        return _flow_list(text, match.end(), depth)
    if match[4] == "{":
        return _flow_mapping(text, match.end(), depth)
    raise _Decline


def _flow_scalar(match: re.Match[str]) -> Any:
    if match.lastindex == 1:
        return match[1]
    if match.lastindex == 2:
        return match[2]
    return plain(match[3].rstrip(" "))


def _flow_list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    if text[at : at + 1] == "]":
        return items, _past(text, at + 1)
    while True:
        item, at = _flow_node(text, at, depth + 1)
        items.append(item)
        mark = text[at : at + 1]
        if mark == "]":
            return items, _past(text, at + 1)
        if mark != ",":
            raise _Decline
        at += 1


def _flow_mapping(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    if text[at : at + 1] == "}":
        return members, _past(text, at + 1)
    while True:
        match = _FLOW_TOKEN.match(text, at)
        if match is None or match.lastindex == 4 or not text.startswith(": ", match.end()):
            raise _Decline
        key = match[3].rstrip(" ") if match.lastindex == 3 else match[match.lastindex or 0]
        if key in members or key == "<<":
            raise _Decline
        members[key], at = _flow_node(text, match.end() + 2, depth + 1)
        mark = text[at : at + 1]
        if mark == "}":
            return members, _past(text, at + 1)
        if mark != ",":
            raise _Decline
        at += 1


def _past(text: str, at: int) -> int:
    while text[at : at + 1] == " ":
        at += 1
    return at


def _fresh(value: Any) -> Any:
    """A copy: lines are shared between documents, their lists and mappings must not be."""
    if type(value) is list:
        return [_fresh(item) if type(item) in (list, dict) else item for item in value]
    return {key: _fresh(item) if type(item) in (list, dict) else item for key, item in value.items()}


def _block(lines: list[str], number: int, indent: int, header: tuple[str, str]) -> tuple[str, int]:
    """A literal or folded scalar whose key stands at column `indent`, and the line after it."""
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
