"""What one caller can see over MCP, worked out from its surface once: tools under their names on the wire, resources, prompts.

In the revision without sessions a list must not depend on what was asked before (MCP-128), so tools that a search loaded are
shown there as if nothing had been loaded; a session shows them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.model.exposure import CompletionExposure, PromptExposure, ResourceExposure
from ferrule.model.serving import McpSettings
from ferrule.model.surface import Surface, SurfaceEntry
from ferrule.runtime.functions.uri_template import uri_template
from ferrule.servers.mcp.exchange import Exchange
from ferrule.servers.mcp.methods.agent_prompts import AgentPrompt
from ferrule.servers.mcp.methods.lookup import LOOKUP, is_needed
from ferrule.servers.mcp.wire.cursors import scope_of
from ferrule.servers.mcp.wire.names import Names

CALL_TOOL_NAMES = ("call_tool", "ferrule_call_tool", "ferrule_call_deferred_tool")
DEFER_EXTENSION = "dev.ferrule/defer-loading"
"""A client that declares this extension defers tools itself: it gets all of them, with hints."""


class View:
    """One surface, as MCP shows it."""

    def __init__(self, surface: Surface, settings: McpSettings, *, may_wait: bool) -> None:
        """`may_wait`: whether calls of its tools may have to wait for somebody."""
        self.surface = surface
        self.scope = scope_of(surface.request)
        self.instructions: str | None = None
        """What models are told of it, once that was worked out."""
        self.is_written: set[tuple[str, bool]] = set()
        """Which of its lists were written down: of which revision, and whether with everything that is deferred."""
        self._keys: dict[str, bytes] = {}
        self.names = Names(surface, is_safe=settings.safe_names, reserved=(*CALL_TOOL_NAMES, LOOKUP))
        self.listed: list[SurfaceEntry] = []
        """Tools that are shown with their schemas."""
        self.deferred: list[SurfaceEntry] = []
        self.resources: dict[str, SurfaceEntry] = {}
        """By their addresses."""
        self.templates: dict[str, SurfaceEntry] = {}
        self.prompts: dict[str, SurfaceEntry] = {}
        """By the names they are listed under."""
        self.agent_prompts: dict[str, AgentPrompt] | None = None
        """What agents' files say, once that was looked up."""
        self.completers: dict[tuple[str, str], SurfaceEntry] = {}
        for entry in surface.entries.values():
            if entry.standing == "loaded" and entry.is_offered:
                self.listed.append(entry)
            elif entry.standing == "deferred" and entry.is_offered:
                self.deferred.append(entry)
            elif entry.standing == "loaded" and entry.tool.exposed_as is not None:
                self._expose(entry)
        self.needs_lookup = may_wait and self.names.is_free(LOOKUP)
        """True when calls may have to be asked about later."""
        self.call_tool = next((name for name in CALL_TOOL_NAMES if self.names.is_free(name)), "")
        """The name of the tool that calls others; empty when nothing needs it."""
        if not self.deferred and not any(entry.selection_ref for entry in self.listed):
            self.call_tool = ""

    def _expose(self, entry: SurfaceEntry) -> None:
        match entry.tool.exposed_as:
            case ResourceExposure(is_template=True) as exposure:
                self.templates.setdefault(exposure.uri, entry)
            case ResourceExposure() as exposure:
                self.resources.setdefault(exposure.uri, entry)
            case PromptExposure():
                name = self.surface.shown_name(entry)
                self.prompts[name] = entry
            case CompletionExposure(of=of, argument=argument):
                self.completers[of, argument] = entry

    def resource(self, uri: str) -> tuple[SurfaceEntry, dict[str, str]] | None:
        """The resource at an address, and the variables in it; None when there is none that the caller may know of."""
        entry = self.resources.get(uri)
        if entry is not None:
            return entry, {}
        for text, template in self.templates.items():
            values = uri_template(text).match(uri)
            if values is not None:
                return template, values
        return None

    def key(self, kind: Literal["loaded", "all"]) -> bytes:
        """Equal for views whose tools cannot be listed differently: of those that are loaded, or of all."""
        key = self._keys.get(kind)
        if key is None:
            entries = self.listed if kind == "loaded" else (*self.listed, *self.deferred)
            said = sha256(f"{self.call_tool} {self.needs_lookup} {len(self.listed)}\n".encode())
            for entry in entries:
                said.update(f"{entry.digest} {self.names.of(entry)}\n".encode(errors="backslashreplace"))
            key = self._keys[kind] = said.digest()
        return key


def view_of(handle: SurfaceHandle, settings: McpSettings, *, is_modern: bool) -> View:
    """The view of a caller's surface as it is now; made once for each."""
    session = handle.session
    views = session.views
    name = "mcp" if is_modern else "mcp in a session"
    view: View | None = views.get(name)
    if view is None:
        surface = session.surface
        plain = without_selection(surface) if is_modern else surface
        made = View(plain, settings, may_wait=is_needed(session))
        view = views[name] = made
        if plain is surface and not surface.request.selected:
            views["mcp"] = views["mcp in a session"] = made
    return view


def of(exchange: Exchange, settings: McpSettings) -> View:
    """The view of whoever asks. Who gets everything with hints has no use for what is loaded."""
    return view_of(exchange.surface, settings, is_modern=exchange.is_modern or lists_all(exchange, settings))


def lists_all(exchange: Exchange, settings: McpSettings) -> bool:
    """True when deferred tools are listed with hints, for a client that defers them by itself."""
    return settings.deferred == "list" or DEFER_EXTENSION in exchange.client


def without_selection(surface: Surface) -> Surface:
    """The surface as it was before anything was loaded by a search."""
    if not surface.request.selected:
        return surface
    entries = {
        tool_id: entry
        if entry.selection_ref is None
        else msgspec.structs.replace(entry, standing="deferred", loading_state="deferred", selection_ref=None)
        for tool_id, entry in surface.entries.items()
    }
    return msgspec.structs.replace(surface, entries=entries)
