"""Deep JSON is judged by its text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.model.value import is_deeper

LEAVES = st.sampled_from([None, 1, "", "[[[", "}\\", '"]', "\\\\", '\\"{'])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", '"[', "\\"]), inner), max_leaves=60
)


def depth_of(value: Any) -> int:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if members is None else 1 + max(map(depth_of, members), default=0)


@settings(deadline=None)
@given(VALUES, st.integers(1, 8), st.booleans())
def test_depth_is_told_from_the_text(value: Any, depth: int, is_ascii: bool) -> None:
    """Brackets and quotes inside of strings do not count."""
    text = json.dumps([0] * 70 + [value], ensure_ascii=is_ascii).encode()
    assert is_deeper(text, depth) == (depth_of(value) + 1 > depth)


@pytest.mark.parametrize(("levels", "is_too_deep"), [(127, False), (128, False), (129, True), (100_000, True)])
def test_depth_is_exact_however_many_brackets_there_are(levels: int, is_too_deep: bool) -> None:
    for before in (b"", b"[]," * 1000, b"[[[]]]," * 1000):
        text = b"[" + before + b"[" * (levels - 1) + b"]" * levels
        assert is_deeper(text, 128) is is_too_deep


def test_text_that_is_no_json_is_judged_alike() -> None:
    assert is_deeper(b"[" * 5000, 100)
    assert is_deeper(b'{"a":' * 101, 100)
    assert not is_deeper(b'{"a": "' + b"[" * 5000, 100)  # a string that is never closed
