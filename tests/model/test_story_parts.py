"""Parts of a call's story: what differs between two inputs."""

from __future__ import annotations

from ferrule.model.story_parts import Difference, differences


def test_differences() -> None:
    before = {"a": 1, "b": {"c": [1, 2], "d": True}, "gone": None}
    after = {"a": 1, "b": {"c": [1, 3], "d": 1}, "new": []}
    assert differences(before, after) == (
        Difference("b.c[1]", "changed", 2, 3),
        Difference("b.d", "changed", True, 1),
        Difference("gone", "removed", None, None),
        Difference("new", "added", None, []),
    )
    assert differences([1], [1, 2]) == (Difference("$", "changed", [1], [1, 2]),)
    assert differences("x", "x") == ()
