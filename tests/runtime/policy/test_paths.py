"""Paths: normalised lexically, read in every way, never escaping what an allow names."""

from __future__ import annotations

import os.path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.runtime.policy.paths import PathBase, PathMatcher, read_path

BASE = PathBase("/srv/shop", "/home/ada")


def allows(pattern: str, value: object) -> bool:
    return PathMatcher((pattern,), BASE, is_strict=True).fits(value)


def denies(pattern: str, value: object) -> bool:
    return PathMatcher((pattern,), BASE, is_strict=False).fits(value)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("src/**", "src/a/b.py"),
        ("src/**", "./src//a/../b.py"),
        ("src/*.py", "/srv/shop/src/a.py"),
        ("/tmp/**", "/tmp/x"),
        ("~/notes/*", "~/notes/a.md"),
        ("~/notes/*", "/home/ada/notes/a.md"),
        ("**/*.md", "docs/deep/a.md"),
        ("**/*.md", "/elsewhere/a.md"),
        ("src/**", "file:///srv/shop/src/a"),
    ],
)
def test_allow_and_deny_fit_the_normalised_path(pattern: str, value: str) -> None:
    assert allows(pattern, value)
    assert denies(pattern, value)


@pytest.mark.parametrize(
    "value",
    [
        "../src/a", "src/../../src/a", "/src/a", "src/../secrets", "src/..%2f..%2fetc/passwd", "src\\..\\..\\etc",
        "src", "SRC/a", "~ada/src/a", "$HOME/src", "src/$(id)", "src/a\x00b", "", "file://host/srv/shop/src/a", 7,
    ],
)  # fmt: skip
def test_no_allow_below_a_folder_fits_what_may_lie_elsewhere(value: object) -> None:
    assert not allows("src/**", value)


@pytest.mark.parametrize(
    "value",
    [
        "/etc/passwd", "/etc", "/ETC/passwd", "/x/../etc/passwd", "//etc/passwd", "../../etc/passwd", "/%65tc/passwd",
        "\\etc\\passwd", "file:/etc/passwd", "~root/../etc", "$ETC/passwd", "/etc/pass\u0000wd", "/etc/./passwd", None,
    ],
)  # fmt: skip
def test_a_deny_fits_every_spelling(value: object) -> None:
    assert denies("/etc/**", value)


def test_a_deny_leaves_the_rest_alone() -> None:
    assert not denies("/etc/**", "/etcetera/x")
    assert not denies("secrets/*.key", "secrets/deep/a.key")


def test_a_folder_with_odd_letters_is_no_glob() -> None:
    base = PathBase("/srv/[ab]*")
    assert PathMatcher(("src/*",), base, is_strict=True).fits("src/a")
    assert not PathMatcher(("src/*",), base, is_strict=True).fits("/srv/a/src/a")


def test_at_40_a_blocked_path_is_told_normalised() -> None:
    """AT-40, AT-140: the path of a denial is the one that fitted."""
    assert PathMatcher(("/etc/**",), BASE, is_strict=False).describe("x/../../../etc/passwd") == "/etc/passwd"


pieces = st.sampled_from(["..", ".", "", "src", "a", "%2e%2e", "..\\", "\\", "~", "b c", "…", "%2F", "**", "$"])


@given(st.lists(pieces, max_size=8), st.booleans())
def test_an_allow_never_escapes_its_folder(parts: list[str], is_absolute: bool) -> None:
    value = ("/" if is_absolute else "") + "/".join(parts)
    if allows("src/**", value):
        for reading in (value, unquote(value), value.replace("\\", "/"), unquote(value).replace("\\", "/")):
            resolved = os.path.normpath(os.path.join(BASE.root, reading))
            assert resolved.startswith(BASE.root + "/src/")


@given(st.lists(pieces, max_size=8))
def test_readings_are_absolute_and_have_no_way_up(parts: list[str]) -> None:
    for path in read_path("/".join(parts), BASE).paths:
        assert path.startswith("/")
        assert ".." not in path.split("/")
