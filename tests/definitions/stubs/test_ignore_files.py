"""Which files the ignore files name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.stubs.ignore_files import IgnorePatterns, add_paths

TABLE = [
    # pattern, what it names, what it does not
    ("tools/get.go", ["tools/get.go", "x/tools/get.go"], ["tools/get.gox", "mytools/get.go", "tools/get.go/x"]),
    ("get.go", ["get.go", "tools/get.go"], ["forget.go", "tools/forget.go"]),
    ("./tools/get.go", ["tools/get.go"], ["get.go"]),
    ("tools\\get.go", ["tools/get.go"], ["toolsget.go"]),
    ("tools/", ["tools/get.go", "tools/a/b.go"], ["tools", "x/tools/get.go", "toolshed/a"]),
    ("tools/*", ["tools/get.go", "tools/a/b.go"], ["tools", "tools/", "x/tools/get.go"]),
    ("tools/*.go", ["tools/get.go"], ["tools/a/get.go", "x/tools/get.go", "tools/get.ts"]),
    ("*.go", ["main.go"], ["tools/get.go"]),
    ("**/*.go", ["tools/get.go", "a/b/c.go"], ["get.go", "a.ts"]),
    ("*/get.go", ["tools/get.go"], ["get.go", "a/b/get.go"]),
    ("src/*/*", ["src/a/b", "src/a/b/c"], ["src/a"]),
    ("tools/[gs]et*.go", ["tools/get.go", "tools/set_it.go"], ["tools/let.go"]),
    ("tools/[!g]et*", ["tools/set.go"], ["tools/get.go"]),
    ("tools/?et*", ["tools/get.go"], ["tools/et.go"]),
    ("  tools/get.go  ", ["tools/get.go"], []),
    ("# tools/get.go", [], ["tools/get.go", "# tools/get.go"]),
    ("", [], ["tools/get.go", ""]),
    ("/", [], ["tools/get.go"]),
    ("tools/[z-a]*", ["tools/[z-a]x"], ["tools/z"]),
]


@pytest.mark.parametrize(("pattern", "named", "others"), TABLE, ids=[row[0] for row in TABLE])
def test_patterns_name_what_they_say(pattern: str, named: list[str], others: list[str]) -> None:
    """ADL-50: a folder, a pattern over the whole path, or a path; never a part of a name."""
    ignored = IgnorePatterns([pattern])
    assert [path for path in named if not ignored.covers(path)] == []
    assert [path for path in others if ignored.covers(path)] == []


SEGMENT = st.text("ab.*", min_size=1, max_size=3)
PATHS = st.lists(st.text("ab.", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)
PATTERNS = (
    st.lists(SEGMENT, min_size=1, max_size=3)
    .map("/".join)
    .flatmap(lambda text: st.sampled_from([text, f"{text}/", f"{text}/*"]))
)


def _said(pattern: str, path: str) -> bool:
    """The words of ADL-50, one after the other, as slowly as they read."""
    pattern = pattern.removeprefix("./")
    if not pattern:
        return False
    if "*" not in pattern:
        steps, last = path.split("/"), pattern.rstrip("/").split("/")
        if pattern.endswith("/"):
            return path.startswith(pattern)
        return path == pattern or steps[-len(last) :] == last
    whole = re.escape(pattern).replace(r"\*\*", "\0").replace(r"\*", "[^/]*").replace("\0", ".*")
    if re.fullmatch(whole, path):
        return True
    folder = pattern.removesuffix("*") if pattern.endswith("/*") else pattern
    if not folder.endswith("/"):
        return False
    return any(
        re.fullmatch(re.escape(folder).replace(r"\*\*", "\0").replace(r"\*", "[^/]*").replace("\0", ".*"), path[:at])
        for at in range(1, len(path))
    )


@given(PATTERNS, PATHS)
def test_any_pattern_is_read_as_the_standard_says(pattern: str, path: str) -> None:
    if "***" not in pattern:
        assert IgnorePatterns([pattern]).covers(path) == _said(pattern, path)


@given(st.text(), st.text())
def test_no_text_is_too_odd(text: str, path: str) -> None:
    IgnorePatterns([text]).covers(path)


@given(st.lists(PATHS, max_size=5), PATHS)
def test_a_path_that_was_added_is_named(before: list[str], path: str) -> None:
    text = add_paths("\n".join(before), [path])
    assert text.startswith("\n".join(before))
    assert IgnorePatterns([text]).covers(path)


def test_line_ends_of_the_file_are_kept() -> None:
    assert add_paths("a\r\nb", ["c"]) == "a\r\nb\r\nc\r\n"
    assert add_paths(None, ["c"]).splitlines()[-1] == "c"
    assert add_paths("a", []) == "a"
