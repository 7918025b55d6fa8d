"""Describes how one JSON Schema differs from another, in the words people use: removed, now required, no longer takes.

The list of breaking changes is AML-83's. It is about what a definition promises, so it is stricter than what the
schemas accept: a property that is no longer declared breaks its callers even where undeclared properties are let
through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ferrule.model.change import ChangeKind, SchemaChange
from ferrule.model.value import JsonObject, JsonValue, is_number

_WORDS = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_BRANCHES = ("anyOf", "oneOf", "allOf")
_LOWER = {
    "minLength": "shortest length",
    "minItems": "least number of items",
    "minProperties": "least number of members",
}
_UPPER = {"maxLength": "longest length", "maxItems": "most items", "maxProperties": "most members"}


def find_narrowings(old: object, new: object, where: str = "") -> Iterator[SchemaChange]:
    """Yields every way in which the new schema asks more of a caller than the old one."""
    if old is False or _is_same(old, new):
        return
    if new is False:
        yield _make_change("other", where, "takes nothing any more")
        return
    old, new = _as_mapping(old), _as_mapping(new)
    yield from _compare_types(old, new, where)
    yield from _compare_values(old, new, where)
    yield from _compare_bounds(old, new, where)
    for keyword in ("pattern", "format"):
        if keyword in new and new[keyword] != old.get(keyword):
            verb = "has another" if keyword in old else "now has a"
            yield _make_change("pattern", where, f"{verb} {keyword} ({_show(new[keyword])})")
    yield from _compare_objects(old, new, where)
    if "items" in old and "items" in new and not isinstance(old["items"], list) and not isinstance(new["items"], list):
        yield from find_narrowings(old["items"], new["items"], f"{where}[]")
    yield from _compare_branches(old, new, where)


def find_weakenings(old: object, new: object, where: str = "") -> Iterator[SchemaChange]:
    """Yields every way in which the new schema promises a reader of results less than the old one."""
    if new is False or _is_same(old, new):
        return
    old, new = _as_mapping(old), _as_mapping(new)
    types = _collect_types(new) - _collect_types(old)
    if types:
        yield _make_change(
            "type", where, f"may now be {_join_words(types)}" if _has_type(new) else "may now be anything"
        )
    before, after = _list_values(old), _list_values(new)
    if before is not None and after is None:
        yield _make_change("values", where, "is no longer limited to a list of values")
    elif before is not None and after is not None and (added := _find_missing(after, before)):
        yield _make_change("values", where, f"may now be {_show_values(added)}")
    still = collect_property_names(new)
    for name in collect_property_names(old):
        if name not in still:
            yield _make_change("removed", _join(where, name), "was removed")
    for name in _collect_required(old):
        if name not in _collect_required(new) and name in still:
            yield _make_change("required", _join(where, name), "is no longer always there")
    yield from _compare_below(find_weakenings, old, new, where)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(old.get(keyword), list) and isinstance(new.get(keyword), list):
            lost, came = _drop_equal(old[keyword], new[keyword])
            pairs = list(zip(lost, came, strict=False))
            for one, other in pairs:
                yield from find_weakenings(one, other, where)
            if len(came) > len(pairs):
                yield _make_change("branch", where, "may now take another form")


def collect_property_names(schema: object) -> dict[str, None]:
    """Collects the property names a schema lists, in its branches too."""
    names: dict[str, None] = {}
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            names.update(dict.fromkeys(name for name, inner in properties.items() if inner is not False))
        for keyword in _BRANCHES:
            branches = schema.get(keyword)
            for branch in branches if isinstance(branches, list) else ():
                names.update(collect_property_names(branch))
        for keyword in ("if", "then", "else"):
            names.update(collect_property_names(schema.get(keyword)))
    return names


def without_new_names(old: object, new: object) -> Any:
    """Returns the old schema for callers that sent no property before it was declared: a new optional property
    breaks nobody."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return old
    copy = dict(old)
    fresh = [name for name in collect_property_names(new) if name not in collect_property_names(old)]
    # A schema for undeclared properties invited callers to send them, so it stays as it was.
    if fresh and old.get("additionalProperties", True) in (True, {}):
        copy["properties"] = {**dict.fromkeys(fresh, False), **_read_properties(old)}
    both = _read_properties(new)
    if isinstance(copy.get("properties"), dict):
        copy["properties"] = {
            name: without_new_names(inner, both[name]) if name in both else inner
            for name, inner in copy["properties"].items()
        }
    for keyword in ("items", "additionalProperties"):
        if keyword in old and keyword in new:
            copy[keyword] = without_new_names(old[keyword], new[keyword])
    for keyword in _BRANCHES:
        before, after = old.get(keyword), new.get(keyword)
        if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
            copy[keyword] = [without_new_names(one, other) for one, other in zip(before, after, strict=True)]
    return copy


