"""Suppression comments: what they cover, and what is said about useless ones."""

from __future__ import annotations

import pytest

from ferrule.definitions.compiler.suppress import apply, find_suppressions
from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.document import Syntax


def diagnostic(rule: str, line: int) -> Diagnostic:
    return Diagnostic(rule, Severity.WARNING, "a", "f", line, 1, line, 2, "m")


@pytest.mark.parametrize(
    ("text", "rules", "covers", "reason"),
    [
        ("a: 1  # ferrule: ignore[AML-13] because\n", ("AML-13",), (1,), "because"),
        ("# ferrule: ignore[AML-13, AML-35] two at once\na: 1\n", ("AML-13", "AML-35"), (2,), "two at once"),
        ("# ferrule: ignore[AML-1] why\n# another comment\nb: 1\n", ("AML-1",), (3,), "why"),
        ("---\n# ferrule: ignore-file[aml-9] legacy\n", ("AML-9",), (), "legacy"),
        ("a: | # ferrule: ignore[AML-1] why\n  text\n", ("AML-1",), (1,), "why"),
        ('a: "#"  # ferrule: ignore[AML-1] why\n', ("AML-1",), (1,), "why"),
        ("a: [ # ferrule: ignore[AML-1] why\n", ("AML-1",), (1,), "why"),
        ("a: 1 # ferrule: ignore[AML-1]\n", ("AML-1",), (1,), ""),
    ],
)
def test_comments_are_understood(text: str, rules: tuple[str, ...], covers: tuple[int, ...], reason: str) -> None:
    (found,) = find_suppressions(text)
    assert (found.rules, found.covers, found.reason) == (rules, covers, reason)


@pytest.mark.parametrize(
    ("text", "covers"),
    [
        ("---\na: 1 # ferrule: ignore[AML-1] why\n---\n", (2,)),
        ("---\na: 1\n---\n\n<!-- ferrule: ignore-file[AML-1] why -->\n", ()),
        ("---\n# ferrule: ignore[AML-1] why\na: 1\n", (3,)),
    ],
)
def test_comments_of_front_matter_and_of_the_body_are_understood(text: str, covers: tuple[int, ...]) -> None:
    (found,) = find_suppressions(text, "front_matter")
    assert (found.rules, found.covers, found.reason) == (("AML-1",), covers, "why")


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        ('a: "b # ferrule: ignore[AML-1] why"\n', "yaml"),
        ("a: |\n  Write\n  # ferrule: ignore[AML-1] why\nb: 1\n", "yaml"),
        ("a: 1 <!-- ferrule: ignore[AML-1] why -->\n", "yaml"),
        ("---\na: 1\n---\n\n```yaml\na: 1  # ferrule: ignore[AML-1] why\n```\n", "front_matter"),
        ('{"a": "b # ferrule: ignore[AML-1] why"}\n', "json"),
    ],
)
def test_what_only_looks_like_a_comment_is_none(text: str, syntax: Syntax) -> None:
    assert find_suppressions(text, syntax) == ()


def test_prose_about_suppressions_is_no_suppression() -> None:
    assert find_suppressions("Write ferrule: ignore[AML-1] in a comment.\nurl: x#ferrule: ignore[AML-1]\n") == ()


def test_a_used_comment_silences_its_line_only() -> None:
    comments = find_suppressions("a: 1  # ferrule: ignore[AML-1] why\n")
    assert apply("f", [diagnostic("AML-1", 1), diagnostic("AML-1", 2)], comments) == [diagnostic("AML-1", 2)]


def test_an_unused_or_unexplained_comment_is_reported() -> None:
    comments = find_suppressions("a: 1  # ferrule: ignore[AML-1]\n")
    assert [found.rule for found in apply("f", [], comments)] == ["FER-4", "FER-3"]


def test_a_comment_about_a_rule_that_was_not_run_is_not_called_unused() -> None:
    comments = find_suppressions("a: 1  # ferrule: ignore[AML-1] why\n")
    assert apply("f", [], comments, is_active=lambda rule: False) == []
