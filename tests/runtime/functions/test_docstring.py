"""What is read from docstrings: all of their prose, however odd they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.runtime.functions.docstring import read_docstring

PROSE = "Refund an order.\n\nUse it only when the customer\nasked. It cannot be undone.\n\n"
SAID = "Refund an order.\n\nUse it only when the customer asked. It cannot be undone."
ODD = st.sampled_from(
    [
        "Args:",
        "a: b",
        "Parameters",
        "----------",
        "---",
        ":param x: y",
        ":returns:",
        ":",
        "::",
        "```",
        "- one",
        "\t",
        "",
        " ",
        "**",
    ]
)


@pytest.mark.parametrize(
    "section",
    [
        "",
        "Args:\n    order: Which one.",
        "Returns:\n    The order.",
        "Raises:\n    KeyError: It is not there.",
        "Yields:\n    Orders.",
        "Examples:\n    >>> refund(1)",
        "Attributes:\n    order: Which one.",
        "Parameters\n----------\norder : int\n    Which one.",
        "Returns\n-------\nint",
        "See Also\n--------\nother",
        ":param order: Which one.",
        ":type order: int",
        ":raises KeyError: It is not there.",
        ":rtype: int",
    ],
)
def test_the_prose_goes_on_to_the_first_section(section: str) -> None:
    docs = read_docstring(PROSE + section)
    assert (docs.summary, docs.prose) == ("Refund an order.", SAID)


@pytest.mark.parametrize(
    "text",
    [
        "Choose one:\n\n- a\n- b",
        "Choose one:\n\n1. a\n2. b",
        "Write:\n\n    a = 1\n    b = 2\n\nThat is all.",
        "Write:\n\n```\na = 1\n\nb = 2\n```",
        "Note:\n    It cannot be undone.\n\nThat is all.",
        "Refund\n------",
        "| a | b |\n| - | - |",
    ],
)
def test_lines_that_mean_something_stay(text: str) -> None:
    assert read_docstring(text).prose == text


def test_a_role_at_the_start_of_a_line_is_no_field() -> None:
    assert read_docstring("Give an\n:class:`Order` back.").prose == "Give an :class:`Order` back."


def test_a_docstring_of_one_section_has_no_prose() -> None:
    assert read_docstring("\nArgs:\n    a: The first.") == ("", "", {"a": "The first."})


@given(st.one_of(st.text(), st.lists(st.builds(str.__add__, st.sampled_from(["", "  ", "    "]), ODD)).map("\n".join)))
def test_an_odd_docstring_is_read_without_an_error(text: str) -> None:
    docs = read_docstring(text)
    assert docs.prose == docs.prose.strip()
    assert all(isinstance(said, str) for said in docs.parameters.values())