def _compare_types(old: JsonObject, new: JsonObject, where: str) -> Iterator[SchemaChange]:
    if not _has_type(new):
        return
    lost = _collect_types(old) - _collect_types(new)
    if not _has_type(old):
        if lost:
            yield _make_change("type", where, f"must now be {_join_words(_collect_types(new))}")
    elif lost:
        yield _make_change("type", where, f"no longer takes {_join_words(lost)}")


def _compare_values(old: JsonObject, new: JsonObject, where: str) -> Iterator[SchemaChange]:
    before, after = _list_values(old), _list_values(new)
    if after is None:
        return
    if before is None:
        yield _make_change("values", where, f"is now limited to {_show_values(after)}")
    elif lost := _find_missing(before, after):
        yield _make_change("values", where, f"no longer takes {_show_values(lost)}")


def _compare_bounds(old: JsonObject, new: JsonObject, where: str) -> Iterator[SchemaChange]:
    before, after = _find_lower_bound(old), _find_lower_bound(new)
    if after is not None and (before is None or after > before):
        yield _make_change("bound", where, f"must now be {'more than' if after[1] else 'at least'} {_show(after[0])}")
    before, after = _find_upper_bound(old), _find_upper_bound(new)
    if after is not None and (before is None or _tightness(after) < _tightness(before)):
        yield _make_change("bound", where, f"must now be {'less than' if after[1] else 'at most'} {_show(after[0])}")
    for keyword, words in _LOWER.items():
        low = new.get(keyword, 0)
        if is_number(low) and low > (old[keyword] if is_number(old.get(keyword)) else 0):
            yield _make_change("bound", where, f"has its {words} raised to {_show(low)}")
    for keyword, words in _UPPER.items():
        high = new.get(keyword)
        if is_number(high) and (not is_number(old.get(keyword)) or high < old[keyword]):
            verb = "lowered" if keyword in old else "set"
            yield _make_change("bound", where, f"has its {words} {verb} to {_show(high)}")


def _compare_objects(old: JsonObject, new: JsonObject, where: str) -> Iterator[SchemaChange]:
    still = collect_property_names(new)
    for name in collect_property_names(old):
        if name not in still:
            yield _make_change("removed", _join(where, name), "was removed")
    required_before = _collect_required(old)
    for name in _collect_required(new):
        if name not in required_before:
            verb = "is now required" if name in collect_property_names(old) else "is new and required"
            yield _make_change("required", _join(where, name), verb)
    open_before, open_after = old.get("additionalProperties", True), new.get("additionalProperties", True)
    if open_after is False and open_before is not False and "object" in _collect_types(old):
        yield _make_change("closed", where, "no longer takes undeclared properties")
    elif open_after is not True and open_before in (True, {}) and open_after != {}:
        yield _make_change("closed", where, "limits its undeclared properties")
    yield from _compare_below(find_narrowings, old, new, where)


def _compare_below(walk: Any, old: JsonObject, new: JsonObject, where: str) -> Iterator[SchemaChange]:
    before, after = _read_properties(old), _read_properties(new)
    for name, inner in before.items():
        if name in after:
            yield from walk(inner, after[name], _join(where, name))
    open_before, open_after = old.get("additionalProperties"), new.get("additionalProperties")
    if isinstance(open_before, dict) and isinstance(open_after, dict):
        yield from walk(open_before, open_after, _join(where, "*"))
    # `find_narrowings` compares items itself.
    if walk is find_weakenings and isinstance(old.get("items"), dict) and isinstance(new.get("items"), dict | bool):
        yield from walk(old["items"], new["items"], f"{where}[]")


def _compare_branches(old: JsonObject, new: JsonObject, where: str) -> Iterator[SchemaChange]:
    for keyword in _BRANCHES:
        before, after = old.get(keyword), new.get(keyword)
        if not isinstance(before, list) or not isinstance(after, list):
            continue  # a combinator that went away asks less; one that came is left to containment
        lost, came = _drop_equal(before, after)
        while lost:
            branch = lost.pop(0)
            fitting = next((other for other in came if not any(find_narrowings(branch, other, where))), None)
            if fitting is not None:
                came.remove(fitting)
            # Enough new branches for this one and all that are left: it was changed rather than removed.
            elif came and len(came) > len(lost):
                yield from find_narrowings(branch, came.pop(0), where)
            else:
                yield _make_change("branch", where, f"lost a branch of {keyword}")


