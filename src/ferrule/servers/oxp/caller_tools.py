"""The tools of one caller over OXP: every version of each, under ids and names that are distinct (OXP-3, OXP-20).

A surface shows one version of a tool. Older ones are on surfaces that pin them, so that access is decided for each
version by itself. A version that is not visible there looks as if it did not exist.
"""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.model.surface import SurfaceEntry
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.session import Session
from ferrule.schema.inlining import NotInlinable
from ferrule.servers.auth.callers import Caller
from ferrule.servers.oxp.definitions import (
    LONGEST_NAME,
    OxpTool,
    ToolRef,
    convert_tool,
    make_id_part,
    resolve_version,
    version_key,
)
from ferrule.servers.oxp.requirements import list_open_requirements
from ferrule.servers.oxp.wire import SCHEMA, encode_json

_ENTRIES_KEPT = 200_000
"""Cached tools of all callers together, each as often as it has versions."""
_PROJECTED_KEPT = 20_000
_MOST_VERSIONS = 64
_ALL = 1 << 30
_log = logging.getLogger("ferrule.oxp")


class ToolVersion(NamedTuple):
    """One version of one tool."""

    handle: SurfaceHandle
    """The surface that shows this version."""
    name: str
    """The tool's name on that surface."""
    entry: SurfaceEntry
    projected: OxpTool
    is_listed: bool
    """False for deprecated versions, which can be called but are not listed."""


class CallerTools:
    """The current tools of one caller."""

    def __init__(self, app: App, caller: Caller, projections: OxpToolCache) -> None:
        self._app = app
        self._caller = caller
        self._projections = projections
        self._handles: list[SurfaceHandle] = []
        self._pins: list[dict[str, str]] = []
        self._sessions: list[Session] = []
        self._items: dict[str, dict[str, ToolVersion]] = {}
        self._names: dict[str, str] = {}
        self._listing: dict[bool, bytes] = {}

    @property
    def base(self) -> SurfaceHandle:
        """The surface without pins."""
        return self._handles[0]

    @property
    def size(self) -> int:
        """The number of cached entries."""
        return 100 + sum(len(handle.surface.entries) for handle in self._handles)

    def find(self, ref: ToolRef) -> ToolVersion | None:
        """Returns the version that a call names; None when the caller has no such tool."""
        versions = self._items.get(ref.tool, {})
        listed = [version for version, item in versions.items() if item.is_listed]
        found = resolve_version(ref.version, listed if ref.version is None and listed else versions)
        return None if found is None else versions[found]

    def encode_listing(self, *, is_compat: bool) -> bytes:
        """Returns the body of the answer to `GET /tools`."""
        known = self._listing.get(is_compat)
        if known is None:
            tools = [
                self._build_definition(tool, item)
                for tool in sorted(self._items)
                for _, item in sorted(self._items[tool].items(), key=lambda pair: version_key(pair[0]))
                if item.is_listed
            ]
            known = encode_json({"$schema": SCHEMA, "tools": tools, **({"items": tools} if is_compat else {})})
            self._listing[is_compat] = known
        return known

    def _build_definition(self, tool: str, item: ToolVersion) -> JsonObject:
        left = list_open_requirements(self._app, item.entry.tool, item.projected.requirements)
        return item.projected.build_definition(tool, self._names[tool], left)

    async def refresh(self) -> None:
        """Reloads the surfaces if anything changed. Raises FerruleError."""
        generation = self._app.generation()
        for handle in self._handles:
            if handle.session.generation != generation:
                await handle.refresh()
                _load_deferred(handle)
        if not self._handles or [handle.session for handle in self._handles] != self._sessions:
            self._rebuild()

    def _rebuild(self) -> None:
        base = self._handles[0] if self._handles else self._surface({})
        pins = self._plan_pins(base)
        same = self._handles[1:] if pins == self._pins else [self._surface(each) for each in pins]
        self._handles, self._pins = [base, *same], pins
        self._sessions = [handle.session for handle in self._handles]
        found: dict[str, list[ToolVersion]] = defaultdict(list)
        # The first surface shows the preferred versions; each further one counts only for the tools that it pins.
        for handle, pinned in zip(self._handles, (None, *pins), strict=True):
            for item in self._visible_versions(handle, pinned):
                found[item.entry.tool.tool_id].append(item)
        # Among this caller's tools only: a suffix must not tell of a tool that the caller cannot see.
        ids = _make_distinct_ids(found)
        self._items = {ids[tool_id]: _index_by_version(items) for tool_id, items in found.items()}
        self._names = _make_distinct_names(self._items)
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
        _load_deferred(handle)
        return handle

    def _plan_pins(self, base: SurfaceHandle) -> list[dict[str, str]]:
        """Returns pins for surfaces of older versions: the first pins the second version of every tool that has two,
        and so on.
        """
        pins: list[dict[str, str]] = []
        for tool_id, entry in base.surface.entries.items():
            versions = [one.tool.version for one in self._app.catalog.versions(tool_id)]
            others = [version for version in versions if version is not None and version != entry.tool.version]
            for rank, version in enumerate(others[:_MOST_VERSIONS]):
                if rank == len(pins):
                    pins.append({})
                pins[rank][tool_id] = version
        return pins

    def _visible_versions(self, handle: SurfaceHandle, pinned: dict[str, str] | None) -> Iterable[ToolVersion]:
        surface = handle.surface
        entries = surface.entries.values() if pinned is None else map(surface.entries.__getitem__, pinned)
        for entry in entries:
            tool = entry.tool
            if not entry.is_visible or entry.loading_state != "loaded" or tool.dialect == "ferrule":
                continue
            if tool.exposed_as is not None:  # a resource or a prompt, which OXP does not have
                continue
            if pinned is not None and tool.version != pinned[tool.tool_id]:
                continue
            oxp_tool = self._projections.get(entry)
            if oxp_tool is not None:
                # A deprecated version can still be called, so that agents that know it go on working.
                is_listed = entry.is_offered and tool.lifecycle != "deprecated"
                yield ToolVersion(handle, surface.shown_name(entry), entry, oxp_tool, is_listed)


