"""Texts, numbers, booleans and closed lists of values, as a provider takes them."""

from __future__ import annotations

from typing import Any

from ferrule.model.value import JsonObject
from ferrule.schema.fitting.keywords import FAMILIES, describe_keyword, type_of, types_of
from ferrule.schema.fitting.profile import Profile, nullable
from ferrule.schema.fitting.state import FittingState, Node, is_pattern_taken
from ferrule.schema.fitting.steps import KEEP
from ferrule.schema.merging import ANNOTATIONS, bounds_in_numbers, key_of
from ferrule.schema.schema_view import json_type


def rewrite_scalar(
    state: FittingState, word: str, keywords: JsonObject, path: str, words: list[str], *, is_bare: bool = False
) -> JsonObject:
    """Rewrites a schema of one type that holds no others."""
    fitted: JsonObject = {"type": word}
    if isinstance(keywords.get("exclusiveMinimum"), bool) or isinstance(keywords.get("exclusiveMaximum"), bool):
        keywords = dict(keywords)
        bounds_in_numbers(keywords)
    family = FAMILIES.get(word, frozenset())
    for keyword, operand in keywords.items():
        if keyword not in family and (keyword != "format" or word in ("null", "boolean")):
            continue
        if _is_taken(state.profile, keyword, operand):
            fitted[keyword] = operand
        else:
            state.describe_dropped(path, keyword, operand, words)
    return fitted if is_bare else state.finish(fitted, keywords, path, words)


def _is_taken(profile: Profile, keyword: str, operand: object) -> bool:
    if profile.accepted is not None and keyword not in profile.accepted:
        return False
    if keyword == "format":
        return profile.formats is None or (isinstance(operand, str) and operand in profile.formats)
    if keyword == "pattern":
        return isinstance(operand, str) and is_pattern_taken(operand, profile.patterns)
    return True


def rewrite_enum(state: FittingState, keywords: JsonObject, path: str, depth: int, words: list[str]) -> Node | None:
    """Rewrites a closed list of values."""
    values = _values(keywords)
    if not values:
        return None
    profile = state.profile
    if values == [None]:
        return state.finish({"type": "null"}, _annotations(keywords), path, words), KEEP
    taken = profile.accepted is None or "enum" in profile.accepted
    found = {json_type(value) for value in values}
    if taken and _fits(state, values):
        state.enum_values += len(values)
        state.characters += sum(len(value) for value in values if isinstance(value, str))
        if "enum" not in keywords:
            state.record_change(
                f"{path}/const".lstrip("/"), "a list of one value says the same to every provider", "rewritten", "enum"
            )
        if profile.enum_types is None or found <= profile.enum_types:
            return _fit_enum(state, values, keywords, path, words)
        if found - {"null"} <= profile.enum_types:
            fitted, step = _fit_enum(state, [value for value in values if value is not None], keywords, path, words)
            return nullable(profile, fitted), step
    # The list itself cannot be sent: the description names its values, and any value of their types is taken.
    said = describe_keyword("enum", values)
    words.append(said)
    where = f"{path}/{'enum' if 'enum' in keywords else 'const'}".lstrip("/")
    state.record_change(where, f"{profile.title} does not take such a list of values", "description", said)
    if not found.isdisjoint({"object", "array"}):
        return state.anything(_annotations(keywords), path, words)
    rest = [word for word in found if word != "null" and (word != "integer" or "number" not in found)]
    beside = {word: said for word, said in keywords.items() if word not in ("enum", "const", "type")}
    fitted = _of_words(state, sorted(rest), beside, path, words)
    return (nullable(profile, fitted) if "null" in found and rest else fitted), KEEP


def _of_words(state: FittingState, found: list[str], keywords: JsonObject, path: str, words: list[str]) -> JsonObject:
    if not found:
        return state.finish({"type": "null"}, _annotations(keywords), path, words)
    if len(found) == 1:
        return rewrite_scalar(state, found[0], keywords, path, words)
    branches = [rewrite_scalar(state, word, keywords, path, [], is_bare=True) for word in found]
    return state.finish({"anyOf": branches}, _annotations(keywords), path, words)


def _fit_enum(state: FittingState, values: list[object], keywords: JsonObject, path: str, words: list[str]) -> Node:
    """Writes the values under `enum`, with their type beside them, or one enum for each type."""
    if state.profile.allows_anything:
        fitted: JsonObject = {"enum": values}
        found = {json_type(value) for value in values}
        if "type" in keywords or len(found) == 1:
            fitted = {"type": keywords.get("type") or found.pop(), **fitted}
        return state.finish(fitted, _annotations(keywords), path, words), KEEP
    by_word: dict[str, list[Any]] = {}
    for value in values:
        by_word.setdefault(json_type(value), []).append(value)
    beside = {word: said for word, said in keywords.items() if word not in ("enum", "const", "type")}
    branches = [
        {**rewrite_scalar(state, word, beside, path, words, is_bare=True), "enum": own}
        if word != "null"
        else {"type": word}
        for word, own in by_word.items()
    ]
    fitted = branches[0] if len(branches) == 1 else {"anyOf": branches}
    return state.finish(dict(fitted), _annotations(keywords), path, words), KEEP


def _values(keywords: JsonObject) -> list[object]:
    """Returns the values that remain, each once."""
    said = keywords.get("enum")
    values = said if isinstance(said, list) else [keywords["const"]] if "const" in keywords else []
    if "const" in keywords and isinstance(said, list):
        values = [value for value in values if key_of(value) == key_of(keywords["const"])]
    if "type" in keywords:
        allowed = types_of(keywords)
        values = [value for value in values if _is_of(value, allowed)]
    kept: dict[Any, Any] = {}
    for value in values:
        kept.setdefault(key_of(value), value)
    return list(kept.values())


def _is_of(value: object, allowed: list[str]) -> bool:
    word = type_of(value)
    if word == "number" and "number" not in allowed:
        return "integer" in allowed and float(value).is_integer() if isinstance(value, float) else "integer" in allowed
    return word in allowed


def _fits(state: FittingState, values: list[object]) -> bool:
    profile = state.profile
    if not profile.allows_empty_texts and "" in values:
        return False
    if profile.most_enum_values is not None and state.enum_values + len(values) > profile.most_enum_values:
        return False
    if profile.long_enum is not None and len(values) > profile.long_enum[0]:
        return sum(len(value) for value in values if isinstance(value, str)) <= profile.long_enum[1]
    return True


def _annotations(keywords: JsonObject) -> JsonObject:
    return {word: said for word, said in keywords.items() if word in ANNOTATIONS or word.startswith("x-")}
