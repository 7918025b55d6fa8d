"""Findings are placed at the line where a person would look for them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.definitions.compiler.locate import find_places, locate
from ferrule.definitions.compiler.read import read
from ferrule.model.diagnostic import Finding
from ferrule.model.document import Source
from ferrule.model.value import JsonValue, Path
from tests.definitions.compiler.reading import one
from tests.definitions.compiler.texts import DEFINITION, damaged_texts, dumped_texts


@settings(max_examples=300, deadline=None)
@given(st.one_of(damaged_texts(), dumped_texts()))
def test_every_value_that_was_read_has_a_place(text: str) -> None:
    lines = text.count("\n") + 2
    for document in read(Source("a.yaml", text.encode("utf-8", "surrogatepass"))):
        if document.is_parsed:
            find_places(document)
            findings = [Finding("X-1", path, "") for path in _paths(document.value)]
            for located in locate(document, findings):
                assert 1 <= located.span.line <= lines
                assert located.span.column >= 1


def _paths(value: JsonValue, path: Path = ()) -> list[Path]:
    found = [path]
    if isinstance(value, dict):
        for key, member in value.items():
            found += _paths(member, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _paths(item, (*path, index))
    return found


def lines_at(name: str, text: str, *paths: Path) -> list[int]:
    document = one(name, text)
    return [located.span.line for located in locate(document, [Finding("X-1", path, "") for path in paths])]


def test_places_in_front_matter() -> None:
    text = f"---\n{DEFINITION}---\n"
    wanted: list[tuple[Path, int]] = [
        (("spec_version",), 2),
        (("meta", "description"), 7),
        (("meta", "missing"), 5),
        (("missing",), 1),
        (("items", 1), 21),
        (("items", 1, "missing"), 21),
        (("items", 1, "nested", 1, "c"), 25),
        (("error_codes", "400", "meaning"), 29),
        (("meta", "tags", 2), 15),
    ]
    assert lines_at("x.tool.md", text, *(path for path, _ in wanted)) == [line for _, line in wanted]


def test_a_list_item_that_begins_below_its_dash() -> None:
    text = "a:\n  -\n    b: 1\n  - c: 2\n"
    assert lines_at("a.yaml", text, ("a", 0), ("a", 0, "missing"), ("a", 1), ("a", 1, "missing")) == [3, 2, 4, 4]


def test_a_defect_in_an_anchored_node_is_placed_where_it_is_written() -> None:
    text = "one: &x\n  a: 1\ntwo: *x\nthree:\n  <<: *x\n  b: 2\n"
    paths: list[Path] = [("two", "a"), ("three", "a"), ("three", "b"), ("two", "missing"), ("two",)]
    assert lines_at("a.yaml", text, *paths) == [2, 2, 6, 1, 3]


def test_places_in_json() -> None:
    text = '\n{"id": 1,\n "tools": [\n  {"a":\n    {"b": 2}},\n  {\n   "a": 3}\n ]\n}\n'
    paths: list[Path] = [
        ("id",),
        ("tools", 0, "a", "b"),
        ("tools", 0, "a", "missing"),
        ("tools", 1, "missing"),
        ("missing",),
    ]
    assert lines_at("a.json", text, *paths) == [2, 5, 4, 6, 1]


def test_breaks_that_only_yaml_counts_do_not_shift_lines() -> None:
    assert lines_at("a.yaml", 'a: "x\u2028y"\nb: &q 1\nc: *q\n', ("b",), ("c",)) == [2, 3]
