"""Comments are told from text that looks like one."""

from __future__ import annotations

import pytest

from ferrule.definitions.compiler.comments import Comments
from ferrule.model.document import Syntax


def is_comment(text: str, syntax: Syntax = "yaml") -> bool:
    """Whether what `@` marks in a text begins a comment."""
    offset = text.index("@")
    return Comments(text.replace("@", ""), syntax).has_comment("<!--" if text[offset + 1] == "<" else "#", offset)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1 @# x\n", True),
        ('a: "b @# c"\n', False),
        ('a: "b" @# c\n', True),
        ("a: 'it''s @# c'\n", False),
        ("a: | @# c\n  text\n", True),
        ("a: |\n  text @# c\nb: 1\n", False),
        ("a: >\n  text\nb: 1 @# c\n", True),
        ("@# c\n", True),
        ("a: [ @# c\n", True),
        ("a: 1 @<!-- c -->\n", False),
    ],
)
def test_yaml_has_comments_outside_of_quoted_and_block_texts(text: str, expected: bool) -> None:
    assert is_comment(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\na: 1 @# c\n---\nbody\n", True),
        ('---\na: "@# c"\n---\nbody\n', False),
        ("---\na: 1\n---\n@# Heading\n", False),
        ("---\na: 1\n---\n@<!-- c -->\n", True),
        ("---\na: 1 @<!-- c -->\n---\n", False),
        ("---\na: 1 @<!-- c -->\n", True),
        ("---\na: 1 @# c\n", True),
    ],
)
def test_the_body_of_a_markdown_file_has_comments_of_its_own(text: str, expected: bool) -> None:
    assert is_comment(text, "front_matter") is expected


def test_values_before_a_mistake_are_still_known() -> None:
    assert not is_comment('a: "@# c"\nb: [\n')
