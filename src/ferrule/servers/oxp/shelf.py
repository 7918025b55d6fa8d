"""The tools one caller has over OXP: every version of each, under ids and names that are nobody else's (OXP-3, OXP-20).

A surface shows one version of a tool. Older ones are on surfaces that pin them, so that whether a caller may use a version is
judged for that very version. What is not visible there is not on the shelf, as if it did not exist.
"""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.model.surface import SurfaceEntry
from ferrule.runtime.pipeline.session import Session
from ferrule.schema.inlining import NotInlinable
from ferrule.servers.auth.callers import Caller
from ferrule.servers.oxp.definitions import LONGEST_NAME, Projected, ToolRef, number, part, projected, resolved
from ferrule.servers.oxp.requirements import asked_for
from ferrule.servers.oxp.wire import SCHEMA, encoded

_ENTRIES_KEPT = 200_000
"""Tools on all shelves together, each as often as there are versions."""
_PROJECTED_KEPT = 20_000
_MOST_VERSIONS = 64
_ALL = 1 << 30
_log = logging.getLogger("ferrule.oxp")


class Item(NamedTuple):
    """One version of one tool."""

    handle: SurfaceHandle
    """The surface that shows this version."""
    name: str
    """What the tool is called on that surface."""
    entry: SurfaceEntry
    projected: Projected
    is_listed: bool
    """False for what can be called and is offered to nobody: deprecated versions."""


class Shelf:
    """The tools of one caller, as they are now."""

    def __init__(self, app: App, caller: Caller, projections: Projections) -> None:
        self._app = app
        self._caller = caller
        self._projections = projections
        self._handles: list[SurfaceHandle] = []
        self._pins: list[dict[str, str]] = []
        self._sessions: list[Session] = []
        self._items: dict[str, dict[str, Item]] = {}
        self._names: dict[str, str] = {}
        self._listing: dict[bool, bytes] = {}

    @property
    def base(self) -> SurfaceHandle:
        """The surface without pins."""
        return self._handles[0]

    @property
    def size(self) -> int:
        """How much is kept for it."""
        return 100 + sum(len(handle.surface.entries) for handle in self._handles)

    def find(self, ref: ToolRef) -> Item | None:
        """The version a call means; None when the caller has no such tool."""
        versions = self._items.get(ref.tool, {})
        listed = [version for version, item in versions.items() if item.is_listed]
        found = resolved(ref.version, listed if ref.version is None and listed else versions)
        return None if found is None else versions[found]

    def listing(self, *, is_compat: bool) -> bytes:
        """The answer to `GET /tools`."""
        known = self._listing.get(is_compat)
        if known is None:
            tools = [
                self._definition(tool, item)
                for tool in sorted(self._items)
                for _, item in sorted(self._items[tool].items(), key=lambda pair: number(pair[0]))
                if item.is_listed
            ]
            known = encoded({"$schema": SCHEMA, "tools": tools, **({"items": tools} if is_compat else {})})
            self._listing[is_compat] = known
        return known

    def _definition(self, tool: str, item: Item) -> dict[str, Any]:
        left = asked_for(self._app, item.entry.tool, item.projected.requirements)
        return item.projected.definition(tool, self._names[tool], left)

    async def refresh(self) -> None:
        """Look again, if anything changed. Raises FerruleError."""
        generation = self._app.generation()
        for handle in self._handles:
            if handle.session.generation != generation:
                await handle.refresh()
                _load(handle)
        if not self._handles or [handle.session for handle in self._handles] != self._sessions:
            self._fill()

    def _fill(self) -> None:
        base = self._handles[0] if self._handles else self._surface({})
        pins = self._older(base)
        same = self._handles[1:] if pins == self._pins else [self._surface(each) for each in pins]
        self._handles, self._pins = [base, *same], pins
        self._sessions = [handle.session for handle in self._handles]
        found: dict[str, list[Item]] = defaultdict(list)
        for handle, pinned in zip(self._handles, (None, *pins), strict=True):
            for item in self._shown(handle, pinned):
                found[item.entry.tool.tool_id].append(item)
        ids = _distinct_ids(found)
        self._items = {ids[tool_id]: _by_version(items) for tool_id, items in found.items()}
        self._names = _distinct_names(self._items)
        self._listing = {}

    def _surface(self, pins: dict[str, str]) -> SurfaceHandle:
        caller, identity = self._caller, self._caller.identity
        handle = self._app.surface(
            agent=caller.agent,
            principal=identity.principal,
            channel=identity.channel,
            tenant=caller.tenant,
            role=caller.role,
            surface_id=caller.surface_id,
            pins=pins,
            defer_above=_ALL,
            brings_credentials=True,
            holder=caller.holder,
        )
        _load(handle)
        return handle

    def _older(self, base: SurfaceHandle) -> list[dict[str, str]]:
        """Pins for the second version of every tool that has two, for the third of every one that has three, …"""
        pins: list[dict[str, str]] = []
        for tool_id, entry in base.surface.entries.items():
            versions = [one.tool.version for one in self._app.catalog.versions(tool_id)]
            others = [version for version in versions if version is not None and version != entry.tool.version]
            for rank, version in enumerate(others[:_MOST_VERSIONS]):
                if rank == len(pins):
                    pins.append({})
                pins[rank][tool_id] = version
        return pins

    def _shown(self, handle: SurfaceHandle, pinned: dict[str, str] | None) -> Iterable[Item]:
        surface = handle.surface
        entries = surface.entries.values() if pinned is None else map(surface.entries.__getitem__, pinned)
        for entry in entries:
            tool = entry.tool
            if not entry.is_visible or entry.loading_state != "loaded" or tool.dialect == "ferrule":
                continue
            if tool.exposed_as is not None:  # a resource or a prompt: no tool to a caller
                continue
            if pinned is not None and tool.version != pinned[tool.tool_id]:
                continue
            said = self._projections.of(entry)
            if said is not None:
                is_listed = entry.is_offered and tool.lifecycle != "deprecated"
                yield Item(handle, surface.shown_name(entry), entry, said, is_listed)


