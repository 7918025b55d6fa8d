"""What a reader is told of a type or a field, as comments."""

from __future__ import annotations

import msgspec

from ferrule.definitions.stubs.languages.go.text import comment
from ferrule.model.type_tree import Constant, Text, Type, Words
from ferrule.model.value import JsonValue

_LONGEST = 400


def type_comment(first: str, words: Words) -> list[str]:
    """The comment of a type. `first` is a sentence of its own."""
    return comment((first, *_told(words)))


def field_comment(words: Words, type_: Type | None = None, first: str = "") -> list[str]:
    """The comment of a field; no lines where there is nothing to tell."""
    parts = [first] if first else []
    parts += _told(words)
    if isinstance(type_, Constant):
        parts.append(f"It is always {_json(type_.value)}: that is written whatever stands here.")
    if isinstance(type_, Text) and type_.format:
        parts.append(_text_kind(type_.format))
    return comment(parts, "\t")


def _text_kind(form: str) -> str:
    return "Base64." if form == "binary" else f"Format: {form}."


def _told(words: Words) -> list[str]:
    parts = [words.description] if words.description.strip() else []
    if words.limits:
        parts.append(f"Checked: {'; '.join(words.limits)}.")
    if words.has_default:
        parts.append(f"Default, which is not filled in: {_json(words.default)}.")
    if words.examples:
        parts.append(f"Examples: {', '.join(map(_json, words.examples))}.")
    if words.is_deprecated:
        parts.append("Deprecated: the definition says so.")
    return parts


def _json(value: JsonValue) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
