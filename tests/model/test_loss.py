"""A loss is final when it cannot be read back from what was written."""

from __future__ import annotations

from typing import get_args

import pytest

from ferrule.model.loss import Instead, Loss


def loss(instead: Instead, field: str = "title") -> Loss:
    """Something that a target cannot say."""
    return Loss(tool_id="t", field=field, why="it has no such word", instead=instead)


@pytest.mark.parametrize("instead", get_args(Instead))
def test_what_stands_under_our_key_or_in_other_words_can_be_read_back(instead: Instead) -> None:
    assert loss(instead).is_final is (instead not in ("extension", "rewritten"))


def test_a_part_of_a_schema_said_otherwise_is_not_led_back() -> None:
    assert loss("rewritten", "input_schema/properties/when").is_final
    assert not loss("extension", "input_schema/properties/when").is_final
