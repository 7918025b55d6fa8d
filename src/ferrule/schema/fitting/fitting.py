"""Fits a tool's schema to a provider, with the steps that decode an answer. The same schema is fitted once.

The root is always an object for a provider, whatever the original says. `rewriting.py` and `light.py` rewrite what lies
below it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.value import JsonObject
from ferrule.schema.fitting.flattening import Flat
from ferrule.schema.fitting.keywords import append_words, types_of
from ferrule.schema.fitting.light import Light
from ferrule.schema.fitting.objects import legal_names, rewrite_object
from ferrule.schema.fitting.profile import Profile
from ferrule.schema.fitting.rewriting import Rewriting
from ferrule.schema.fitting.state import CONDITIONAL, FittingState
from ferrule.schema.fitting.steps import KEEP, CannotFit, FittedMember, FittedSchema, Members, Wrapped, drop_idle_steps
from ferrule.schema.references import draft_by_name, root_references

WRAP = "arguments"
"""The property that holds the original root, where that cannot be the root itself."""
_BY_NAME = (*CONDITIONAL, "patternProperties", "propertyNames", "unevaluatedProperties")
"""Keywords that may refer to properties by their names."""
_NEVER = "it accepts no arguments at all; correct the schema"


def rewrite_schema(schema: object, profile: Profile, draft: int) -> FittedSchema:
    """Rewrites a schema for a provider that takes some keywords only."""
    state = Rewriting(schema, profile, draft)
    flat = _flat(state, schema)
    words: list[str] = []
    unions = state.alternatives(flat.unions, "", words)
    step = KEEP
    if unions or _is_wrapped(flat.keywords, frozenset({"enum", "const"})):
        # One level deeper than the root, since it becomes a property of it.
        node = state.node(schema, "", 2)
        if node is None:
            raise CannotFit(_NEVER)
        fitted, step = _wrap(state, node[0], node[1], words)
    else:
        state.drop_conditions(flat, "", words)
        found = rewrite_object(state, flat.keywords, "", 1, words, is_root=True)
        if found is None:
            raise CannotFit(_NEVER)
        fitted, step = found
    if definitions := state.collect_definitions():
        fitted["$defs"] = definitions
    state.within_limits()
    return FittedSchema(fitted, drop_idle_steps(state.steps, step), tuple(state.changes))


def adapt_schema(schema: Any, profile: Profile, draft: int) -> FittedSchema:
    """Adapts a schema for a provider that takes any keyword, but not at the root."""
    state = Light(schema, profile, draft)
    is_plain = isinstance(schema, dict) and "$ref" not in schema and schema.keys().isdisjoint(profile.root_refused)
    flat = Flat(schema, [], []) if is_plain else _flat(state, schema)
    words: list[str] = []
    for keyword, operand in flat.left_out:
        state.describe_dropped("", keyword, operand, words)
    unions = state.alternatives(flat.unions, "", words)
    step = KEEP
    if unions or _is_wrapped(flat.keywords, profile.root_refused):
        inner = state.adapt(_without_homes(schema), "", 1)
        fitted, step = _wrap(state, inner, KEEP, words)
    else:
        fitted = _adapt_object(state, flat.keywords, words)
        names = legal_names(state, fitted["properties"], "")
        if names:
            fitted, step = _rename_members(state, fitted, names, words)
    if words:
        fitted["description"] = append_words(fitted.get("description"), words)
    homed = state.collect_definitions()
    for home, definitions in homed.items():
        fitted[home] = definitions
    for home in ("$defs", "definitions"):
        said = schema.get(home) if isinstance(schema, dict) else None
        for name in said if isinstance(said, dict) else ():
            if name not in homed.get(home, {}):
                state.record_change(f"{home}/{name}", "nothing refers to it", "dropped")
    return FittedSchema(fitted, drop_idle_steps(state.steps, step), tuple(state.changes))


def _flat(state: FittingState, schema: object) -> Flat:
    flat = state.flat(schema, "")
    if flat is None:
        raise CannotFit(_NEVER)
    return flat


def _is_wrapped(keywords: JsonObject, refused: frozenset[str]) -> bool:
    """Returns True when the root is something that an object with properties cannot express."""
    if any(word in keywords and word in refused for word in ("enum", "const")):
        return True
    types = types_of(keywords)
    return bool(types) and "object" not in types


def _wrap(state: FittingState, inner: JsonObject, step: int, words: list[str]) -> tuple[JsonObject, int]:
    words.clear()  # the schema inside says all of it
    state.record_change("", f"{state.profile.title} takes an object with properties as a root", "rewritten", WRAP)
    fitted: JsonObject = {"type": "object", "properties": {WRAP: inner}, "required": [WRAP]}
    if state.profile.is_closed:
        fitted["additionalProperties"] = False
    return fitted, state.step(Wrapped(WRAP, step))


def _adapt_object(state: Light, keywords: JsonObject, words: list[str]) -> JsonObject:
    """Adapts the root as an object with properties."""
    kept = dict(keywords)
    for keyword in ("not", *(word for word in ("$schema",) if _is_other_draft(kept, state.profile))):
        if keyword in kept and (keyword == "$schema" or keyword in state.profile.root_refused):
            state.describe_dropped("", keyword, kept.pop(keyword), words)
    if kept.get("type") != "object":
        state.record_change("type", "arguments are always an object", "default", "object")
    fitted = state.adapt({**kept, "type": "object"}, "", 1)
    if not isinstance(fitted.get("properties"), dict):
        fitted = {**fitted, "properties": {}}
    return {word: said for word, said in fitted.items() if word not in ("$defs", "definitions")}


def _is_other_draft(keywords: JsonObject, profile: Profile) -> bool:
    said = keywords.get("$schema")
    return isinstance(said, str) and (("2020-12" in said) != (profile.draft > 7))


def _without_homes(schema: object) -> object:
    if not isinstance(schema, dict):
        return schema
    return {word: said for word, said in schema.items() if word not in ("$defs", "definitions", "$schema", "$id")}


def _rename_members(
    state: Light, fitted: JsonObject, names: dict[str, str], words: list[str]
) -> tuple[JsonObject, int]:
    for keyword in _BY_NAME:
        if keyword in fitted:
            state.describe_dropped("", keyword, fitted[keyword], words)
    kept = {word: said for word, said in fitted.items() if word not in _BY_NAME}
    if "patternProperties" in fitted:
        kept.pop("additionalProperties", None)  # it would refuse those that matched a pattern
    kept["properties"] = {names.get(name, name): member for name, member in fitted["properties"].items()}
    if isinstance(kept.get("required"), list):
        kept["required"] = [names.get(name, name) for name in kept["required"]]
    members = tuple(FittedMember(shown, name) for name, shown in names.items())
    return kept, state.step(Members(members, is_open=kept.get("additionalProperties") is not False))


_KEPT = 20_000
_LARGEST = 32_768
"""The number of cached schemas, and the size up to which one is cached."""
_known: dict[tuple[str, bytes], tuple[Profile, FittedSchema | CannotFit]] = {}


def fit(schema: JsonObject, profile: Profile) -> FittedSchema:
    """Fits the schema to a provider. Raises CannotFit. The result is shared: read it, do not change it."""
    try:
        written = msgspec.json.encode(schema)
    except RecursionError:
        raise CannotFit("it is nested too deep; make it flatter") from None
    except (TypeError, ValueError) as reason:
        raise CannotFit(f"it cannot be written as JSON ({reason}); correct it") from None
    key = (profile.name, written)
    known = _known.get(key)
    # The key holds only a name; another profile of that name must not get the answer for this one.
    if known is None or known[0] is not profile:
        known = profile, _fit(schema, written, profile)
        # Very large schemas would crowd out the rest of the cache.
        if len(written) <= _LARGEST:
            while len(_known) >= _KEPT:
                _known.pop(next(iter(_known)), None)
            _known[key] = known
    # Raised as a new exception: the cached one would collect the traceback of every caller.
    if isinstance(known[1], CannotFit):
        raise CannotFit(known[1].reason, known[1].path)
    return known[1]


def _fit(schema: object, written: bytes, profile: Profile) -> FittedSchema | CannotFit:
    draft = _draft_of(schema, written)
    if (b'"id":' if draft == 4 else b'"$id":') in written:
        schema = root_references(schema)
    try:
        return (
            adapt_schema(schema, profile, draft) if profile.accepted is None else rewrite_schema(schema, profile, draft)
        )
    except CannotFit as reason:
        return reason


def _draft_of(schema: object, written: bytes) -> int:
    """Returns the draft a schema is read by: the stated one, or draft 7 where only that has lists under `items`."""
    if isinstance(schema, dict) and isinstance(schema.get("$schema"), str):
        return draft_by_name(schema)
    return 7 if b'"items":[' in written else 2020
