"""Writes definitions, quickly: block-style YAML that people can edit and that our quick reader reads.

Every text is quoted that some version of YAML might take for something else; there are no anchors and nothing is folded.
Mappings that occur in many definitions (the schemas of a document's components) are written once for each depth and
remembered. Dialects, conversions and the import of OpenAPI stand above.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_/<][^\n:#\"'\\{}\[\]&*!|>%@`,\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff]*")
_PLAIN_BLOCK = re.compile(r"[A-Za-z_/][^\n:#\\\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff\ufffe\uffff]*")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", ""})
_ODD = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_ODD_OR_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_HALF = re.compile(r"[\ud800-\udfff]")
_LONGEST_LINE = 150
_LONG = 900
"""Longer texts on one line are not read quickly."""
_LONGEST_KEY = 160
"""YAML takes keys of up to 1,024 characters on the line of their value; escapes make six of one."""

Memo = dict[tuple[int, int], tuple[Any, str]]


def yaml_text(value: dict[str, Any]) -> str:
    """A mapping as the lines of a YAML document."""
    lines: list[str] = []
    mapping_lines(value, 0, lines, {})
    return "\n".join(lines) + "\n"


def whole(lines: list[str], body: str) -> str:
    """A Markdown file with front matter."""
    text = (body if body.isascii() else _HALF.sub("�", body)).strip()
    return "---\n" + "\n".join(lines) + "\n---\n" + (f"\n{text}\n" if text else "")


def mapping_lines(node: dict[str, Any], depth: int, out: list[str], memo: Memo) -> None:
    """The lines of a mapping that stands at a depth. `memo` is shared by the files of one import."""
    for key, value in node.items():
        kind = value.__class__
        if kind is str:
            out.append(_pair(depth, key, value))
        elif kind is dict:
            if value:
                out.append(_opener(depth, key))
                if "type" in value or "meaning" in value:
                    remembered(value, depth + 1, out, memo)
                else:
                    mapping_lines(value, depth + 1, out, memo)
            else:
                out.append(f"{_opener(depth, key)} {{}}")
        elif kind is list or kind is tuple:
            _list(_opener(depth, key), value, depth, out, memo)
        else:
            out.append(f"{_opener(depth, key)} {_scalar(value)}")


@lru_cache(maxsize=32768)
def _pair(depth: int, key: str, value: str) -> str:
    return f"{_opener(depth, key)} {text_of(value, depth)}"


@lru_cache(maxsize=16384)
def _opener(depth: int, key: str) -> str:
    margin = "  " * depth
    return f"{margin}{_key(key)}:" if len(key) <= _LONGEST_KEY else f"{margin}? {_quoted(key)}\n{margin}:"


def remembered(node: dict[str, Any], depth: int, out: list[str], memo: Memo) -> None:
    """The same for a mapping that other files may have too."""
    mark = (id(node), depth)
    known = memo.get(mark)
    if known is None:
        lines: list[str] = []
        mapping_lines(node, depth, lines, memo)
        known = memo[mark] = (node, "\n".join(lines))  # the node is kept, so that nothing else gets its id
    out.append(known[1])


def _list(start: str, items: list[Any], depth: int, out: list[str], memo: Memo) -> None:
    if not items:
        out.append(f"{start} []")
        return
    if not any(isinstance(item, dict | list) for item in items):
        flow = ", ".join([flow_of(item) for item in items])
        if len(flow) + len(start) <= _LONGEST_LINE and "\n" not in flow:
            out.append(f"{start} [{flow}]")
            return
    out.append(start)
    _items(items, depth, out, memo)


def _items(items: list[Any], depth: int, out: list[str], memo: Memo) -> None:
    margin = "  " * (depth + 1)
    for item in items:
        if isinstance(item, dict | list | tuple):
            lines: list[str] = []
            if isinstance(item, dict):
                mapping_lines(item, depth + 2, lines, memo)
            else:
                _items(list(item), depth + 1, lines, memo)
            empty = "{}" if isinstance(item, dict) else "[]"
            out.append(f"{margin}- {lines[0][len(margin) + 2 :] if lines else empty}")
            out += lines[1:]
        elif isinstance(item, str):
            out.append(f"{margin}- {text_of(item, depth + 1)}")
        else:
            out.append(f"{margin}- {_scalar(item)}")


def _scalar(value: Any) -> str:
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
    return _quoted(str(value))


@lru_cache(maxsize=16384)
def _key(key: str) -> str:
    if _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS:
        return key
    return _quoted(key)


def text_of(text: str, depth: int) -> str:
    """A text as the value of a key at a depth."""
    if "\n" in text:
        return _block(text, depth)
    return line_of(text)


@lru_cache(maxsize=16384)
def line_of(text: str) -> str:
    """A text on one line, quoted only where it must be."""
    if len(text) < _LONG and _PLAIN_BLOCK.fullmatch(text) and text[-1] != " " and text.lower() not in _WORDS:
        return text
    if _ODD_OR_CONTROL.search(text) is None and len(text) < _LONG:
        if '"' not in text and "\\" not in text:
            return f'"{text}"'
        if "'" not in text:
            return f"'{text}'"
    return _quoted(text)


def flow_of(item: Any) -> str:
    """A value within a list on one line."""
    return _flow_text(item) if isinstance(item, str) else _scalar(item)


@lru_cache(maxsize=16384)
def _flow_text(item: str) -> str:
    if _PLAIN.fullmatch(item) and item[-1] != " " and item.lower() not in _WORDS:
        return item
    return line_of(item) if line_of(item)[0] in "\"'" else _quoted(item)


def _quoted(text: str) -> str:
    """A text in double quotes; YAML's escapes are JSON's, those of half characters too."""
    return _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def _block(text: str, depth: int) -> str:
    """A text of several lines, as they are; quoted when a line would not stay as it is."""
    lines = text.split("\n")
    is_odd = _ODD_OR_CONTROL.search(text) is not None
    if is_odd or lines[0][:1] in ("", " ") or not lines[-1] or any(line != "" and line.strip() == "" for line in lines):
        return _quoted(text)
    margin = "  " * (depth + 1)
    return "|-\n" + "\n".join(f"{margin}{line}" if line else "" for line in lines)
