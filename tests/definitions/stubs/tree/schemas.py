"""Random schemas with every keyword that shapes a type, and values to try on them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c", "kind", "user-id", "user_id", "", "é"])
TEXTS = st.sampled_from(["", "a", "b", "c", "ab", "x-1", "first", "second"])
SCALARS: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, 2, 1.0, -1, 0.5, "", "a", "b", "first", "second"]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
ANCHORED = {"$anchor": "spot", "type": "object", "properties": {"a": {"type": "integer"}}}
DEFINITIONS = ("One", "Two", "odd/na~me %")
REFERENCES = st.sampled_from(
    ["#", "#/$defs/One", "#/$defs/Two", "#/$defs/odd~1na~0me%20%25", "#/definitions/Old", "#spot", "#/$defs/spot"]
)


def _some(**said: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={word.rstrip("_"): operand for word, operand in said.items()})


def _joined(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(lambda said: {word: operand for part in said for word, operand in part.items()})


_WORDS = _some(
    title=TEXTS, description=TEXTS, default=SCALARS, deprecated=st.booleans(), examples=st.lists(SCALARS, max_size=2)
)
_BOUNDS = st.sampled_from([-1, 0, 1, 2, 0.5, 1.5])
_COUNTS = st.integers(0, 2)


def leaves() -> st.SearchStrategy[Any]:
    """Schemas without others in them."""
    return st.one_of(
        _joined(
            st.just({"type": "string"}),
            _some(format=st.sampled_from(["date", "uri"]), maxLength=_COUNTS, pattern=TEXTS),
        ),
        _joined(
            st.fixed_dictionaries({"type": st.sampled_from(["integer", "number", ["integer", "null"]])}),
            _some(minimum=_BOUNDS, exclusiveMaximum=_BOUNDS, maximum=_BOUNDS, multipleOf=st.sampled_from([1, 0.5])),
        ),
        st.sampled_from(["boolean", "null", "array", "object"]).map(lambda word: {"type": word}),
        st.lists(
            st.sampled_from(["string", "integer", "number", "null", "object", "array", "boolean"]),
            min_size=1,
            unique=True,
        ).map(lambda words: {"type": words}),
        st.lists(SCALARS | VALUES, min_size=1, max_size=4).map(lambda values: {"enum": values}),
        (SCALARS | VALUES).map(lambda value: {"const": value}),
        st.fixed_dictionaries({"const": SCALARS, "title": TEXTS}),
        REFERENCES.map(lambda ref: {"$ref": ref}),
        st.booleans() | st.just({}),
    )


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _joined(
        st.just({"type": "object"}),
        _parts(inner),
        _some(
            patternProperties=st.dictionaries(st.sampled_from(["^a", "."]), inner, max_size=2),
            unevaluatedProperties=inner,
            dependentRequired=st.just({"a": ["b"]}),
            dependentSchemas=st.dictionaries(NAMES, _parts(inner), max_size=1),
            if_=st.just({"required": ["kind"]}),
            then=_parts(inner),
            else_=_parts(inner),
            propertyNames=st.just({"maxLength": 4}),
            minProperties=_COUNTS,
            nullable=st.booleans(),
        ),
    )


def _parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """What branches say about an object around them."""
    return _some(
        properties=st.dictionaries(NAMES, inner, max_size=3),
        required=st.lists(NAMES, max_size=2, unique=True),
        additionalProperties=inner,
    )


def _lists(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _joined(
        st.just({"type": "array"}),
        _some(
            items=inner,
            prefixItems=st.lists(inner, min_size=1, max_size=2),
            minItems=_COUNTS,
            maxItems=_COUNTS,
            uniqueItems=st.booleans(),
            unevaluatedItems=inner,
            contains=inner,
        ),
    )


def _tagged(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    def branch(word: str) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.fixed_dictionaries({"kind": st.just({"const": word}), "a": inner}),
                "required": st.sampled_from([["kind"], ["kind", "a"], ["a"]]),
            }
        )

    return st.tuples(branch("first"), branch("second")).map(lambda branches: {"oneOf": list(branches)})


def _unions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    branches = st.lists(inner | _parts(inner), min_size=1, max_size=3)
    return _joined(
        st.one_of(
            *(st.fixed_dictionaries({word: branches}) for word in ("anyOf", "oneOf", "allOf")),
            st.fixed_dictionaries({"anyOf": branches, "oneOf": branches}),
            _tagged(inner),
        ),
        _WORDS,
        st.just({}) | _objects(inner) | leaves().filter(lambda leaf: isinstance(leaf, dict)),
    )


NODES: st.SearchStrategy[Any] = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        _objects(inner), _lists(inner), _unions(inner), _tagged(inner), _joined(_objects(inner), _WORDS)
    ),
    max_leaves=6,
)
DRAFTS = st.sampled_from(
    [None, None, None]
    + [f"http://json-schema.org/draft-0{each}/schema#" for each in (6, 7)]
    + ["https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema"]
)
SCHEMAS: st.SearchStrategy[Any] = st.tuples(
    _joined(_objects(NODES), _WORDS) | NODES, st.lists(NODES, min_size=3, max_size=3), NODES, DRAFTS
).map(
    lambda parts: (
        ({} if parts[3] is None else {"$schema": parts[3]})
        | {
            **(parts[0] if isinstance(parts[0], dict) else {"allOf": [parts[0]]}),
            "$defs": dict(zip(DEFINITIONS, parts[1], strict=True)) | {"spot": ANCHORED},
            "definitions": {"Old": parts[2]},
        }
    )
)
"""Roots with definitions that anything in them may refer to."""
