"""Three versions of a file: both sides' changes count, conflicts are where both changed one key, lines stay as they are."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.app.imports.merging import BODY, merge_file
from ferrule.app.imports.sheet import is_same, parse_sheet
from ferrule.model.value import MISSING, Path, dig
from tests.app.imports.written import Writer

KEYS = st.sampled_from(["a", "b", "c", "d", "type", "description", "on", "x-y", "é key"])
SCALARS = st.one_of(
    st.sampled_from(["one", "two", "a: b # c", "", "'", "true", "1.5", "two\nlines", "- x", "ünï"]),
    st.integers(-5, 5),
    st.booleans(),
    st.none(),
    st.sampled_from([1.5, 2.0]),
)
LISTS = st.one_of(st.lists(SCALARS, max_size=4), st.lists(st.dictionaries(KEYS, SCALARS, min_size=1), max_size=3))
MAPPINGS = st.recursive(
    st.dictionaries(KEYS, st.one_of(SCALARS, LISTS), max_size=4),
    lambda inner: st.dictionaries(KEYS, st.one_of(SCALARS, LISTS, inner), max_size=5),
    max_leaves=20,
)


def leaves(value: Any, path: Path = ()) -> list[Path]:
    """Paths of what is compared as a whole."""
    if isinstance(value, dict) and value:
        return [leaf for key, member in value.items() for leaf in leaves(member, (*path, key))]
    return [path] if path else []


def put(value: dict[str, Any], path: Path, new: Any) -> None:
    inner: Any = value
    for step in path[:-1]:
        inner = inner[step]
    if new is MISSING:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new


@st.composite
def edited_values(
    draw: st.DrawFn, base: dict[str, Any], paths: list[Path], fresh: str
) -> tuple[dict[str, Any], set[Path]]:
    """A mapping with some of these paths changed or taken away, and new keys of its own."""
    value, touched = deepcopy(base), set()
    for path in paths:
        new = draw(st.one_of(SCALARS, LISTS, st.just(MISSING)))
        if not is_same(new, dig(base, path)):
            put(value, path, new)
            touched.add(path)
    for number in range(draw(st.integers(0, 2))):
        homes = [leaf[:-1] for leaf in leaves(base) if isinstance(dig(value, leaf[:-1]), dict)]
        home = draw(st.sampled_from([(), *homes]))
        new = draw(st.one_of(SCALARS, LISTS, MAPPINGS))
        put(value, (*home, f"{fresh}{number}"), new)
        touched.add((*home, f"{fresh}{number}"))
    return value, touched


@st.composite
def versions(draw: st.DrawFn, *, is_disjoint: bool) -> tuple[Any, ...]:
    base = {"tool_id": "a-tool", **draw(MAPPINGS)}
    every = [path for path in leaves(base) if path != ("tool_id",)]
    first = draw(st.lists(st.sampled_from(every), unique=True, max_size=4)) if every else []
    others = [path for path in every if path not in first] if is_disjoint else every
    second = draw(st.lists(st.sampled_from(others), unique=True, max_size=4)) if others else []
    mine, by_me = draw(edited_values(base, first, "mine"))
    theirs, by_them = draw(edited_values(base, second, "new"))
    return base, mine, theirs, by_me, by_them


def both(base: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any], by_them: set[Path]) -> dict[str, Any]:
    whole = deepcopy(mine)
    for path in sorted(by_them, key=len):
        put(whole, path, dig(theirs, path))
    return whole


@settings(max_examples=60, deadline=None)
@given(versions(is_disjoint=True), st.integers(0, 10_000))
def test_changes_of_different_keys_are_all_there_and_nobody_is_asked(found: tuple[Any, ...], seed: int) -> None:
    base, mine, theirs, _, by_them = found
    text = Writer(seed).file(mine, "# Notes\n")
    result = merge_file(
        Writer(1, with_comments=False).file(base, "# Notes\n"), text, Writer(2).file(theirs, "# Notes\n")
    )
    assert result.text is not None
    back = parse_sheet(result.text)
    assert back is not None, result.text
    assert result.conflicts == ()
    wanted = both(base, mine, theirs, by_them)
    assert is_same(back.value, wanted), result.text


@settings(max_examples=60, deadline=None)
@given(versions(is_disjoint=False), st.integers(0, 10_000))
def test_a_conflict_is_exactly_where_both_changed_one_key_differently(found: tuple[Any, ...], seed: int) -> None:
    base, mine, theirs, by_me, by_them = found
    text = Writer(seed).file(mine)
    result = merge_file(Writer(1, with_comments=False).file(base), text, Writer(2, with_comments=False).file(theirs))
    clashing = {
        path for path in by_me & by_them if path in leaves(base) and not is_same(dig(mine, path), dig(theirs, path))
    }
    told = {conflict.path for conflict in result.conflicts if not conflict.why}
    by_items = {path for path in clashing if any(len(one) > len(path) and one[: len(path)] == path for one in told)}
    in_lists = {path for path in clashing if all(_has_mappings(dig(side, path)) for side in (base, mine, theirs))}
    assert by_items <= in_lists, "a list of as many mappings is compared mapping by mapping"
    assert clashing - in_lists <= told
    assert all(path in clashing or any(path[: len(one)] == one for one in in_lists) for path in told)
    back = parse_sheet(result.text or "")
    assert back is not None
    for path in clashing - in_lists:
        assert is_same(dig(back.value, path), dig(mine, path))


def _has_mappings(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


@settings(max_examples=60, deadline=None)
@given(versions(is_disjoint=True), st.integers(0, 10_000))
def test_lines_that_nobody_changed_are_the_same_bytes(found: tuple[Any, ...], seed: int) -> None:
    base, mine, theirs, _, by_them = found
    lines = Writer(seed).lines(mine)
    text = "---\n" + "".join(f"{line.text}\n" for line in lines) + "---\n"
    result = merge_file(Writer(1, with_comments=False).file(base), text, Writer(2, with_comments=False).file(theirs))
    assert result.text is not None
    after = result.text.split("\n")
    at = 0
    for line in lines:
        touched = any(line.path[: len(path)] == path or path[: len(line.path)] == line.path for path in by_them)
        if touched and not line.text.lstrip().startswith("#"):
            continue
        if touched:
            continue
        assert line.text in after[at:], (line, result.text)
        at = after.index(line.text, at) + 1


def test_comments_order_and_quotes_of_the_user_stay() -> None:
    base = '---\ntool_id: "a-b"\nmeta:\n  name: "A"\n  tags:\n  - "x"\n  - "y"\n---\n'
    mine = "---\n# mine\nmeta:   # here\n    tags:  # all\n    - x # 1\n    - y\n    name: 'A'  # name\ntool_id: a-b\n---\nBody\n"
    theirs = '---\ntool_id: "a-b"\nmeta:\n  name: "B"\n  description: "What it does."\n  tags:\n  - "z"\n  - "x"\n---\n'
    result = merge_file(base, mine, theirs)
    assert result.conflicts == ()
    assert result.text == (
        "---\n# mine\nmeta:   # here\n    tags:  # all\n    - \"z\"\n    - x # 1\n    name: \"B\"  # name\n"
        "    description: \"What it does.\"\ntool_id: a-b\n---\nBody\n"
    )  # fmt: skip


def test_a_conflict_has_both_values_and_its_line_and_either_side_can_be_preferred() -> None:
    base, mine, theirs = (f"---\na: 1\nb: {number}\n---\n" for number in (1, 2, 3))
    result = merge_file(base, mine, theirs)
    (conflict,) = result.conflicts
    assert (conflict.path, conflict.line, conflict.base, conflict.mine, conflict.theirs) == (("b",), 3, 1, 2, 3)
    assert result.text == mine
    assert merge_file(base, mine, theirs, "theirs").text == theirs


def test_the_body_is_joined_line_by_line() -> None:
    front = "---\na: 1\n---\n"
    base = front + "# Purpose\n\nOne.\n\n# Notes\n\nTwo.\n"
    mine = front + "# Purpose\n\nOne, and mine.\n\n# Notes\n\nTwo.\n"
    theirs = front + "# Purpose\n\nOne.\n\n# Notes\n\nTwo, and theirs.\n"
    assert merge_file(base, mine, theirs).text == front + "# Purpose\n\nOne, and mine.\n\n# Notes\n\nTwo, and theirs.\n"
    clash = merge_file(base, mine, front + "# Purpose\n\nAnother.\n\n# Notes\n\nTwo.\n")
    assert clash.text == mine
    assert [(one.path, one.line) for one in clash.conflicts] == [(BODY, 6)]


def test_a_file_that_its_user_deleted_stays_deleted_and_a_new_one_is_written() -> None:
    assert merge_file("---\na: 1\n---\n", None, "---\na: 2\n---\n").text is None
    assert merge_file(None, None, "---\na: 2\n---\n").text == "---\na: 2\n---\n"


def test_a_file_that_cannot_be_read_is_left_alone_and_told() -> None:
    broken = "---\na: [1\n---\n"
    result = merge_file("---\na: 1\n---\n", broken, "---\na: 2\n---\n")
    assert result.text == broken
    assert "cannot be read" in result.conflicts[0].why


def test_windows_line_ends_stay() -> None:
    base, theirs = "---\na: 1\n---\nx\n", "---\na: 1\nb: \"n\"\n---\ny\n"  # fmt: skip
    assert merge_file(base, "---\r\na: 1\r\nc: 2\r\n---\r\nx\r\n", theirs).text is not None
    text = merge_file(base.replace("x\n", ""), "---\r\na: 1\r\nc: 2\r\n---\r\n", theirs.replace("y\n", "")).text
    assert text == '---\r\na: 1\r\nb: "n"\r\nc: 2\r\n---\r\n'
