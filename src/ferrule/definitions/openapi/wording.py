"""Words for models: names made readable, long texts bounded, and keywords said that AML's schemas do not have."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[^0-9A-Za-z\u00c0-\uffff]+")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_MOST_VALUE = 200


@lru_cache(maxsize=8192)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters: `petId`, `pet-id` and `PetID` are `pet`, `id`."""
    return tuple(word.lower() for word in _NO_WORD.sub(" ", _HUMP.sub(" ", name)).split())


@lru_cache(maxsize=8192)
def spoken(name: str) -> str:
    """A name as a sentence: `customerId` is `Customer id.`"""
    words = " ".join(words_of(name))
    return f"{words[:1].upper()}{words[1:200]}." if words else f"The member {name[:60]!r}."


def bounded(text: str, most: int) -> str:
    """A text without surplus white space at its ends, cut after a sentence or a word when it is too long."""
    text = text.strip()
    if len(text) <= most:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, most)]
    if ends and ends[-1] > most // 2:
        return text[: ends[-1]].rstrip()
    cut = text[: most - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip() + "…"


def as_sentence(text: str) -> str:
    """A text that ends like a sentence."""
    text = text.strip()
    return text if not text or text[-1] in ".!?…:`|)>" or "\n" in text else f"{text}."


def joined(text: str, extra: list[str]) -> str:
    """A description with sentences behind it."""
    if not extra:
        return text
    added = " ".join(extra)
    if not text:
        return added
    return f"{as_sentence(text)}\n{added}" if "\n" in text else f"{as_sentence(text)} {added}"


def shown(value: Any) -> str:
    """A value as JSON, in few characters; nothing for one that would be long."""
    try:
        written = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return ""
    return written if len(written) <= _MOST_VALUE else ""
