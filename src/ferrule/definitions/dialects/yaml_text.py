"""Writes JSON values as YAML that every version of YAML reads alike: each text in quotes, nothing folded, no anchors."""

from __future__ import annotations

import json
import re
from typing import Any

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_LONGEST_KEY = 160
"""YAML takes keys of up to 1,024 characters on the line of their value; escapes make six of one."""
_UNSEEN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def yaml_text(value: dict[str, Any]) -> str:
    """A mapping as the lines of a YAML document."""
    lines: list[str] = []
    _mapping(value, "", lines)
    return "\n".join(lines) + "\n"


def _mapping(value: dict[str, Any], indent: str, lines: list[str], first: str | None = None) -> None:
    """The members, one below the other. `first`: what stands before the first of them."""
    for key, member in value.items():
        start = indent if first is None else first
        first = None
        if len(key) > _LONGEST_KEY:
            lines.append(f"{start}? {_quoted(key)}")
            _member(f"{indent}:", member, indent, lines)
        else:
            _member(f"{start}{_key(key)}:", member, indent, lines)


def _member(start: str, member: Any, indent: str, lines: list[str]) -> None:
    if isinstance(member, dict) and member:
        lines.append(start)
        _mapping(member, f"{indent}  ", lines)
    elif isinstance(member, list) and member:
        lines.append(start)
        _items(member, f"{indent}  ", lines)
    else:
        lines.append(f"{start} {_scalar(member)}")


def _items(value: list[Any], indent: str, lines: list[str], first: str | None = None) -> None:
    for item in value:
        start = indent if first is None else first
        first = None
        if isinstance(item, dict) and item:
            _mapping(item, f"{indent}  ", lines, f"{start}- ")
        elif isinstance(item, list) and item:
            _items(item, f"{indent}  ", lines, f"{start}- ")
        else:
            lines.append(f"{start}- {_scalar(item)}")


def _key(key: str) -> str:
    if _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS:
        return key
    return _quoted(key)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    return json.dumps(value)


def _quoted(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return written if _UNSEEN.search(written) is None else _UNSEEN.sub(_escaped, written)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
