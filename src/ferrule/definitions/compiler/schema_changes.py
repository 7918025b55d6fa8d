"""How one JSON Schema differs from another, in the words people use: removed, now required, no longer takes.

The list of breaking changes is AML-83's. It is about what a definition promises, so it is stricter than what the schemas
accept: a property that is no longer declared breaks its callers even where undeclared properties are let through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ferrule.model.change import ChangeKind, SchemaChange
from ferrule.model.value import is_number

_WORDS = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_BRANCHES = ("anyOf", "oneOf", "allOf")
_LOWER = {
    "minLength": "shortest length",
    "minItems": "least number of items",
    "minProperties": "least number of members",
}
_UPPER = {"maxLength": "longest length", "maxItems": "most items", "maxProperties": "most members"}


def narrowed(old: Any, new: Any, where: str = "") -> Iterator[SchemaChange]:
    """Every way in which the new schema asks more of a caller than the old one."""
    if old is False or _same(old, new):
        return
    if new is False:
        yield _change("other", where, "takes nothing any more")
        return
    old, new = _mapping(old), _mapping(new)
    yield from _narrowed_types(old, new, where)
    yield from _narrowed_values(old, new, where)
    yield from _narrowed_bounds(old, new, where)
    for keyword in ("pattern", "format"):
        if keyword in new and new[keyword] != old.get(keyword):
            verb = "has another" if keyword in old else "now has a"
            yield _change("pattern", where, f"{verb} {keyword} ({_show(new[keyword])})")
    yield from _narrowed_objects(old, new, where)
    if "items" in old and "items" in new and not isinstance(old["items"], list) and not isinstance(new["items"], list):
        yield from narrowed(old["items"], new["items"], f"{where}[]")
    yield from _narrowed_branches(old, new, where)


def weakened(old: Any, new: Any, where: str = "") -> Iterator[SchemaChange]:
    """Every way in which the new schema promises a reader of results less than the old one."""
    if new is False or _same(old, new):
        return
    old, new = _mapping(old), _mapping(new)
    types = _types(new) - _types(old)
    if types:
        yield _change("type", where, f"may now be {_listed(types)}" if _has_type(new) else "may now be anything")
    before, after = _values(old), _values(new)
    if before is not None and after is None:
        yield _change("values", where, "is no longer limited to a list of values")
    elif before is not None and after is not None and (added := _missing(after, before)):
        yield _change("values", where, f"may now be {_shown(added)}")
    still = declared(new)
    for name in declared(old):
        if name not in still:
            yield _change("removed", _join(where, name), "was removed")
    for name in _required(old):
        if name not in _required(new) and name in still:
            yield _change("required", _join(where, name), "is no longer always there")
    yield from _below(weakened, old, new, where)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(old.get(keyword), list) and isinstance(new.get(keyword), list):
            lost, came = _unmatched(old[keyword], new[keyword])
            pairs = list(zip(lost, came, strict=False))
            for one, other in pairs:
                yield from weakened(one, other, where)
            if len(came) > len(pairs):
                yield _change("branch", where, "may now take another form")


def declared(schema: Any) -> dict[str, None]:
    """The property names a schema lists, in its branches too."""
    names: dict[str, None] = {}
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            names.update(dict.fromkeys(name for name, inner in properties.items() if inner is not False))
        for keyword in _BRANCHES:
            branches = schema.get(keyword)
            for branch in branches if isinstance(branches, list) else ():
                names.update(declared(branch))
        for keyword in ("if", "then", "else"):
            names.update(declared(schema.get(keyword)))
    return names


def without_new_names(old: Any, new: Any) -> Any:
    """The old schema for callers that sent no property before it was declared: a new optional property breaks nobody."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return old
    copy = dict(old)
    fresh = [name for name in declared(new) if name not in declared(old)]
    if fresh and old.get("additionalProperties", True) in (True, {}):
        copy["properties"] = {**dict.fromkeys(fresh, False), **_properties(old)}
    both = _properties(new)
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


