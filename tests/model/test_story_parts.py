"""Parts of a call's story: what differs between two inputs."""

from __future__ import annotations

from ferrule.model.story_parts import FieldDifference, differences


def test_differences() -> None:
    before = {"a": 1, "b": {"c": [1, 2], "d": True}, "gone": None}
    after = {"a": 1, "b": {"c": [1, 3], "d": 1}, "new": []}
    assert differences(before, after) == (
        FieldDifference("b.c[1]", "changed", 2, 3),
        FieldDifference("b.d", "changed", True, 1),
        FieldDifference("gone", "removed", None, None),
        FieldDifference("new", "added", None, []),
    )
    assert differences([1], [1, 2]) == (FieldDifference("$", "changed", [1], [1, 2]),)
    assert differences("x", "x") == ()
