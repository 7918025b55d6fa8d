"""What msgspec says about a value that does not fit, in the words of whoever wrote the value."""

from __future__ import annotations

import re

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_KIND = r"`(?P<kind>[\w| ]+)`"
_AT = r"(?: - at `\$(?P<place>.*)`)?"
_UNKNOWN = re.compile(rf"Object contains unknown field `(?P<key>.+?)`{_AT}", re.DOTALL)
_MISSING = re.compile(rf"Object missing required field `(?P<key>.+?)`{_AT}", re.DOTALL)
_WORD = re.compile(rf"Invalid enum value (?P<word>.+?){_AT}", re.DOTALL)
_TYPE = re.compile(rf"Expected {_KIND}, got `(?P<got>\w+)`{_AT}", re.DOTALL)
_LIMIT = re.compile(rf"Expected {_KIND} (?P<limit>[<>]=? \S+){_AT}", re.DOTALL)


def in_words(message: str) -> str:
    """The message of a ValidationError without its jargon; as it is where it has none that is known."""
    if found := _UNKNOWN.fullmatch(message):
        where = _place(found)
        return f"there is no key {found['key']!r}" + (f" in {where}" if where else "")
    if found := _MISSING.fullmatch(message):
        return f"{_place(found) or 'it'} lacks {found['key']!r}"
    if found := _WORD.fullmatch(message):
        return f"{_place(found) or 'it'} cannot be {found['word']}"
    if found := _TYPE.fullmatch(message):
        return f"{_place(found) or 'it'} must be {_types(found['kind'])}, not {_types(found['got'])}"
    if found := _LIMIT.fullmatch(message):
        return f"{_place(found) or 'it'} must be {_types(found['kind'])} {found['limit']}"
    return message


def key_of(message: str) -> str:
    """The key a ValidationError is about; empty when it names none."""
    if found := _UNKNOWN.fullmatch(message):
        return str(found["key"])
    place = message.rpartition(" - at `$")[2].rstrip("`")
    return re.sub(r"\[.*?\]", "", place).rpartition(".")[2] if place != message.rstrip("`") else ""


def _place(found: re.Match[str]) -> str:
    return (found["place"] or "").replace("[...]", ".*").removeprefix(".")


def _types(kinds: str) -> str:
    words = [_TYPES.get(kind.strip(), kind.strip()) for kind in kinds.split("|") if kind.strip() != "null"]
    return " or ".join(words) or _TYPES["null"]
