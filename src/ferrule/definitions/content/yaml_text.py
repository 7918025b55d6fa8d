"""Formats definitions as block-style YAML that people can edit and that `compiler/quick` can read.

It quotes every text that some version of YAML might take for something else, and writes no anchors and no folded texts.
Mappings that occur in many definitions (the schemas of a document's components) are formatted once per depth and cached.
Dialects, conversions and the import of OpenAPI use it.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from ferrule.model.value import JsonObject, JsonValue

_PLAIN = re.compile(r"[A-Za-z_/<][^\n:#\"'\\{}\[\]&*!|>%@`,\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff]*")
_PLAIN_BLOCK = re.compile(r"[A-Za-z_/][^\n:#\\\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff\ufffe\uffff]*")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", ""})
_SPECIAL = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_SPECIAL_OR_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LONGEST_LINE = 150
_LONG = 900
"""`compiler/quick` gives up on longer lines."""
_LONGEST_KEY = 160
"""YAML takes keys of up to 1,024 characters on the line of their value; escapes make six of one."""

Memo = dict[tuple[int, int], tuple[Any, str]]


def format_yaml(value: JsonObject) -> str:
    """Formats a mapping as a YAML document."""
    lines: list[str] = []
    append_mapping(value, 0, lines, {})
    return "\n".join(lines) + "\n"


def join_front_matter(lines: list[str], body: str) -> str:
    """Joins front matter and body to a Markdown file."""
    text = (body if body.isascii() else _SURROGATE.sub("�", body)).strip()
    return "---\n" + "\n".join(lines) + "\n---\n" + (f"\n{text}\n" if text else "")


def append_mapping(node: JsonObject, depth: int, out: list[str], memo: Memo) -> None:
    """Appends the lines of a mapping at a depth. `memo` is shared by the files of one import."""
    for key, value in node.items():
        kind = value.__class__
        if kind is str:
            out.append(_format_pair(depth, key, value))
        elif kind is dict:
            if value:
                out.append(_format_key(depth, key))
                if "type" in value or "meaning" in value:
                    append_cached_mapping(value, depth + 1, out, memo)
                else:
                    append_mapping(value, depth + 1, out, memo)
            else:
                out.append(f"{_format_key(depth, key)} {{}}")
        elif kind is list or kind is tuple:
            _append_list(_format_key(depth, key), value, depth, out, memo)
        else:
            out.append(f"{_format_key(depth, key)} {_format_scalar(value)}")


@lru_cache(maxsize=32768)
def _format_pair(depth: int, key: str, value: str) -> str:
    return f"{_format_key(depth, key)} {format_text(value, depth)}"


@lru_cache(maxsize=16384)
def _format_key(depth: int, key: str) -> str:
    margin = "  " * depth
    return f"{margin}{_quote_key(key)}:" if len(key) <= _LONGEST_KEY else f"{margin}? {_quote(key)}\n{margin}:"


def append_cached_mapping(node: JsonObject, depth: int, out: list[str], memo: Memo) -> None:
    """Appends the lines of a mapping that other files may contain too."""
    mark = (id(node), depth)
    known = memo.get(mark)
    if known is None:
        lines: list[str] = []
        append_mapping(node, depth, lines, memo)
        known = memo[mark] = (node, "\n".join(lines))  # keeps the node alive: its id must not be reused
    out.append(known[1])


def _append_list(start: str, items: list[JsonValue], depth: int, out: list[str], memo: Memo) -> None:
    if not items:
        out.append(f"{start} []")
        return
    if not any(isinstance(item, dict | list) for item in items):
        flow = ", ".join([format_flow_item(item) for item in items])
        if len(flow) + len(start) <= _LONGEST_LINE and "\n" not in flow:
            out.append(f"{start} [{flow}]")
            return
    out.append(start)
    _append_items(items, depth, out, memo)


def _append_items(items: list[JsonValue], depth: int, out: list[str], memo: Memo) -> None:
    margin = "  " * (depth + 1)
    for item in items:
        if isinstance(item, dict | list | tuple):
            lines: list[str] = []
            if isinstance(item, dict):
                append_mapping(item, depth + 2, lines, memo)
            else:
                _append_items(list(item), depth + 1, lines, memo)
            empty = "{}" if isinstance(item, dict) else "[]"
            out.append(f"{margin}- {lines[0][len(margin) + 2 :] if lines else empty}")
            out += lines[1:]
        elif isinstance(item, str):
            out.append(f"{margin}- {format_text(item, depth + 1)}")
        else:
            out.append(f"{margin}- {_format_scalar(item)}")


def _format_scalar(value: object) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "e" not in text or "." in text else text.replace("e", ".0e")  # 1e+30 is a text to YAML 1.1
    return _quote(str(value))


@lru_cache(maxsize=16384)
def _quote_key(key: str) -> str:
    if _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS:
        return key
    return _quote(key)


def format_text(text: str, depth: int) -> str:
    """Formats a text as the value of a key at a depth."""
    if "\n" in text:
        return _format_block(text, depth)
    return format_line(text)


@lru_cache(maxsize=16384)
def format_line(text: str) -> str:
    """Formats a text on one line, quoted only where it must be."""
    if len(text) < _LONG and _PLAIN_BLOCK.fullmatch(text) and text[-1] != " " and text.lower() not in _WORDS:
        return text
    if _SPECIAL_OR_CONTROL.search(text) is None and len(text) < _LONG:
        if '"' not in text and "\\" not in text:
            return f'"{text}"'
        if "'" not in text:
            return f"'{text}'"
    return _quote(text)


def format_flow_item(item: object) -> str:
    """Formats an item of a list on one line."""
    return _format_flow_text(item) if isinstance(item, str) else _format_scalar(item)


@lru_cache(maxsize=16384)
def _format_flow_text(item: str) -> str:
    if _PLAIN.fullmatch(item) and item[-1] != " " and item.lower() not in _WORDS:
        return item
    return format_line(item) if format_line(item)[0] in "\"'" else _quote(item)


def _quote(text: str) -> str:
    """Formats a text in double quotes; YAML takes JSON's escapes, those of lone surrogates too."""
    return _SPECIAL.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def _format_block(text: str, depth: int) -> str:
    """Formats a text of several lines as a literal block; quoted when a literal block would change a line."""
    lines = text.split("\n")
    is_odd = _SPECIAL_OR_CONTROL.search(text) is not None
    if is_odd or lines[0][:1] in ("", " ") or not lines[-1] or any(line != "" and line.strip() == "" for line in lines):
        return _quote(text)
    margin = "  " * (depth + 1)
    return "|-\n" + "\n".join(f"{margin}{line}" if line else "" for line in lines)
