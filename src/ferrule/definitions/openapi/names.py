"""Names the tools of a document: by the operation's id, or by its method and path.

An `operationId` is written in small letters with underscores (`listPets` is `list_pets`); the path and the method that FastAPI
appends to its ids are removed. Without an id, the method gives the verb and the path the nouns: a segment before a
parameter means one thing (`pets/{id}` is `pet`), and prefixes such as `api` and `v1` are dropped.

| method | path ends in a list (`/pets`) | path ends in one thing (`/pets/{id}`) |
|---|---|---|
| GET | `list_pets`; `get_status` when the last word is no plural | `get_pet` |
| POST | `create_pet` | `create_pet`; `/pets/{id}/adopt` is `adopt_pet` |
| PUT, PATCH, DELETE, HEAD | `replace_pets`, `update_pets`, `delete_pets`, `check_pets` | `replace_pet`, … |
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container
from hashlib import sha256

from ferrule.definitions.openapi.shape import Heading
from ferrule.definitions.openapi.wording import split_words

MOST = 64
_LEAST = 3
_PLACE = re.compile(r"\{[^{}]*\}")
_PREFIX = re.compile(r"api|rest|v\d+(?:[._]\d+)*(?:(?:alpha|beta)\d*)?")
_LEGAL = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_VERBS = {
    "GET": "get",
    "POST": "create",
    "PUT": "replace",
    "PATCH": "update",
    "DELETE": "delete",
    "HEAD": "check",
    "OPTIONS": "describe",
    "TRACE": "trace",
    "QUERY": "query",
}
_NO_PLURALS = ("ss", "us", "is", "news", "series")
_HISSING = ("sses", "xes", "ches", "shes", "zes")


def build_name(heading: Heading) -> str:
    """Returns a legal name, not yet unique."""
    words = split_words(_strip_route(heading)) if heading.operation_id else ()
    if not words or not any(word.isascii() for word in words):
        words = _split_path(heading)
    return shorten_name("_".join(words))


def shorten_name(name: str) -> str:
    """Returns a name of 3 to 64 small letters, digits and underscores; a digest replaces the part that is cut off."""
    legal = name
    if not _LEGAL.fullmatch(name):
        legal = re.sub(r"_+", "_", re.sub(r"[^a-z0-9_]", "_", name)).strip("_")
    if len(legal) > MOST:
        legal = f"{legal[: MOST - 9].rstrip('_')}_{sha256(legal.encode()).hexdigest()[:8]}"
    return legal if len(legal) >= _LEAST else f"call_{legal or 'operation'}"


def number_name(name: str, taken: Container[str], most: int = sys.maxsize) -> str:
    """Returns the name, or the first of `name_2`, `name_3`, … that is not taken, cut to `most` characters."""
    made, number = name, 1
    while made in taken:
        number += 1
        ending = f"_{number}"
        made = name[: most - len(ending)] + ending
    return made


def take_unique(name: str, taken: set[str], most: int = sys.maxsize) -> str:
    """Returns a name that is not taken (`get_pet`, `get_pet_2`, …), and takes it."""
    made = number_name(name, taken, most)
    taken.add(made)
    return made


def _strip_route(heading: Heading) -> str:
    """Removes the path and the method that FastAPI appends to a function's name."""
    if not heading.operation_id.endswith(f"_{heading.method.lower()}"):
        return heading.operation_id
    route = re.sub(r"\W", "_", heading.template) + "_" + heading.method.lower()
    bare = heading.operation_id.removesuffix(route)
    return bare if bare.strip("_") else heading.operation_id


def _split_path(heading: Heading) -> tuple[str, ...]:
    segments = [segment for segment in heading.template.partition("?")[0].split("/") if segment]
    kept = [segment for segment in segments if not _PREFIX.fullmatch(segment.lower())] or segments
    nouns: list[tuple[str, ...]] = []
    is_one = False
    for index, segment in enumerate(kept):
        bare = split_words(_PLACE.sub(" ", segment))
        has_place = "{" in segment
        if bare:
            is_one = has_place or (index + 1 < len(kept) and _PLACE.fullmatch(kept[index + 1]) is not None)
            nouns.append((*bare[:-1], singularize(bare[-1])) if is_one else bare)
        elif has_place and not nouns:
            nouns.append(split_words(segment.strip("{}")) or ("item",))
            is_one = True
    verb = _VERBS.get(heading.method) or "_".join(split_words(heading.method)) or "call"
    if not nouns:
        return (verb, "root")
    last = nouns[-1]
    if heading.method == "GET" and not is_one and is_plural(last[-1]):
        verb = "list"
    if heading.method == "POST" and not is_one:
        if len(nouns) > 1 and not is_plural(last[-1]) and _follows_place(kept):
            return (*last, *(word for noun in nouns[:-1] for word in noun))  # /pets/{id}/adopt
        nouns[-1] = (*last[:-1], singularize(last[-1]))
    return (verb, *(word for noun in nouns for word in noun))


def _follows_place(segments: list[str]) -> bool:
    return len(segments) > 1 and "{" in segments[-2] and "{" not in segments[-1]


def is_plural(word: str) -> bool:
    """Returns True for a plural, judged by its ending."""
    return word.endswith("s") and not word.endswith(_NO_PLURALS) and len(word) > 2


def singularize(word: str) -> str:
    """Returns the singular of a word."""
    if not is_plural(word):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_HISSING) else word[:-1]
