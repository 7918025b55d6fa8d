"""JSON values as YAML that looks like JSON, and that every reader of YAML takes for the same values.

YAML is no superset of JSON where it matters here: it has no escapes of half characters, ends lines and forbids characters where
JSON does not, wants a point in numbers with an exponent, and takes long keys only if they are announced.
"""

from __future__ import annotations

import json
import re
from typing import Any

_STEP = "  "
_LONGEST_KEY = 100
"""YAML takes up to 1,024 characters, and an escape makes ten of one."""
_ESCAPED = re.compile("[^\\x20-\\x7e]")


def yaml_text(value: Any) -> str:
    """A value as a document, without a line end."""
    return _written(value, "")


def _written(value: Any, indent: str) -> str:
    inner = indent + _STEP
    if isinstance(value, dict) and value:
        members = (f"{inner}{_key(key, inner)}: {_written(member, inner)}" for key, member in value.items())
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{inner}{_written(item, inner)}" for item in value) + f"\n{indent}]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    return json.dumps(value)


def _key(key: str, indent: str) -> str:
    return _quoted(key) if len(key) <= _LONGEST_KEY else f"? {_quoted(key)}\n{indent}"


def _quoted(text: str) -> str:
    """A text on one line. Escapes of YAML are those of JSON, and one more for characters that JSON writes in halves."""
    return _ESCAPED.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    one = found[0]
    if one.isprintable():
        return one
    code = ord(one)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