class Shelves:
    """The shelves of everybody who came lately."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._shelves: dict[Caller, Shelf] = {}
        self._projections = Projections()

    async def of(self, caller: Caller) -> Shelf:
        """A caller's shelf, as it is now. Raises FerruleError."""
        shelf = self._shelves.pop(caller, None) or Shelf(self._app, caller, self._projections)
        self._shelves[caller] = shelf
        await shelf.refresh()
        self._forget()
        return shelf

    def _forget(self) -> None:
        """Let go of those who did not come for longest, where many have much."""
        size = sum(shelf.size for shelf in self._shelves.values())
        while size > _ENTRIES_KEPT and len(self._shelves) > 1:
            size -= self._shelves.pop(next(iter(self._shelves))).size


class Projections:
    """Tools in OXP's words, made once for everybody."""

    def __init__(self) -> None:
        self._known: dict[str, Projected | None] = {}

    def of(self, entry: SurfaceEntry) -> Projected | None:
        """The tool's; None for one that cannot be said in OXP, which the log tells once."""
        if entry.digest in self._known:
            return self._known[entry.digest]
        if len(self._known) >= _PROJECTED_KEPT:
            self._known.clear()
        found: Projected | None = None
        try:
            found = projected(entry.tool)
        except NotInlinable as problem:
            _log.warning("tool %r is not listed over OXP: its input schema: %s", entry.tool.tool_id, problem)
        self._known[entry.digest] = found
        return found


def _load(handle: SurfaceHandle) -> None:
    """Load deferred tools: whoever lists over OXP gets every schema at once."""
    surface = handle.surface
    deferred = [entry for entry in surface.standing("deferred") if entry.loading_state == "deferred"]
    if deferred:
        handle.select([surface.shown_name(entry) for entry in deferred])


def _by_version(items: list[Item]) -> dict[str, Item]:
    """The versions of one tool. Of two that OXP can only call the same, the one that is called so counts."""
    found: dict[str, Item] = {}
    for item in sorted(items, key=lambda one: one.entry.tool.version != one.projected.version):
        if found.setdefault(item.projected.version, item) is not item:
            _log.info("version %r of %r is not listed over OXP, which has no word for it", item.entry.tool.version,
                      item.entry.tool.tool_id)  # fmt: skip
    return found


def _distinct_ids(found: dict[str, list[Item]]) -> dict[str, str]:
    """`Toolkit.Tool` for each tool id. Where several would have the same, those that were not written so get a number more."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for tool_id, items in found.items():
        wanted[items[0].projected.tool_part].append(tool_id)
    ids: dict[str, str] = {}
    for tool_part, tool_ids in wanted.items():
        for tool_id in tool_ids:
            is_plain = len(tool_ids) == 1 or found[tool_id][0].projected.is_own
            ids[tool_id] = tool_part if is_plain else f"{tool_part}_{_short_digest(tool_id)}"
    return ids


def _distinct_names(items: dict[str, dict[str, Item]]) -> dict[str, str]:
    """Names for the tools; models see nothing else, so that no two tools share one unless their definitions want it (OXP-8)."""
    wanted: dict[str, list[str]] = defaultdict(list)
    newest = {tool: versions[max(versions, key=number)].projected for tool, versions in items.items()}
    for tool, said in newest.items():
        wanted[said.name].append(tool)
    names: dict[str, str] = {}
    for name, tools in wanted.items():
        for tool in tools:
            if len(tools) == 1 or newest[tool].is_own:
                names[tool] = name
                continue
            longer = part(tool)
            is_free = len(longer) <= LONGEST_NAME and longer not in wanted
            names[tool] = longer if is_free else f"{name[: LONGEST_NAME - 9]}_{_short_digest(tool)}"
    return names


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
