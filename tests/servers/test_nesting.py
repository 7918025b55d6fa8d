"""Large and deep JSON is judged by its text, and costs what its size costs."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.servers.nesting import is_deeper, no_garbage

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


def test_nobody_looks_for_garbage_while_a_large_text_is_read() -> None:
    """Else one request of a few megabytes takes the whole process for many seconds."""
    text = b"[" + b",".join([b"[]"] * 300_000) + b"]"
    looked: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        looked.append(phase)

    gc.callbacks.append(note)
    try:
        with no_garbage(text):
            json.loads(text)
            assert not looked
        assert gc.isenabled()
        with pytest.raises(ValueError, match="oh"), no_garbage(text):
            raise ValueError("oh")
        assert gc.isenabled()
        with no_garbage(b"[]"):
            assert gc.isenabled()
    finally:
        gc.callbacks.remove(note)
