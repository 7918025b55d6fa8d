"""Semantic versions and the distance between them. An invalid version is None and compared with nothing."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import total_ordering
from typing import NamedTuple

_SHAPE = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


class Bump(IntEnum):
    """The part of a version that a change raises."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3

    @property
    def word(self) -> str:
        """As people say it."""
        return self.name.lower()


@total_ordering
class _Label:
    """One identifier of a pre-release: numbers sort by value and before words."""

    __slots__ = ("key",)

    def __init__(self, text: str) -> None:
        self.key = (0, int(text), "") if text.isdigit() else (1, 0, text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Label) and self.key == other.key

    def __lt__(self, other: _Label) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Version(NamedTuple):
    """A semantic version; compares by precedence."""

    major: int
    minor: int
    patch: int
    is_release: bool
    labels: tuple[_Label, ...]


def parse_version(text: object) -> Version | None:
    """Parses a semantic version; returns None when the text is none."""
    if not isinstance(text, str) or len(text) > 256:
        return None
    match = _SHAPE.fullmatch(text)
    if match is None:
        return None
    major, minor, patch, labels = match.groups()
    parsed = tuple(_Label(label) for label in labels.split(".")) if labels else ()
    return Version(int(major), int(minor), int(patch), labels is None, parsed)


def bump_between(old: Version, new: Version) -> Bump:
    """Returns the part that was raised. Below 1.0.0 a minor bump counts as a major one."""
    if new <= old:
        return Bump.NONE
    if new.major > old.major:
        return Bump.MAJOR
    if new.minor > old.minor:
        return Bump.MAJOR if old.major == 0 else Bump.MINOR
    return Bump.PATCH
