"""Rewrites unions for a provider, and records how to find a value's original branch later."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.value import JsonObject
from ferrule.schema.fitting.flattening import Flat
from ferrule.schema.fitting.keywords import append_words, type_of, types_of
from ferrule.schema.fitting.profile import NULL, nullable
from ferrule.schema.fitting.references import copy_standalone
from ferrule.schema.fitting.state import FittingState, Node, below
from ferrule.schema.fitting.steps import KEEP, CannotFit, FittedShape, Option, UnionChoice
from ferrule.schema.merging import key_of

_EVERY = frozenset({"object", "array", "string", "number", "boolean", "null"})
_MOST_CONSTANTS = 50
_MOST_SCHEMAS = 300
"""The most schemas of a branch that is stored with the steps."""
_MOST_BRANCHES = 500


def rewrite_union(
    state: FittingState, branches: list[Any], annotations: JsonObject, path: str, depth: int, words: list[str]
) -> Node | None:
    """Rewrites a schema for a value of which one branch must hold."""
    if len(branches) > _MOST_BRANCHES:
        raise CannotFit(f"a union of more than {_MOST_BRANCHES} branches; leave some out", below(path, "anyOf"))
    nodes: list[tuple[JsonObject, int, Any]] = []
    for at, branch in enumerate(branches):
        node = state.node(branch, below(path, f"anyOf/{at}"), depth)
        if node is not None and not any(node[0] == known[0] and node[1] == known[1] for known in nodes):
            nodes.append((*node, branch))
    if not nodes:
        return None
    real = [node for node in nodes if node[0] != NULL]
    if not real:
        return state.finish(dict(NULL), annotations, path, words), KEEP
    if len(real) == 1:
        fitted = real[0][0] if len(real) == len(nodes) else nullable(state.profile, real[0][0])
        return _annotate(state, fitted, annotations, path, words), real[0][1]
    step = KEEP
    # Where no branch is decoded, nobody has to tell them apart.
    if any(node[1] != KEEP for node in real):
        found = _choice(state, real, path)
        if found is None:
            state.record_change(
                path, "nobody could tell later which branch of the union was meant", "rewritten", "text"
            )
            return state.anything(annotations, path, words)
        step = state.step(found)
    fitted = {"anyOf": [schema for schema, _, _ in real]}
    if len(real) < len(nodes):
        fitted = nullable(state.profile, fitted)
    return state.finish(fitted, annotations, path, words), step


def _annotate(
    state: FittingState, fitted: JsonObject, annotations: JsonObject, path: str, words: list[str]
) -> JsonObject:
    """Returns a schema with the annotations around it; its own description follows theirs."""
    if not annotations and not words:
        return fitted
    own = fitted.get("description")
    bare = {
        keyword: said for keyword, said in fitted.items() if keyword not in annotations or keyword not in ("title",)
    }
    outer = annotations.get("description")
    # Up to draft 7 nothing counts that stands beside a `$ref`.
    if "$ref" in bare:
        bare = {"anyOf": [bare]}
    if isinstance(outer, str) and isinstance(own, str) and own != outer:
        bare["description"] = append_words(outer, [own])
    elif isinstance(outer, str):
        bare["description"] = outer
    return state.finish(bare, annotations, path, words)


def _choice(state: FittingState, nodes: list[tuple[JsonObject, int, object]], path: str) -> UnionChoice | None:
    """Returns how to tell the branches apart; None where some look alike and are decoded in different ways."""
    shapes = [shape_of(schema, state.definitions) for schema, _, _ in nodes]
    for at, (_, step, _) in enumerate(nodes):
        for other in range(at + 1, len(nodes)):
            if step != nodes[other][1] and not _are_apart(shapes[at], shapes[other]):
                return None
    were = [_original_types(state, branch, path) for _, _, branch in nodes]
    options = []
    for at, (_, step, branch) in enumerate(nodes):
        is_alone = all(at == other or were[at].isdisjoint(were[other]) for other in range(len(nodes)))
        accepts = ""
        if not is_alone:
            try:
                accepts = msgspec.json.encode(copy_standalone(branch, state.references, path, _MOST_SCHEMAS)).decode()
            except CannotFit:
                return None
        options.append(Option(shapes[at], were[at], step, accepts))
    return UnionChoice(tuple(options))


def _are_apart(one: FittedShape, other: FittedShape) -> bool:
    """Returns True when no value has both shapes."""
    shared = (one.types & other.types) - {"null"}  # null decodes to null in every branch
    if not shared:
        return True
    if shared != {"object"}:
        return False
    if other.allowed is not None and not one.required <= other.allowed:
        return True
    if one.allowed is not None and not other.required <= one.allowed:
        return True
    for name in (one.required | other.required) & one.constants.keys() & other.constants.keys():
        if {key_of(value) for value in one.constants[name]}.isdisjoint(map(key_of, other.constants[name])):
            return True
    return False


def shape_of(schema: JsonObject, definitions: JsonObject, depth: int = 0) -> FittedShape:
    """Returns the visible shape of a fitted schema."""
    if depth > 8:
        return FittedShape(_EVERY)
    if "$ref" in schema:
        target = definitions.get(schema["$ref"].rpartition("/")[2])
        return FittedShape(_EVERY) if target is None else shape_of(target, definitions, depth + 1)
    if "anyOf" in schema:
        inner = [shape_of(branch, definitions, depth + 1) for branch in schema["anyOf"]]
        if len(inner) == 1:
            return inner[0]
        types = frozenset(word for shape in inner for word in shape.types)
        return FittedShape(types | {"null"} if schema.get("nullable") else types)
    words = schema.get("type")
    said = [words] if isinstance(words, str) else words if isinstance(words, list) else None
    if said is None:
        return FittedShape(frozenset(map(type_of, schema["enum"])) if "enum" in schema else _EVERY)
    types = frozenset("number" if word == "integer" else word for word in said)
    if schema.get("nullable"):
        types |= {"null"}
    if "object" not in types:
        return FittedShape(types)
    properties = schema.get("properties", {})
    return FittedShape(
        types,
        frozenset(schema.get("required", ())),
        frozenset(properties) if schema.get("additionalProperties") is False else None,
        {
            name: tuple(inner["enum"])
            for name, inner in properties.items()
            if "enum" in inner and len(inner["enum"]) <= _MOST_CONSTANTS and not inner.get("nullable")
        },
    )


def _original_types(state: FittingState, branch: object, path: str) -> frozenset[str]:
    """Returns the types that an original branch accepts, as its author intends."""
    flat = state.flat(branch, path) if isinstance(branch, dict) else Flat({}, [], [])
    if flat is None:
        return frozenset()
    keywords = flat.keywords
    words = types_of(keywords)
    if words:
        return frozenset("number" if word == "integer" else word for word in words)
    if isinstance(keywords.get("enum"), list):
        return frozenset(map(type_of, keywords["enum"]))
    return frozenset({type_of(keywords["const"])}) if "const" in keywords else _EVERY
