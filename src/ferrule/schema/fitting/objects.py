"""Objects and maps, as a provider takes them.

A provider that takes no maps gets a list of pairs instead; the steps convert an answer back.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ferrule.model.value import JsonObject, is_integer
from ferrule.schema.fitting.profile import nullable
from ferrule.schema.fitting.state import MOST_SCHEMAS, FittingState, Node, below
from ferrule.schema.fitting.steps import KEEP, KEY, VALUE, CannotFit, FittedMember, Members, Pairs

OTHERS = "other_members"
"""The property for the members of an object that are not named, where a provider wants every member named."""
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_]")
_DESCRIBED = ("minProperties", "maxProperties", "propertyNames", "unevaluatedProperties")


class _Others(NamedTuple):
    """The members of an object that it does not name."""

    value: Any
    """The schema of their values; False: there are none; None: unrestricted."""
    patterns: JsonObject


def rewrite_object(
    state: FittingState, keywords: JsonObject, path: str, depth: int, words: list[str], *, is_root: bool = False
) -> Node | None:
    """Rewrites a schema of an object."""
    profile = state.profile
    named = _properties_of(keywords)
    if len(named) > MOST_SCHEMAS:
        raise CannotFit(f"an object with more than {MOST_SCHEMAS:,} properties; leave some out", path)
    others = _others(keywords)
    is_map = others.value is not False and others.value is not None
    # A list of pairs nests one level deeper than a map, and one more as a property beside others.
    inside = 0 if not is_map or profile.allows_maps else 2 if named or is_root else 1
    if profile.deepest is not None and depth + inside > profile.deepest:
        return state.cut(path, f"{profile.title} takes schemas {profile.deepest} levels deep")
    if not profile.allows_maps and not named and not is_root:
        if others.value is None:
            return state.anything(_without_members(keywords), path, words, "a JSON object")
        if is_map:
            return _pairs(state, keywords, others, path, depth, words)
    return _members(state, keywords, named, others, path, depth, words, is_root=is_root)


def _members(
    state: FittingState,
    keywords: JsonObject,
    named: JsonObject,
    others: _Others,
    path: str,
    depth: int,
    words: list[str],
    *,
    is_root: bool,
) -> Node | None:
    profile = state.profile
    needed = keywords.get("required")
    required = {name for name in needed if isinstance(name, str)} if isinstance(needed, list) else set()
    properties: JsonObject = {}
    listed: list[str] = []
    members: list[FittedMember] = []
    names = legal_names(state, named, path) if is_root or not profile.are_only_root_names_ruled else {}
    inside = below(path, "properties")
    for name, schema in named.items():
        node = state.node(schema, f"{inside}/{name}", depth + 1)
        if node is None:
            if name in required:
                return None
            state.record_change(f"{inside}/{name}", "no value fits it, so it is left out", "dropped")
            continue
        fitted, step = node
        shown = names.get(name, name)
        is_optional = name not in required
        if is_optional and profile.is_all_required:
            is_optional = False
            properties[shown] = _optional(state, fitted, f"{inside}/{name}")
            members.append(FittedMember(shown, None if shown == name else name, step, True))
        else:
            properties[shown] = fitted
            members.append(FittedMember(shown, None if shown == name else name, step))
        if not is_optional:
            listed.append(shown)
        state.characters += len(shown)
        state.optional += is_optional
        state.unions += "anyOf" in fitted or type(fitted.get("type")) is list
    state.properties += len(properties)
    fitted = {"type": "object", "properties": properties}
    more = _more(state, keywords, others, fitted, listed, path, depth, words)
    if listed:
        fitted["required"] = listed
    elif profile.is_all_required:
        fitted["required"] = []
    if profile.is_closed:
        fitted["additionalProperties"] = False
    if not properties and not profile.needs_properties and not is_root:
        del fitted["properties"]
    for keyword in _DESCRIBED:
        if keyword in keywords:
            _fit_size(
                state,
                keyword,
                keywords[keyword],
                fitted,
                path,
                words,
                # Members that were added, or sent as null, would be counted too.
                is_plain=more is None and not profile.is_all_required,
            )
    step = KEEP
    if more is not None:
        step = state.step(Members(tuple(members), others=more[0], others_step=more[1]))
    elif doing := tuple(one for one in members if one.step != KEEP or one.is_absent_null or one.was is not None):
        step = state.step(Members(doing))
    return state.finish(fitted, keywords, path, words), step


def _optional(state: FittingState, fitted: JsonObject, path: str) -> JsonObject:
    """Rewrites a property that may be left out, where a provider wants every property: null leaves it out."""
    found = nullable(state.profile, fitted)
    if found is fitted:
        state.record_change(path, "null cannot be told from left out here, and is taken as left out", "dropped")
    else:
        why = f"{state.profile.title} wants every property, so null says that it is left out"
        state.record_change(path, why, "rewritten", "null")
    return found


def _more(
    state: FittingState,
    keywords: JsonObject,
    others: _Others,
    fitted: JsonObject,
    listed: list[str],
    path: str,
    depth: int,
    words: list[str],
) -> tuple[str, int] | None:
    """Adds members that are not named: as they are, or as a property with a list of pairs, whose name and step are
    returned."""
    profile = state.profile
    if profile.allows_maps:
        _open(state, keywords, others, fitted, path, depth, words)
        return None
    if others.value is False:
        if not profile.is_closed and "additionalProperties" in keywords:
            state.record_change(below(path, "additionalProperties"), f"{profile.title} does not take it", "dropped")
        return None
    if others.value is None:
        if profile.is_closed:
            state.record_change(
                path, "members that are not named are not offered", "default", "additionalProperties: false"
            )
        return None
    name, properties = OTHERS, fitted["properties"]
    while name in properties:
        name += "_"
    listing, step = _pair_list(state, keywords, others, path, depth + 1)
    properties[name] = {**listing, "description": "Members that are not named here, as pairs of a key and a value"}
    listed.append(name)
    state.record_change(path, f"{profile.title} wants every member named", "rewritten", name)
    return name, step


def _open(
    state: FittingState,
    keywords: JsonObject,
    others: _Others,
    fitted: JsonObject,
    path: str,
    depth: int,
    words: list[str],
) -> None:
    accepted = state.profile.accepted
    said = keywords.get("additionalProperties")
    if accepted is None or "additionalProperties" in accepted:
        if others.patterns:
            state.describe_dropped(path, "patternProperties", others.patterns, words)
        elif others.value is not None and said is not None:
            node = state.node(others.value, below(path, "additionalProperties"), depth + 1)
            fitted["additionalProperties"] = False if node is None else node[0]
        return
    for keyword in ("additionalProperties", "patternProperties"):
        if keyword in keywords:
            state.describe_dropped(path, keyword, keywords[keyword], words)


def _pairs(state: FittingState, keywords: JsonObject, others: _Others, path: str, depth: int, words: list[str]) -> Node:
    """Rewrites a map as a list of pairs."""
    fitted, step = _pair_list(state, keywords, others, path, depth)
    state.record_change(
        path, f"{state.profile.title} takes no maps", "rewritten", "a list of pairs of a key and a value"
    )
    for keyword, instead in (("minProperties", "minItems"), ("maxProperties", "maxItems")):
        operand = keywords.get(keyword)
        if not is_integer(operand):
            continue
        highest = state.profile.highest_min_items
        is_high = keyword == "minProperties" and highest is not None and operand > highest
        if (state.profile.accepted is None or instead in state.profile.accepted) and not is_high:
            fitted[instead] = operand
        else:
            state.describe_dropped(path, keyword, operand, words)
    words.insert(0, "a list of pairs of a key and a value, each key once")
    return state.finish(fitted, _without_members(keywords), path, words), state.step(Pairs(step))


def _pair_list(state: FittingState, keywords: JsonObject, others: _Others, path: str, depth: int) -> Node:
    value: Any = others.value
    if others.patterns:
        branches = list(others.patterns.values())
        value = {"anyOf": branches if keywords.get("additionalProperties") is False else [*branches, others.value]}
    where = below(path, "additionalProperties")
    node = state.node(value, where, depth + 2)
    fitted, step = node if node is not None else ({"type": "string"}, KEEP)
    pair: JsonObject = {
        "type": "object",
        "properties": {KEY: _key(state, keywords, others, path), VALUE: fitted},
        "required": [KEY, VALUE],
    }
    state.properties += 2
    state.characters += len(KEY) + len(VALUE)
    state.unions += "anyOf" in fitted or type(fitted.get("type")) is list
    if state.profile.is_closed:
        pair["additionalProperties"] = False
    listing: JsonObject = {"type": "array", "items": pair}
    if node is None and (state.profile.accepted is None or "maxItems" in state.profile.accepted):
        listing["maxItems"] = 0
    return listing, step


def _key(state: FittingState, keywords: JsonObject, others: _Others, path: str) -> JsonObject:
    rule = keywords.get("propertyNames")
    if rule is None and len(others.patterns) == 1 and keywords.get("additionalProperties") is False:
        rule = {"pattern": next(iter(others.patterns))}
    if not isinstance(rule, dict) or not rule:
        return {"type": "string"}
    # A rule about names need not state a type, and providers want one for every value.
    node = state.node({"allOf": [{"type": "string"}, rule]}, below(path, "propertyNames"), 1)
    return node[0] if node is not None and node[1] == KEEP else {"type": "string"}


def _fit_size(
    state: FittingState,
    keyword: str,
    operand: object,
    fitted: JsonObject,
    path: str,
    words: list[str],
    *,
    is_plain: bool,
) -> None:
    accepted = state.profile.accepted
    if is_plain and (accepted is None or keyword in accepted) and keyword in ("minProperties", "maxProperties"):
        fitted[keyword] = operand
    else:
        state.describe_dropped(path, keyword, operand, words)


def _properties_of(keywords: JsonObject) -> JsonObject:
    """Returns the properties, with those that are only known to be required."""
    said = keywords.get("properties")
    named: JsonObject = said if isinstance(said, dict) else {}
    needed = keywords.get("required")
    missing = (
        [name for name in needed if isinstance(name, str) and name not in named] if isinstance(needed, list) else []
    )
    if not missing:
        return named
    otherwise = True if "patternProperties" in keywords else keywords.get("additionalProperties", True)
    return named | dict.fromkeys(missing, otherwise)


def _others(keywords: JsonObject) -> _Others:
    said = keywords.get("patternProperties")
    patterns: JsonObject = said if isinstance(said, dict) else {}
    value = keywords.get("additionalProperties")
    if patterns:
        # Names that match a pattern are taken even where all others are refused.
        return _Others(True if value is None or value is False else value, patterns)
    if value is None and keywords.get("unevaluatedProperties", False) is not False:
        return _Others(True, patterns)
    return _Others(value, patterns)


def _without_members(keywords: JsonObject) -> JsonObject:
    return {
        word: said for word, said in keywords.items() if word not in ("properties", "required", "additionalProperties")
    }


def legal_names(state: FittingState, named: JsonObject, path: str) -> dict[str, str]:
    """Returns other names for properties whose own name a provider rejects; no two get the same."""
    rule = state.names
    if rule is None:
        return {}
    bad = [name for name in named if rule.fullmatch(name) is None]
    if not bad:
        return {}
    # Without `_` at the end: decoding takes a changed name with more `_` behind it for an escaped one (`is_escaped`).
    taken = {name.rstrip("_") for name in named}
    counts: dict[str, int] = {}
    found: dict[str, str] = {}
    for name in bad:
        stem = _ILLEGAL.sub("_", name[:60])
        stem = stem if stem[:1].isalpha() or stem[:1] == "_" else f"_{stem}"[:60]
        shown, count = stem, counts.get(stem, 1)
        while shown.rstrip("_") in taken:
            count += 1
            shown = f"{stem[: 59 - len(str(count))]}_{count}"
        counts[stem] = count
        taken.add(shown.rstrip("_"))
        found[name] = shown
        where = f"{below(path, 'properties')}/{name}"
        state.record_change(where, f"{state.profile.title} does not take this name", "rewritten", shown)
    return found
