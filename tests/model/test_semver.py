"""Versions are ordered by precedence, and the part that was raised is known."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ferrule.model.semver import Bump, Version, bump_between, parse_version

IN_ORDER = (
    "0.0.1", "0.9.0", "0.10.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
    "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "2.0.0",
)  # fmt: skip


def version(text: str) -> Version:
    """The version a text says."""
    parsed = parse_version(text)
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(IN_ORDER)))
def test_versions_are_ordered_by_precedence(lower: str, higher: str) -> None:
    assert version(lower) < version(higher)


def test_words_about_the_build_do_not_count() -> None:
    assert version("1.0.0+linux.5") == version("1.0.0+mac")


@pytest.mark.parametrize(
    "text", ["1.0", "01.0.0", "v1.0.0", "1.0.0-", " 1.0.0", "1.0.0\n", "", "1.0." + "9" * 300, None, 1.0]
)
def test_what_is_no_version_is_none(text: object) -> None:
    assert parse_version(text) is None


@pytest.mark.parametrize(
    ("old", "new", "bump"),
    [
        ("1.2.3", "1.2.4", Bump.PATCH),
        ("1.2.3", "1.3.0", Bump.MINOR),
        ("1.2.3", "2.0.0", Bump.MAJOR),
        ("0.2.3", "0.3.0", Bump.MAJOR),
        ("0.2.3", "0.2.4", Bump.PATCH),
        ("0.2.3", "1.0.0", Bump.MAJOR),
        ("1.2.3", "1.2.3", Bump.NONE),
        ("1.2.3", "1.1.9", Bump.NONE),
        ("1.0.0-rc.1", "1.0.0", Bump.PATCH),
    ],
)
def test_the_part_that_was_raised_is_told(old: str, new: str, bump: Bump) -> None:
    assert bump_between(version(old), version(new)) is bump


def test_a_bump_is_said_in_small_letters() -> None:
    assert [bump.word for bump in Bump] == ["none", "patch", "minor", "major"]
