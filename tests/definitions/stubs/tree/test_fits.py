"""Whatever a schema accepts fits its type tree, and a tree is whole: every name declared once, legal, and the same each time."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from ferrule.contracts.type_tree import (
    Alias,
    ListOf,
    MapOf,
    NamedType,
    Nullable,
    RecordType,
    TupleOf,
    Type,
    TypeTree,
    Union,
)
from ferrule.definitions.stubs.tree import make_type_tree
from ferrule.schema.validation.samples import samples
from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.tree.oracle import Oracle, validator
from tests.definitions.stubs.tree.schemas import SCHEMAS, VALUES
from tests.schema.fitting.schemas import arguments, schema_of

_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")


def is_unsure(tree: TypeTree) -> bool:
    """Whether some schema says no type and is taken to mean one, so that values of others do not fit; or refers to nothing, so
    that validators disagree."""
    return any("says no type" in note.message or "not in this schema" in note.message for note in tree.notes)


def types_in(declaration: Any) -> list[Type]:
    """The types that a declaration mentions, at any depth."""
    match declaration:
        case RecordType():
            found = [member.type for member in declaration.members]
            found += [] if declaration.extra is None else [declaration.extra]
        case Union():
            found = [variant.type for variant in declaration.variants]
        case Alias():
            found = [declaration.type]
        case _:
            found = []
    for each in found:
        match each:
            case ListOf(inner) | MapOf(inner) | Nullable(inner):
                found.append(inner)
            case TupleOf(items, _, rest):
                found += [*items, *([] if rest is None else [rest])]
            case _:
                pass
    return found


def assert_whole(tree: TypeTree) -> None:
    """What every tree promises."""
    declared = {each.name: each for each in tree.declarations}
    assert len(declared) == len(tree.declarations)
    assert tree.declarations[0].name == tree.root.name == "GoInput"
    assert all(_NAME.fullmatch(name) for name in declared)
    for declaration in tree.declarations:
        for each in types_in(declaration):
            if isinstance(each, NamedType):
                assert each.name in declared
            if isinstance(each, Nullable):
                assert not isinstance(_seen_through(each.inner, declared), Nullable)
        if isinstance(declaration, Union):
            assert_apart(declaration, declared)
        if isinstance(declaration, RecordType):
            names = [member.name for member in declaration.members]
            assert len(set(names)) == len(names)
            assert (declaration.openness == "closed") == (declaration.extra is None)


def assert_apart(union: Union, declared: dict[str, Any]) -> None:
    """Variants are of different types, none of them nullable, and tags belong to one each."""
    assert len(union.variants) > 1
    assert len({repr(variant.type) for variant in union.variants}) == len(union.variants)
    assert len({variant.word for variant in union.variants}) == len(union.variants)
    assert all(
        variant.kinds and not isinstance(_seen_through(variant.type, declared), Nullable) for variant in union.variants
    )
    if union.tag is None:
        assert all(not variant.tags for variant in union.variants)
        return
    for variant in union.variants:
        assert variant.tags and isinstance(variant.type, NamedType)
        record = declared[variant.type.name]
        assert isinstance(record, RecordType)
        assert any(member.name == union.tag and member.is_required for member in record.members)


def _seen_through(made: Type, declared: dict[str, Any]) -> Type:
    for _ in range(10):
        if not (isinstance(made, NamedType) and isinstance(declared[made.name], Alias)):
            return made
        made = declared[made.name].type
    return made


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCHEMAS, st.lists(VALUES, max_size=15))
def test_what_a_schema_accepts_fits_its_types(schema: Any, values: list[Any]) -> None:
    tree = make_type_tree(schema, "GoInput")
    assert_whole(tree)
    valid = validator(schema)
    if valid is None or is_unsure(tree):
        return
    oracle = Oracle(schema, tree)
    note(msgspec.json.encode(schema).decode())
    for value in [*values, *samples(schema)]:
        if valid.is_valid(value) and ("type" in schema or isinstance(value, dict)):
            assert oracle.fits(value), (value, tree)


@pytest.mark.parametrize("seed", range(0, 400, 20))
def test_arguments_made_for_a_schema_fit_its_types(seed: int) -> None:
    for each in range(seed, seed + 20):
        schema = schema_of(Random(each))
        tree = make_type_tree(schema, "GoInput")
        assert_whole(tree)
        if not is_unsure(tree):
            oracle = Oracle(schema, tree)
            assert all(
                oracle.fits(value) for value in arguments(schema, 8) if "type" in schema or isinstance(value, dict)
            )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_of_the_catalog_fit(case: Any) -> None:
    tree = make_type_tree(case.schema, "GoInput")
    assert_whole(tree)
    assert all(Oracle(case.schema, tree).fits(value) for value in case.accepts)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCHEMAS)
def test_the_same_schema_gives_the_same_tree(schema: Any) -> None:
    again = msgspec.json.decode(msgspec.json.encode(schema))
    assert msgspec.json.encode(make_type_tree(schema, "GoInput")) == msgspec.json.encode(
        make_type_tree(again, "GoInput")
    )


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCHEMAS)
def test_names_that_are_taken_are_left_alone(schema: Any) -> None:
    names = [each.name for each in make_type_tree(schema, "GoInput").declarations[1:]]
    taken = {*names[::2], "GoA", "GoB", "GoOne"}
    before = set(taken)
    tree = make_type_tree(schema, "GoInput", taken=taken)
    assert_whole(tree)
    given_names = {each.name for each in tree.declarations}
    assert given_names.isdisjoint(before - {"GoInput"}) and given_names <= taken


_garbage: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "type",
                        "properties",
                        "required",
                        "items",
                        "prefixItems",
                        "additionalProperties",
                        "patternProperties",
                    ),
                    *(
                        "enum",
                        "const",
                        "anyOf",
                        "oneOf",
                        "allOf",
                        "not",
                        "if",
                        "then",
                        "else",
                        "$ref",
                        "$defs",
                        "$id",
                        "$anchor",
                    ),
                    *(
                        "dependentSchemas",
                        "dependencies",
                        "minimum",
                        "maximum",
                        "exclusiveMinimum",
                        "minItems",
                        "maxItems",
                    ),
                    *(
                        "title",
                        "description",
                        "examples",
                        "default",
                        "unevaluatedProperties",
                        "format",
                        "discriminator",
                        "a",
                    ),
                ]
            ),
            inner | st.sampled_from(["object", "array", "string", "#", "#/$defs/a", "#/properties/a"]),
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(_garbage)
def test_what_is_no_schema_gives_a_tree_all_the_same(schema: Any) -> None:
    assert_whole(make_type_tree(schema, "GoInput"))
