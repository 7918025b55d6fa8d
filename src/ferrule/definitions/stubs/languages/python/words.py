"""What readers of generated code are told about types and members."""

from __future__ import annotations

import json

from ferrule.definitions.stubs.languages.python.source_text import plain_lines
from ferrule.model.type_tree import Text, Type, Words
from ferrule.model.value import JsonValue

_LONGEST_VALUE = 200
_MOST_EXAMPLES = 3


def told(words: Words, made: Type | None = None) -> list[str]:
    """The lines about a type or a member."""
    lines = plain_lines(words.description)
    notes = _notes(words, made)
    return [*lines, *([""] if lines and notes else []), *notes]


def _notes(words: Words, made: Type | None) -> list[str]:
    notes = []
    if words.is_deprecated:
        notes.append("Deprecated.")
    if isinstance(made, Text) and made.format:
        notes.append(f"Format: {_one_line(made.format)}.")
    if words.limits:
        notes.append(f"Limits: {'; '.join(_one_line(limit) for limit in words.limits)}.")
    if words.has_default:
        notes.append(f"Default, which is not filled in: {_shown(words.default)}.")
    if words.examples:
        shown = ", ".join(_shown(each) for each in words.examples[:_MOST_EXAMPLES])
        notes.append(f"Examples: {shown}.")
    return notes


def _shown(value: JsonValue) -> str:
    text = _one_line(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in plain_lines(text)).strip()
