"""A document knows whether it was parsed, and where each of its values is written."""

from __future__ import annotations

import pytest

from ferrule.model.document import Document, Issue, IssueKind, Node, Places, Source, Span
from ferrule.model.value import Path


def node(written: Path, line: int, **children: Node) -> Node:
    """A value on a line of its own."""
    made = Node(Span(line, 1, line, 9), Span(line, 1, line, 2), written)
    made.children.update(children)
    return made


@pytest.mark.parametrize(("file", "name"), [("tools/a.yaml", "a.yaml"), ("a.yaml", "a.yaml"), ("x/y/", "")])
def test_a_source_is_called_by_the_last_part_of_its_path(file: str, name: str) -> None:
    assert Source(file, b"").name == name


@pytest.mark.parametrize(
    ("kind", "is_parsed"),
    [
        ("syntax", False),
        ("front_matter", False),
        ("duplicate_key", True),
        ("recursion", True),
        ("extra_document", True),
    ],
)
def test_a_document_that_could_not_be_parsed_has_no_value_to_check(kind: IssueKind, is_parsed: bool) -> None:
    issues = (Issue("duplicate_key", "twice", 1), Issue(kind, "wrong", 2))
    assert Document(Source("a.yaml", b""), "yaml", "", 1, None, issues=issues).is_parsed is is_parsed


def test_a_value_is_found_by_its_path() -> None:
    name = node(("meta", "name"), 3)
    places = Places(node((), 1, meta=node(("meta",), 2, name=name)))
    assert places.find(("meta", "name")) == (name, True, ("meta", "name"))
    assert places.find(()) == (places.root, True, ())


def test_what_is_missing_is_found_at_what_would_hold_it() -> None:
    meta = node(("meta",), 2)
    places = Places(node((), 1, meta=meta))
    assert places.find(("meta", "owner", "team")) == (meta, False, ("meta", "owner", "team"))


def test_below_an_alias_the_place_is_that_of_the_anchor() -> None:
    anchored = node(("one",), 2, name=node(("one", "name"), 3))
    alias = node(("two",), 5)
    alias.children, alias.target = anchored.children, anchored
    places = Places(node((), 1, one=anchored, two=alias))
    assert places.find(("two",))[2] == ("two",)
    assert places.find(("two", "name"))[2] == ("one", "name")
    assert places.find(("two", "absent")) == (anchored, False, ("one", "absent"))