class CallerToolsCache:
    """The cached tools of recent callers."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._by_caller: dict[Caller, CallerTools] = {}
        self._projections = OxpToolCache()

    async def get(self, caller: Caller) -> CallerTools:
        """Returns the current tools of a caller. Raises FerruleError."""
        # Taken out and put back: the least recently used caller comes first.
        tools = self._by_caller.pop(caller, None) or CallerTools(self._app, caller, self._projections)
        self._by_caller[caller] = tools
        await tools.refresh()
        self._forget()
        return tools

    def _forget(self) -> None:
        """Drops the least recently used callers while the cache is too large."""
        size = sum(tools.size for tools in self._by_caller.values())
        while size > _ENTRIES_KEPT and len(self._by_caller) > 1:
            size -= self._by_caller.pop(next(iter(self._by_caller))).size


class OxpToolCache:
    """Tools converted to OXP once, for all callers."""

    def __init__(self) -> None:
        self._known: dict[str, OxpTool | None] = {}

    def get(self, entry: SurfaceEntry) -> OxpTool | None:
        """Returns the converted tool; None for one that OXP cannot express, which is logged once."""
        if entry.digest in self._known:
            return self._known[entry.digest]
        if len(self._known) >= _PROJECTED_KEPT:
            self._known.clear()
        found: OxpTool | None = None
        try:
            found = convert_tool(entry.tool)
        except NotInlinable as problem:
            _log.warning("tool %r is not listed over OXP: its input schema: %s", entry.tool.tool_id, problem)
        self._known[entry.digest] = found
        return found


def _load_deferred(handle: SurfaceHandle) -> None:
    """Loads deferred tools: an OXP listing contains every schema."""
    surface = handle.surface
    deferred = [entry for entry in surface.standing("deferred") if entry.loading_state == "deferred"]
    if deferred:
        handle.select([surface.shown_name(entry) for entry in deferred])


def _index_by_version(items: list[ToolVersion]) -> dict[str, ToolVersion]:
    """Returns the versions of one tool. Of two that OXP can only give the same number, the one that really has it wins."""
    found: dict[str, ToolVersion] = {}
    for item in sorted(items, key=lambda one: one.entry.tool.version != one.projected.version):
        if found.setdefault(item.projected.version, item) is not item:
            _log.info("version %r of %r is not listed over OXP, which has no word for it", item.entry.tool.version,
                      item.entry.tool.tool_id)  # fmt: skip
    return found


def _make_distinct_ids(found: dict[str, list[ToolVersion]]) -> dict[str, str]:
    """Returns `Toolkit.Tool` for each tool id. Of several with the same one, those that no definition states get a
    suffix.
    """
    wanted: dict[str, list[str]] = defaultdict(list)
    for tool_id, items in found.items():
        wanted[items[0].projected.tool_part].append(tool_id)
    ids: dict[str, str] = {}
    for tool_part, tool_ids in wanted.items():
        for tool_id in tool_ids:
            is_plain = len(tool_ids) == 1 or found[tool_id][0].projected.is_own
            ids[tool_id] = tool_part if is_plain else f"{tool_part}_{_short_digest(tool_id)}"
    return ids


def _make_distinct_names(items: dict[str, dict[str, ToolVersion]]) -> dict[str, str]:
    """Returns a name for each tool. Models see nothing else, so two tools share one only when their definitions say so
    (OXP-8).
    """
    wanted: dict[str, list[str]] = defaultdict(list)
    newest = {tool: versions[max(versions, key=version_key)].projected for tool, versions in items.items()}
    for tool, oxp_tool in newest.items():
        wanted[oxp_tool.name].append(tool)
    names: dict[str, str] = {}
    for name, tools in wanted.items():
        for tool in tools:
            if len(tools) == 1 or newest[tool].is_own:
                names[tool] = name
                continue
            longer = make_id_part(tool)
            is_free = len(longer) <= LONGEST_NAME and longer not in wanted
            names[tool] = longer if is_free else f"{name[: LONGEST_NAME - 9]}_{_short_digest(tool)}"
    return names


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
