"""What two processes say to each other: every piece comes after its length, and means the same on the other side."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.runtime.functions.frames import HEAD_BYTES, Asked, Failed, OutputParts, Said, frame, size_of
from ferrule.runtime.functions.isolation import Place

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


def received(data: bytes, kind: Any) -> Any:
    """One piece, as the other side reads it."""
    head, body = data[:HEAD_BYTES], data[HEAD_BYTES:]
    assert size_of(head) == len(body)
    return msgspec.json.decode(body, type=kind)


@given(st.lists(_TEXTS, max_size=4))
def test_pieces_that_come_in_one_stream_are_told_apart_by_their_lengths(texts: list[str]) -> None:
    stream, found = b"".join(frame({"given": text}) for text in texts), []
    while stream:
        end = HEAD_BYTES + size_of(stream[:HEAD_BYTES])
        found.append(received(stream[:end], Said).given)
        stream = stream[end:]
    assert found == texts


def test_a_call_arrives_with_the_place_of_its_function() -> None:
    asked = Asked(Place("shop", "refund", "/code/shop.py"), "shop.refund", {"amount": 5}, {"principal": "ann"})
    assert received(frame(asked), Asked) == asked


@pytest.mark.parametrize("value", [None, False, 0, "", [], {"a": [1]}])
def test_whatever_was_given_is_an_answer_even_if_it_is_nothing(value: Any) -> None:
    assert received(frame({"given": value}), Said).given == value
    assert received(frame({"progress": {"percent": 5}}), Said).given is msgspec.UNSET


def test_an_output_is_sent_without_what_it_does_not_say() -> None:
    parts = OutputParts(is_empty=True, ui_summary="done")
    assert msgspec.json.decode(frame(parts)[HEAD_BYTES:]) == {"is_empty": True, "ui_summary": "done"}
    assert received(frame({"output": parts}), Said).output == parts


def test_a_failure_keeps_everything_that_was_said_about_it() -> None:
    failed = Failed("rate_limited", "not today", "busy", 2.5, "python:Busy", True)
    assert received(frame({"failed": failed}), Said).failed == failed
