"""Results as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.servers.console.calls.runs import arrange_value, blocks_of


def test_rows_are_a_table_with_numbers_to_the_right() -> None:
    shape = arrange_value([{"who": "ada", "n": 1}, {"who": "bob", "n": 2, "more": None}])
    assert shape is not None
    assert shape["table"] == {
        "columns": ["who", "n", "more"],
        "rows": [["ada", 1, ""], ["bob", 2, None]],
        "count": 2,
        "numbers": [False, True, False],
    }


def test_plain_members_are_facts_beside_one_table() -> None:
    shape = arrange_value({"total": 2, "rows": [{"a": 1}, {"a": 2}]})
    assert shape is not None
    assert (shape["facts"], shape["name"], shape["table"]["count"]) == ([("total", 2)], "rows", 2)


@pytest.mark.parametrize(
    "value", ["text", None, 3, [], {}, [[1], [2]], {"a": {"b": 1}}, [{"a": [1]}], {"x": [{"a": 1}], "y": [{"b": 1}]}]
)
def test_what_is_no_table_is_none(value: Any) -> None:
    assert arrange_value(value) is None


def test_a_long_table_is_cut_and_says_so() -> None:
    shape = arrange_value([{"a": n} for n in range(1000)])
    assert shape is not None
    assert (len(shape["table"]["rows"]), shape["table"]["count"]) == (200, 1000)


def test_only_images_of_known_kinds_are_shown() -> None:
    blocks = [
        {"type": "image", "mimeType": "image/png", "data": "AA=="},
        {"type": "image", "mimeType": "image/svg+xml", "data": "AA=="},
        {"type": "image", "mimeType": "image/png", "data": "A" * 2_000_000},
        {"type": "text", "text": "hello"},
        {"type": "resource_link", "uri": "javascript:alert(1)"},
    ]
    shown = blocks_of({"content": blocks})
    assert [set(block) - {"kind"} for block in shown] == [
        {"image"},
        {"says"},
        {"says"},
        {"text", "is_cut"},
        {"says"},
    ]
