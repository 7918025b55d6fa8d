"""Joins several schemas for one value into one: `allOf`, and `$ref` with keywords beside it.

The result accepts everything that all of them accept, and seldom more. Keywords that cannot be joined are left out and
reported. Members of objects and items of lists that several describe get an `allOf` of their own, joined when its turn
comes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ferrule.model.value import MISSING, JsonObject
from ferrule.schema.merging import NEVER, join_operands, same_values

_OBJECTS = frozenset({"properties", "additionalProperties", "patternProperties", "unevaluatedProperties"})
_LISTS = frozenset({"items", "prefixItems", "additionalItems"})
_APART = frozenset({"allOf", "$ref", "anyOf", "oneOf"})


class Flat(NamedTuple):
    """A schema without `$ref`, `allOf`, `anyOf` and `oneOf`."""

    keywords: JsonObject
    unions: list[list[Any]]
    """Lists of branches of which one must hold each."""
    left_out: list[tuple[str, Any]]
    """Keywords that could not be put in, with what they said."""


def flatten(members: list[JsonObject]) -> Flat | None:
    """Joins all of them into one; None where no value is accepted by all."""
    if len(members) == 1 and _APART.isdisjoint(members[0]):
        return Flat(members[0], [], [])
    # `oneOf` counts as `anyOf`, which is looser; the tool's own schema still judges every call.
    unions = [said for member in members for word in ("anyOf", "oneOf") if isinstance(said := member.get(word), list)]
    if len(members) == 1:
        return Flat({word: said for word, said in members[0].items() if word not in _APART}, unions, [])
    left_out: list[tuple[str, Any]] = []
    joined_keywords: JsonObject = {}
    for member in members:
        for keyword, operand in member.items():
            if keyword in _APART or keyword in _OBJECTS or keyword in _LISTS:
                continue
            if keyword not in joined_keywords:
                joined_keywords[keyword] = operand
            elif keyword != "format":  # a hint to most providers; the first one is as good as any
                joined = join_operands(keyword, joined_keywords[keyword], operand)
                if joined is NEVER:
                    return None
                if joined is MISSING:
                    left_out.append((keyword, operand))
                else:
                    joined_keywords[keyword] = joined
    _join_objects(joined_keywords, members)
    _join_lists(joined_keywords, members)
    if joined_keywords.get("type") == [] or joined_keywords.get("enum") == []:
        return None
    if "const" in joined_keywords and "enum" in joined_keywords:
        if same_values([joined_keywords["const"]], joined_keywords["enum"]):
            del joined_keywords["enum"]
        else:
            return None
    return Flat(joined_keywords, unions, left_out)


def _join_objects(joined_keywords: JsonObject, members: list[JsonObject]) -> None:
    """Joins the properties of all members: each must satisfy what every member says about a property of its name."""
    speaking = [member for member in members if not _OBJECTS.isdisjoint(member)]
    if not speaking:
        return
    if len(speaking) == 1:
        joined_keywords.update({word: speaking[0][word] for word in _OBJECTS if word in speaking[0]})
        return
    named = [said if isinstance(said := member.get("properties"), dict) else {} for member in speaking]
    names = dict.fromkeys(name for properties in named for name in properties)
    if names:
        joined_keywords["properties"] = {
            name: _both([_about(name, member, own) for member, own in zip(speaking, named, strict=True)])
            for name in names
        }
    for word in ("additionalProperties", "unevaluatedProperties"):
        said = [member[word] for member in speaking if word in member]
        if said:
            joined_keywords[word] = _both(said)
    if "additionalProperties" in joined_keywords and any("patternProperties" in member for member in speaking):
        # One member's pattern may allow a name that another's additionalProperties refuses. That is left to the service.
        patterns = [
            member["patternProperties"] for member in speaking if isinstance(member.get("patternProperties"), dict)
        ]
        joined_keywords["patternProperties"] = {pattern: inner for said in patterns for pattern, inner in said.items()}
        joined_keywords["additionalProperties"] = not all(_is_shut(member) for member in speaking)
    elif any("patternProperties" in member for member in speaking):
        joined_keywords["additionalProperties"] = True


def _is_shut(member: JsonObject) -> bool:
    return member.get("additionalProperties") is False


def _about(name: str, member: JsonObject, properties: JsonObject) -> object:
    if name in properties:
        return properties[name]
    return True if "patternProperties" in member else member.get("additionalProperties", True)


def _join_lists(joined_keywords: JsonObject, members: list[JsonObject]) -> None:
    speaking = [member for member in members if not _LISTS.isdisjoint(member)]
    if len(speaking) == 1:
        joined_keywords.update({word: speaking[0][word] for word in _LISTS if word in speaking[0]})
    elif speaking:
        tuples = [positions_of(member) for member in speaking]
        longest = max(len(first) for first, _ in tuples)
        if longest:
            joined_keywords["prefixItems"] = [
                _both([first[at] if at < len(first) else (True if rest is None else rest) for first, rest in tuples])
                for at in range(min(longest, 500))
            ]
        rests = [rest for _, rest in tuples if rest is not None]
        if rests:
            joined_keywords["items"] = _both(rests)


def positions_of(keywords: JsonObject) -> tuple[list[object], object]:
    """Returns the schemas of the first items of a list, one by one, and of those after them (None: unrestricted)."""
    first, items = keywords.get("prefixItems"), keywords.get("items")
    if isinstance(first, list):
        return first, None if isinstance(items, list) else items
    if isinstance(items, list):
        return items, keywords.get("additionalItems")
    return [], items


def _both(said: list[object]) -> object:
    """Joins the schemas of one value."""
    if any(one is False for one in said):
        return False
    telling = [one for one in said if one is not True and one != {}]
    if not telling:
        return True
    return telling[0] if len(telling) == 1 else {"allOf": telling}