def _narrowed_types(old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[SchemaChange]:
    if not _has_type(new):
        return
    lost = _types(old) - _types(new)
    if not _has_type(old):
        if lost:
            yield _change("type", where, f"must now be {_listed(_types(new))}")
    elif lost:
        yield _change("type", where, f"no longer takes {_listed(lost)}")


def _narrowed_values(old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[SchemaChange]:
    before, after = _values(old), _values(new)
    if after is None:
        return
    if before is None:
        yield _change("values", where, f"is now limited to {_shown(after)}")
    elif lost := _missing(before, after):
        yield _change("values", where, f"no longer takes {_shown(lost)}")


def _narrowed_bounds(old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[SchemaChange]:
    before, after = _lowest(old), _lowest(new)
    if after is not None and (before is None or after > before):
        yield _change("bound", where, f"must now be {'more than' if after[1] else 'at least'} {_show(after[0])}")
    before, after = _highest(old), _highest(new)
    if after is not None and (before is None or _tightness(after) < _tightness(before)):
        yield _change("bound", where, f"must now be {'less than' if after[1] else 'at most'} {_show(after[0])}")
    for keyword, words in _LOWER.items():
        low = new.get(keyword, 0)
        if is_number(low) and low > (old[keyword] if is_number(old.get(keyword)) else 0):
            yield _change("bound", where, f"has its {words} raised to {_show(low)}")
    for keyword, words in _UPPER.items():
        high = new.get(keyword)
        if is_number(high) and (not is_number(old.get(keyword)) or high < old[keyword]):
            verb = "lowered" if keyword in old else "set"
            yield _change("bound", where, f"has its {words} {verb} to {_show(high)}")


def _narrowed_objects(old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[SchemaChange]:
    still = declared(new)
    for name in declared(old):
        if name not in still:
            yield _change("removed", _join(where, name), "was removed")
    needed = _required(old)
    for name in _required(new):
        if name not in needed:
            verb = "is now required" if name in declared(old) else "is new and required"
            yield _change("required", _join(where, name), verb)
    open_before, open_after = old.get("additionalProperties", True), new.get("additionalProperties", True)
    if open_after is False and open_before is not False and "object" in _types(old):
        yield _change("closed", where, "no longer takes undeclared properties")
    elif open_after is not True and open_before in (True, {}) and open_after != {}:
        yield _change("closed", where, "limits its undeclared properties")
    yield from _below(narrowed, old, new, where)


def _below(walk: Any, old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[SchemaChange]:
    before, after = _properties(old), _properties(new)
    for name, inner in before.items():
        if name in after:
            yield from walk(inner, after[name], _join(where, name))
    open_before, open_after = old.get("additionalProperties"), new.get("additionalProperties")
    if isinstance(open_before, dict) and isinstance(open_after, dict):
        yield from walk(open_before, open_after, _join(where, "*"))
    if walk is weakened and isinstance(old.get("items"), dict) and isinstance(new.get("items"), dict | bool):
        yield from walk(old["items"], new["items"], f"{where}[]")


def _narrowed_branches(old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[SchemaChange]:
    for keyword in _BRANCHES:
        before, after = old.get(keyword), new.get(keyword)
        if not isinstance(before, list) or not isinstance(after, list):
            continue  # a combinator that went away asks less; one that came is left to containment
        lost, came = _unmatched(before, after)
        while lost:
            branch = lost.pop(0)
            fitting = next((other for other in came if not any(narrowed(branch, other, where))), None)
            if fitting is not None:
                came.remove(fitting)
            elif came and len(came) > len(lost):
                yield from narrowed(branch, came.pop(0), where)
            else:
                yield _change("branch", where, f"lost a branch of {keyword}")


def _unmatched(before: list[Any], after: list[Any]) -> tuple[list[Any], list[Any]]:
    """Branches without an equal one on the other side."""
    texts = {_text(branch) for branch in before}
    others = {_text(branch) for branch in after}
    return [one for one in before if _text(one) not in others], [one for one in after if _text(one) not in texts]


def _has_type(schema: dict[str, Any]) -> bool:
    return "type" in schema


def _types(schema: dict[str, Any]) -> set[str]:
    written = schema.get("type")
    if isinstance(written, str):
        words = {written}
    else:
        words = {word for word in written if isinstance(word, str)} if isinstance(written, list) else set(_WORDS)
    return words | {"integer"} if "number" in words else words


def _values(schema: dict[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    written = schema.get("enum")
    return written if isinstance(written, list) else None


def _missing(values: list[Any], among: list[Any]) -> list[Any]:
    known = {_text(value) for value in among}
    return [value for value in values if _text(value) not in known]


def _lowest(schema: dict[str, Any]) -> tuple[float, bool] | None:
    """The effective lower bound and whether it is excluded itself; whole numbers know no excluded bound."""
    bounds = []
    if is_number(schema.get("minimum")):
        bounds.append((schema["minimum"], False))
    if is_number(schema.get("exclusiveMinimum")):
        bound = schema["exclusiveMinimum"]
        bounds.append((bound + 1, False) if _is_whole(schema, bound) else (bound, True))
    return max(bounds, default=None)  # an excluded bound sorts after the same one included, and is tighter


def _highest(schema: dict[str, Any]) -> tuple[float, bool] | None:
    """The effective upper bound and whether it is excluded itself."""
    bounds = []
    if is_number(schema.get("maximum")):
        bounds.append((schema["maximum"], False))
    if is_number(schema.get("exclusiveMaximum")):
        bound = schema["exclusiveMaximum"]
        bounds.append((bound - 1, False) if _is_whole(schema, bound) else (bound, True))
    return min(bounds, key=_tightness, default=None)


def _is_whole(schema: dict[str, Any], bound: float) -> bool:
    return schema.get("type") == "integer" and (isinstance(bound, int) or bound.is_integer())


def _tightness(upper: tuple[float, bool]) -> tuple[float, bool]:
    """Orders upper bounds, tightest first: an excluded bound before the same one included."""
    return upper[0], not upper[1]


def _required(schema: dict[str, Any]) -> dict[str, None]:
    written = schema.get("required")
    names = dict.fromkeys(name for name in written if isinstance(name, str)) if isinstance(written, list) else {}
    branches = schema.get("allOf")
    for branch in branches if isinstance(branches, list) else ():
        if isinstance(branch, dict):
            names.update(_required(branch))
    return names


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _mapping(schema: Any) -> dict[str, Any]:
    return schema if isinstance(schema, dict) else {}


def _same(old: Any, new: Any) -> bool:
    return bool(old == new) and _text(old) == _text(new)


def _text(value: Any) -> bytes:
    """Equal for equal JSON values: `1` and `1.0` are one number, `1` and `true` are not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return msgspec.json.encode(value, order="sorted")


def _change(kind: ChangeKind, where: str, text: str) -> SchemaChange:
    return SchemaChange(kind, where, f"`{where}` {text}" if where else f"it {text}")


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _listed(words: set[str]) -> str:
    return " or ".join(sorted(words))


def _show(value: Any) -> str:
    text = msgspec.json.encode(value).decode("utf-8", "replace")
    return text if len(text) <= 60 else text[:57] + "…"


def _shown(values: list[Any]) -> str:
    texts = [_show(value) for value in values[:3]]
    return ", ".join(texts) + (f" and {len(values) - 3} more" if len(values) > 3 else "")
