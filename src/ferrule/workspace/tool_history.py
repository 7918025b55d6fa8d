"""Returns the history of one tool from release to release, with breaking changes, as `ferrule diff` finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.surface import CatalogEntry, CatalogView
from ferrule.definitions.compiler import release as records
from ferrule.definitions.compiler.compare import compare, snapshot_tools
from ferrule.definitions.compiler.release import Release
from ferrule.definitions.compiler.seal import PUBLIC_FILE, read_trusted_keys
from ferrule.errors import FerruleError
from ferrule.model.catalog import Catalog
from ferrule.model.change import ToolChange
from ferrule.model.value import MISSING

IN_FORCE = "in force"
_MOST_RELEASES = 12
"""The most releases that are opened for one tool."""


class ToolStep(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a tool: from a release to the next, or from the last one to the present."""

    to: str
    """`release 3`, `in force`, or a version."""
    at: str | None
    """The time of the release."""
    by: str | None
    message: str | None
    change: str
    """`added`, `removed`, `changed` or `unchanged`."""
    old_version: str | None
    new_version: str | None
    is_breaking: bool
    """True when callers may break, or the tool is gone."""
    breaking: tuple[str, ...]
    """The changes that break callers."""
    weakened: tuple[str, ...]
    """Promises that its results no longer keep."""
    has_counterexample: bool
    counterexample: Any
    """Arguments that were accepted before and are not any more."""
    is_undecided: bool
    """True when it is unknown whether the new input schema accepts everything that the old one did."""
    fields: tuple[str, ...]
    """The fields of the definition that differ."""
    needed: str
    """The version bump that the change requires: `major`, `minor`, `patch` or `none`."""
    made: str | None
    """The actual version bump; null when a version is missing."""


class ToolHistory(msgspec.Struct, frozen=True):
    """The changes of a tool, newest first."""

    steps: tuple[ToolStep, ...] = ()
    releases: int = 0
    """The number of the workspace's releases; 0: nothing was published yet."""
    problem: str = ""
    """The reason why releases could not be read."""


def read_history(root: Path, catalog: CatalogView, tool_id: str) -> ToolHistory:
    """Returns a tool's changes across releases up to the present. Slow with many releases: call it in a thread."""
    now = catalog.versions(tool_id)
    steps: list[ToolStep] = list(_compare_versions(now))
    try:
        folder, keys = root / records.FOLDER, read_trusted_keys(root / PUBLIC_FILE)
        history = records.read_releases(folder, keys) if folder.is_dir() else []
        steps += _compare_releases(folder, history, keys, now, tool_id)
        return ToolHistory(tuple(steps), len(history))
    except (FerruleError, OSError) as error:
        told = str(error).replace(str(root), "").strip()
        return ToolHistory(tuple(steps), 0, told)


def _compare_releases(
    folder: Path, history: Sequence[Release], keys: Sequence[bytes], now: Sequence[CatalogEntry], tool_id: str
) -> Iterator[ToolStep]:
    if not any(tool_id in release.tools for release in history):
        return
    newer, name, release = list(now), IN_FORCE, None
    for older in _choose_releases(history, tool_id):
        listed = _load_versions(folder, older, keys, tool_id)
        yield from _compare_steps(listed, newer, name, release)
        newer, name, release = listed, f"release {older.number}", older
    # The first release has the tool already, so it is reported as added there.
    if newer and release is not None and release.number == history[0].number:
        yield from _compare_steps([], newer, name, release)


def _choose_releases(history: Sequence[Release], tool_id: str) -> list[Release]:
    """Returns the releases that changed a tool's version, and the last one; the newest first."""
    before: list[str | None] = [None, *(release.tools.get(tool_id) for release in history[:-1])]
    kept = [
        release
        for release, known in zip(history, before, strict=True)
        if release.tools.get(tool_id) != known or release in (history[0], history[-1])
    ]
    return kept[::-1][:_MOST_RELEASES]


def _load_versions(folder: Path, release: Release, keys: Sequence[bytes], tool_id: str) -> list[CatalogEntry]:
    catalog = Catalog.load(folder / release.catalog_name, keys)
    return [CatalogEntry(catalog.tool_at(at), catalog.digest_at(at)) for at in catalog.positions_of(tool_id)]


def _compare_versions(versions: Sequence[CatalogEntry]) -> Iterator[ToolStep]:
    """Yields the changes between versions that are in force side by side."""
    for newer, older in pairwise(versions):
        yield from _compare_steps([older], [newer], f"version {newer.tool.version or 'without a number'}", None)


def _compare_steps(
    old: Sequence[CatalogEntry], new: Sequence[CatalogEntry], to: str, release: Release | None
) -> Iterator[ToolStep]:
    before, after = (snapshot_tools((one.tool, one.digest) for one in side) for side in (old, new))
    for change in compare(before, after).changes:
        if change.word != "unchanged":
            yield _build_step(change, to, release)


def _build_step(change: ToolChange, to: str, release: Release | None) -> ToolStep:
    has_example = change.example is not MISSING
    return ToolStep(
        to=to,
        at=release.released_at if release is not None else None,
        by=release.released_by if release is not None else None,
        message=release.message if release is not None else None,
        change=change.word,
        old_version=change.old.outline.version if change.old else None,
        new_version=change.new.outline.version if change.new else None,
        is_breaking=bool(change.narrowed or has_example) or change.new is None,
        breaking=tuple(item.text for item in change.narrowed),
        weakened=tuple(item.text for item in change.weakened),
        has_counterexample=has_example,
        counterexample=change.example if has_example else None,
        is_undecided=change.is_undecided,
        fields=change.fields,
        needed=change.needed.word,
        made=change.made.word if change.made is not None else None,
    )
