"""Records as classes, in each of the flavours."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from ferrule.contracts.type_tree import Record
from ferrule.definitions.stubs.languages.python.annotations import Annotations
from ferrule.definitions.stubs.languages.python.records import (
    class_of,
    extra_name,
    is_plain_name,
    member_names,
    native_tags,
    record_of,
)
from tests.definitions.stubs.languages.plans import member_tree, tree_of


def root_of(schema: dict[str, Any]) -> Record:
    root = tree_of({"type": "object", **schema}).declarations[0]
    assert isinstance(root, Record)
    return root


def written(flavour: str, **schema: Any) -> str:
    tree = tree_of({"type": "object", **schema})
    annotations = Annotations(tree, flavour)
    text = "\n".join(class_of(record_of(root_of(schema), annotations, native_tags(tree).get("GetWeatherInput"))))
    ast.parse(text)
    return text


def _joined(text: str) -> str:
    """The text with each statement on one line."""
    return re.sub(r"\(\n\s+|,?\n\s+\)", lambda found: "(" if "(" in found[0] else ")", text)


THREE = "    maybe: str | UnsetType | None = UNSET"
MEMBERS = {"user-id": {"type": "string"}, "left": {"type": "integer"}, "maybe": {"type": ["string", "null"]}}


@pytest.mark.parametrize(
    ("flavour", "lines"),
    [
        (
            "msgspec",
            [
                '    user_id: str = msgspec.field(name="user-id")',
                "    left: int | None = None",
                "    maybe: str | UnsetType | None = UNSET",
            ],
        ),
        (
            "pydantic",
            [
                '    user_id: str = Field(validation_alias="user-id", serialization_alias="user-id")',
                "    left: int | None = None",
                "    maybe: str | None = None",
            ],
        ),
        ("dataclass", ["    user_id: str", "    left: int | None = None", THREE]),
        ("typeddict", ['        "user-id": "str",', '        "left": NotRequired["int"],']),
    ],
)
def test_a_member_tells_left_out_from_null_as_its_flavour_can(flavour: str, lines: list[str]) -> None:
    text = written(flavour, properties=MEMBERS, required=["user-id"])
    for line in lines:
        assert line in _joined(text)


@pytest.mark.parametrize(
    ("flavour", "closed", "opened"),
    [
        ("msgspec", "forbid_unknown_fields=True", "extra: dict[str, int]"),
        ("pydantic", 'extra="forbid"', 'extra="allow"'),
        ("dataclass", "pass", "extra: dict[str, int]"),
    ],
)
def test_other_members_are_refused_or_kept(flavour: str, closed: str, opened: str) -> None:
    assert closed in written(flavour, properties={}, additionalProperties=False)
    assert opened in written(flavour, properties={"a": {}}, additionalProperties={"type": "integer"})


def test_names_of_members_hide_neither_keywords_nor_types() -> None:
    record = root_of({"properties": {name: {} for name in ("class", "list", "model_dump", "userId", "user-id")}})
    names = member_names(record, "pydantic")
    assert not {"class", "list", "model_dump"} & set(names.values())
    assert len(set(names.values())) == 5 and all(name.isidentifier() for name in names.values())
    assert member_names(record, "typeddict")["class"] == "class"


def test_what_holds_other_members_is_called_like_none_of_them() -> None:
    record = root_of({"properties": {"extra": {}, "extra_members": {}}})
    assert extra_name(record, member_names(record, "dataclass")) == "extra_members_2"


def variants(*kinds: Any, **more: Any) -> dict[str, tuple[str, str | int]]:
    """The tags that classes stand for, of a union by the member `kind`."""
    branches = [
        {"type": "object", "properties": {"kind": kind, f"x{at}": {}}, "required": ["kind"], **more}
        for at, kind in enumerate(kinds)
    ]
    return native_tags(member_tree({"oneOf": branches}))


def test_records_that_msgspec_tells_apart_stand_for_their_tag() -> None:
    assert sorted(variants({"const": "cat"}, {"const": "dog"}).values()) == [("kind", "cat"), ("kind", "dog")]
    assert sorted(variants({"const": 1}, {"const": 2}).values()) == [("kind", 1), ("kind", 2)]


def test_records_that_msgspec_cannot_tell_apart_keep_their_member() -> None:
    assert variants({"const": "cat"}, {"enum": ["dog", "wolf"]}) == {}
    assert variants({"const": "cat"}, {"const": 2}) == {}
    assert variants({"const": "cat"}, {"const": "dog"}, additionalProperties={}) == {}


@pytest.mark.parametrize(
    ("name", "expected"), [("a b", True), ("", False), ('"', False), ("a\n", False), ("größe", True)]
)
def test_msgspec_takes_names_that_json_need_not_escape(name: str, expected: bool) -> None:
    assert is_plain_name(name) is expected
