"""Words texts for models: readable names, length limits, and sentences for keywords that AML's schemas lack."""

from __future__ import annotations

import json
import re
from functools import lru_cache

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[^0-9A-Za-z\u00c0-\uffff]+")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_MOST_VALUE = 200


@lru_cache(maxsize=8192)
def split_words(name: str) -> tuple[str, ...]:
    """Returns the words of a name, in small letters: `petId`, `pet-id` and `PetID` are `pet`, `id`."""
    return tuple(word.lower() for word in _NO_WORD.sub(" ", _HUMP.sub(" ", name)).split())


@lru_cache(maxsize=8192)
def humanize(name: str) -> str:
    """Returns a name as a sentence: `customerId` is `Customer id.`"""
    words = " ".join(split_words(name))
    return f"{words[:1].upper()}{words[1:200]}." if words else f"The member {name[:60]!r}."


def shorten_text(text: str, most: int) -> str:
    """Strips a text, and cuts it after a sentence or a word when it is too long."""
    text = text.strip()
    if len(text) <= most:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, most)]
    if ends and ends[-1] > most // 2:
        return text[: ends[-1]].rstrip()
    cut = text[: most - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip() + "…"


def end_sentence(text: str) -> str:
    """Adds a full stop where a text has none."""
    text = text.strip()
    return text if not text or text[-1] in ".!?…:`|)>" or "\n" in text else f"{text}."


def append_sentences(text: str, extra: list[str]) -> str:
    """Appends sentences to a description."""
    if not extra:
        return text
    added = " ".join(extra)
    if not text:
        return added
    return f"{end_sentence(text)}\n{added}" if "\n" in text else f"{end_sentence(text)} {added}"


def format_value(value: object) -> str:
    """Formats a value as JSON; returns nothing for a long one."""
    try:
        written = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return ""
    return written if len(written) <= _MOST_VALUE else ""
