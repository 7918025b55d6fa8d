"""The quick reader gives what the full reader gives, or declines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.definitions.compiler.compose import compose_all
from ferrule.definitions.compiler.quick import quick_load
from ferrule.definitions.compiler.scalars import Unparsable
from tests.definitions.compiler.texts import DEFINITION, damaged_texts, dumped_texts


def same(left: object, right: object) -> bool:
    """Equal in value and in type: 1, 1.0 and true are three things."""
    return repr(left) == repr(right)


def test_an_ordinary_definition_is_read_quickly() -> None:
    value = quick_load(DEFINITION)
    assert value is not None
    assert same(value, compose_all(DEFINITION)[0].value)
    assert value["items"][1]["nested"][1] == {"b": "12:30", "c": None}


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x\n",
        "a: 1\na: 2\n",
        "a: .nan\n",
        "a:\tb\n",
        "- a\n- b\n",
        "a: b\n  c\n",
        "a: !x b\n",
        "? a\n: b\n",
        "a: |\n\n  x\n",
    ],
)
def test_anything_unusual_is_declined(text: str) -> None:
    assert quick_load(text) is None


def test_lists_of_two_documents_are_not_shared() -> None:
    first, second = quick_load("a: [1, [2]]\n"), quick_load("a: [1, [2]]\n")
    assert first is not None and second is not None
    first["a"][1].append(3)
    assert second["a"] == [1, [2]]


@settings(max_examples=400, deadline=None)
@given(st.one_of(damaged_texts(), dumped_texts()))
def test_quick_and_full_reader_agree(text: str) -> None:
    quick = quick_load(text)
    if quick is None:
        return
    try:
        documents = compose_all(text)
    except Unparsable as error:
        raise AssertionError(f"the full reader refuses it: {error.issue}") from None
    assert len(documents) == 1 and not documents[0].issues
    assert same(quick, documents[0].value)