def _drop_equal(before: list[JsonValue], after: list[JsonValue]) -> tuple[list[JsonValue], list[JsonValue]]:
    """Returns the branches of each side that have no equal one on the other."""
    texts = {_encode(branch) for branch in before}
    others = {_encode(branch) for branch in after}
    return [one for one in before if _encode(one) not in others], [one for one in after if _encode(one) not in texts]


def _has_type(schema: JsonObject) -> bool:
    return "type" in schema


def _collect_types(schema: JsonObject) -> set[str]:
    written = schema.get("type")
    if isinstance(written, str):
        words = {written}
    else:
        words = {word for word in written if isinstance(word, str)} if isinstance(written, list) else set(_WORDS)
    return words | {"integer"} if "number" in words else words


def _list_values(schema: JsonObject) -> list[JsonValue] | None:
    if "const" in schema:
        return [schema["const"]]
    written = schema.get("enum")
    return written if isinstance(written, list) else None


def _find_missing(values: list[JsonValue], among: list[JsonValue]) -> list[JsonValue]:
    known = {_encode(value) for value in among}
    return [value for value in values if _encode(value) not in known]


def _find_lower_bound(schema: JsonObject) -> tuple[float, bool] | None:
    """Returns the effective lower bound and whether it is excluded; integers have no excluded bound."""
    bounds = []
    if is_number(schema.get("minimum")):
        bounds.append((schema["minimum"], False))
    if is_number(schema.get("exclusiveMinimum")):
        bound = schema["exclusiveMinimum"]
        bounds.append((bound + 1, False) if _is_integer_bound(schema, bound) else (bound, True))
    return max(bounds, default=None)  # an excluded bound sorts after the same one included, and is tighter


def _find_upper_bound(schema: JsonObject) -> tuple[float, bool] | None:
    """Returns the effective upper bound and whether it is excluded."""
    bounds = []
    if is_number(schema.get("maximum")):
        bounds.append((schema["maximum"], False))
    if is_number(schema.get("exclusiveMaximum")):
        bound = schema["exclusiveMaximum"]
        bounds.append((bound - 1, False) if _is_integer_bound(schema, bound) else (bound, True))
    return min(bounds, key=_tightness, default=None)


def _is_integer_bound(schema: JsonObject, bound: float) -> bool:
    return schema.get("type") == "integer" and (isinstance(bound, int) or bound.is_integer())


def _tightness(upper: tuple[float, bool]) -> tuple[float, bool]:
    """Orders upper bounds, tightest first: an excluded bound before the same one included."""
    return upper[0], not upper[1]


def _collect_required(schema: JsonObject) -> dict[str, None]:
    written = schema.get("required")
    names = dict.fromkeys(name for name in written if isinstance(name, str)) if isinstance(written, list) else {}
    # Only `allOf`: what a branch of `anyOf` requires is not required of every value.
    branches = schema.get("allOf")
    for branch in branches if isinstance(branches, list) else ():
        if isinstance(branch, dict):
            names.update(_collect_required(branch))
    return names


def _read_properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _as_mapping(schema: object) -> JsonObject:
    return schema if isinstance(schema, dict) else {}


def _is_same(old: object, new: object) -> bool:
    return bool(old == new) and _encode(old) == _encode(new)


def _encode(value: object) -> bytes:
    """Encodes a JSON value, equal for equal values: `1` and `1.0` are one number, `1` and `true` are not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return msgspec.json.encode(value, order="sorted")


def _make_change(kind: ChangeKind, where: str, text: str) -> SchemaChange:
    return SchemaChange(kind, where, f"`{where}` {text}" if where else f"it {text}")


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _join_words(words: set[str]) -> str:
    return " or ".join(sorted(words))


def _show(value: object) -> str:
    text = msgspec.json.encode(value).decode("utf-8", "replace")
    return text if len(text) <= 60 else text[:57] + "…"


def _show_values(values: list[JsonValue]) -> str:
    texts = [_show(value) for value in values[:3]]
    return ", ".join(texts) + (f" and {len(values) - 3} more" if len(values) > 3 else "")
