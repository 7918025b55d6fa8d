"""Ids of OXP tools: `Toolkit.Tool`, with a version, a major version, or none; and which version each means (OXP-30)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_ID = re.compile(r"([A-Za-z0-9_]+\.[A-Za-z0-9_]+)(?:@([0-9]+(?:\.[0-9]+\.[0-9]+)?))?", re.ASCII)
_VERSION = re.compile(r"[0-9]{1,18}\.[0-9]{1,18}\.[0-9]{1,18}", re.ASCII)
_UNFIT = re.compile(r"[^A-Za-z0-9_]")
LONGEST = 512
"""More characters than any id has."""


class ToolRef(NamedTuple):
    """What a call names."""

    tool: str
    """`Toolkit.Tool`"""
    version: str | None
    """`x.y.z`; None for the latest."""


def read_ref(written: str) -> ToolRef | None:
    """The tool and version an id means; None for what is no id. `@x` is exactly `x.0.0`, not the latest of them."""
    found = _ID.fullmatch(written) if len(written) <= LONGEST else None
    if found is None:
        return None
    version = found[2]
    return ToolRef(found[1], f"{version}.0.0" if version is not None and "." not in version else version)


def resolved(wanted: str | None, versions: Iterable[str]) -> str | None:
    """The version that is meant among those there are; None when it is not there."""
    if wanted is None:
        return max(versions, key=number, default=None)
    there = list(versions)
    if wanted in there:
        return wanted
    return next((version for version in there if number(version) == number(wanted)), None)


def number(version: str) -> tuple[int, ...]:
    """Something to compare versions by; what is no version is before all."""
    return tuple(map(int, version.split("."))) if _VERSION.fullmatch(version) else (-1,)


def is_version(text: str | None) -> bool:
    """True for `x.y.z` of whole numbers (OXP-6)."""
    return text is not None and _VERSION.fullmatch(text) is not None


def part(text: str) -> str:
    """A part of an id, of whatever name."""
    return _UNFIT.sub("_", text) or "_"
