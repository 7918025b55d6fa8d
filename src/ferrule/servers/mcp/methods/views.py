"""The view of one caller over MCP, worked out once from its surface: tools under their wire names, resources, prompts.

In the revision without sessions a list must not depend on earlier requests (MCP-128), so it shows tools that a search
loaded as if nothing had been loaded; a session shows them. A wire name has 1 to 128 characters of `A-Za-z0-9_.-`
(MCP-132), and many models want 64 without dots: a tool keeps a legal name, any other gets one that depends on its own
name and id alone. An agent's file gives a prompt: the sections of an AML agent, or `spec.agent.systemPrompt` of an ADL
manifest.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Literal, NamedTuple

import msgspec

from ferrule.contracts.surface import CatalogView
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.model.serving import McpSettings
from ferrule.model.surface import Surface, SurfaceEntry
from ferrule.model.tool import CompletionExposure, PromptExposure, ResourceExposure
from ferrule.model.value import JsonObject, dig
from ferrule.runtime.functions.uri_template import parse_uri_template
from ferrule.servers.mcp.methods.result_lookup import LOOKUP, is_needed
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.wire.cursors import hash_scope

_SECTIONS = ("purpose", "system behavior", "rules", "escalation", "examples", "non-goals", "output style notes")
_UNUSABLE = ("disabled", "draft", "retired")


class AgentPrompt(NamedTuple):
    """The prompt that one agent's file holds."""

    name: str
    title: str
    description: str
    text: str


def find_agent_prompts(catalog: CatalogView, agent: str | None) -> dict[str, AgentPrompt]:
    """Returns the prompts of one agent, or of all, by name."""
    if agent is not None:
        found = [catalog.record(kind, agent) for kind in ("agent", "manifest")]
        records = [record for record in found if record is not None]
    else:
        records = [record for kind in ("agent", "manifest") for record in catalog.records(kind)]
    prompts = [_read_prompt(record.kind, record.record_id, bytes(record.payload)) for record in records]
    return {prompt.name: prompt for prompt in prompts if prompt is not None}


@lru_cache(maxsize=512)
def _read_prompt(kind: str, agent: str, payload: bytes) -> AgentPrompt | None:
    written = msgspec.json.decode(payload)
    if not isinstance(written, dict):
        return None
    text, description = _read_agent(written) if kind == "agent" else _read_manifest(written)
    if not text:
        return None
    return AgentPrompt(f"agent-{agent}", agent, description or f"The prompt of the agent {agent!r}.", text)


def _read_agent(written: JsonObject) -> tuple[str, str]:
    if dig(written, ("definition", "status")) in _UNUSABLE:
        return "", ""
    body = written.get("body")
    sections = body if isinstance(body, dict) else {}
    known = [(name, sections[name]) for name in _SECTIONS if isinstance(sections.get(name), str)]
    text = "\n\n".join(f"# {name.capitalize()}\n\n{part.strip()}" for name, part in known if part.strip())
    return text, _join_words(dig(written, ("definition", "meta", "description")))


def _read_manifest(written: JsonObject) -> tuple[str, str]:
    text = dig(written, ("spec", "agent", "systemPrompt"))
    return (text.strip() if isinstance(text, str) else ""), _join_words(dig(written, ("metadata", "description")))


def _join_words(text: object) -> str:
    return " ".join(text.split()) if isinstance(text, str) else ""


LONGEST, LONGEST_SAFE = 128, 64
_LEGAL = NameRule("A-Za-z0-9_.-", LONGEST)
_SAFE = NameRule("A-Za-z0-9_-", LONGEST_SAFE)


class WireNames:
    """The names of one surface's tools on the wire."""

    __slots__ = ("_given", "_meant", "_surface")

    def __init__(self, surface: Surface, *, is_safe: bool = False, reserved: Iterable[str] = ()) -> None:
        """`is_safe`: names of 64 characters without dots. `reserved`: names that no tool gets, unless it is its own."""
        self._surface = surface
        self._given: dict[str, str] = {}
        self._meant: dict[str, str] = {}
        rule = _SAFE if is_safe else _LEGAL
        for entry in surface.entries.values():
            # Only renamed tools are kept here: most surfaces have none.
            if is_tool(entry) and not rule.is_legal(shown := surface.shown_name(entry)):
                tool_id = entry.tool.tool_id
                name = self._choose_name(shown, tool_id, rule, frozenset(reserved))
                self._given[tool_id] = name
                self._meant[name] = shown

    def name_of(self, entry: SurfaceEntry) -> str:
        """Returns the name a tool is listed under."""
        return self._given.get(entry.tool.tool_id) or self._surface.shown_name(entry)

    def resolve(self, name: str) -> str | None:
        """Returns the surface's name for a wire name; None for a tool that is unknown or hidden from the caller."""
        entry = self._surface.find(name)
        if entry is not None and is_tool(entry):
            return name
        return self._meant.get(name)

    def find_entry(self, name: str) -> SurfaceEntry | None:
        """Returns the tool of a wire name."""
        meant = self.resolve(name)
        return None if meant is None else self._surface.find(meant)

    def is_free(self, name: str) -> bool:
        """True when a name leads to none of the caller's tools."""
        return self.resolve(name) is None

    def _choose_name(self, shown: str, tool_id: str, rule: NameRule, reserved: frozenset[str]) -> str:
        stem = rule.build_stem(shown)
        if len(stem) <= rule.longest and self.is_free(stem) and stem not in reserved:
            return stem
        return next(name for name in rule.list_marked(shown, tool_id) if self.is_free(name))


def is_tool(entry: SurfaceEntry) -> bool:
    """True for a tool that the caller may know of: not held back, and not a resource or a prompt."""
    return entry.is_visible and entry.tool.exposed_as is None


CALL_TOOL_NAMES = ("call_tool", "ferrule_call_tool", "ferrule_call_deferred_tool")
DEFER_EXTENSION = "dev.ferrule/defer-loading"
"""A client that declares this extension defers tools itself: it gets all of them, with hints."""


class McpView:
    """One surface, as MCP shows it."""

    def __init__(self, surface: Surface, settings: McpSettings, *, may_wait: bool) -> None:
        """`may_wait`: whether its tools' calls may have to wait for a person."""
        self.surface = surface
        self.scope = hash_scope(surface.request)
        self.instructions: str | None = None
        """The instructions for models, once they were written."""
        self.written_lists: set[tuple[str, bool]] = set()
        """The lists already encoded: their revision, and whether they include deferred tools."""
        self._keys: dict[str, bytes] = {}
        self.names = WireNames(surface, is_safe=settings.safe_names, reserved=(*CALL_TOOL_NAMES, LOOKUP))
        self.listed: list[SurfaceEntry] = []
        """Tools shown with their schemas."""
        self.deferred: list[SurfaceEntry] = []
        self.resources: dict[str, SurfaceEntry] = {}
        """By their addresses."""
        self.templates: dict[str, SurfaceEntry] = {}
        self.prompts: dict[str, SurfaceEntry] = {}
        """By the names they are listed under."""
        self.agent_prompts: dict[str, AgentPrompt] | None = None
        """The prompts of agents' files, once they were read."""
        self.completers: dict[tuple[str, str], SurfaceEntry] = {}
        for entry in surface.entries.values():
            if entry.standing == "loaded" and entry.is_offered:
                self.listed.append(entry)
            elif entry.standing == "deferred" and entry.is_offered:
                self.deferred.append(entry)
            elif entry.standing == "loaded" and entry.tool.exposed_as is not None:
                self._expose(entry)
        self.needs_lookup = may_wait and self.names.is_free(LOOKUP)
        """True when a call's result may have to be looked up later."""
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

    def find_resource(self, uri: str) -> tuple[SurfaceEntry, dict[str, str]] | None:
        """Returns the resource at an address, and the variables in it; None when the caller sees none there."""
        entry = self.resources.get(uri)
        if entry is not None:
            return entry, {}
        for text, template in self.templates.items():
            values = parse_uri_template(text).match(uri)
            if values is not None:
                return template, values
        return None

    def list_key(self, kind: Literal["loaded", "all"]) -> bytes:
        """Returns a key that is equal for views with equal lists: of loaded tools, or of all."""
        key = self._keys.get(kind)
        if key is None:
            entries = self.listed if kind == "loaded" else (*self.listed, *self.deferred)
            # With the number of loaded tools: the same tools divided in another way are another list.
            said = sha256(f"{self.call_tool} {self.needs_lookup} {len(self.listed)}\n".encode())
            for entry in entries:
                said.update(f"{entry.digest} {self.names.name_of(entry)}\n".encode(errors="backslashreplace"))
            key = self._keys[kind] = said.digest()
        return key


def get_view(exchange: Exchange) -> McpView:
    """Returns the view of the caller's current surface, made once per surface. A client that lists everything with hints gets
    the one that ignores searches."""
    session = exchange.surface.session
    views = session.views
    ignores_searches = exchange.is_modern or lists_all(exchange)
    name = "mcp" if ignores_searches else "mcp in a session"
    view: McpView | None = views.get(name)
    if view is None:
        surface = session.surface
        shown = drop_selection(surface) if ignores_searches else surface
        view = views[name] = McpView(shown, exchange.server.settings, may_wait=is_needed(session))
        if shown is surface and not surface.request.selected:  # nothing was loaded, so both kinds of view are the same
            views["mcp"] = views["mcp in a session"] = view
    return view


def lists_all(exchange: Exchange) -> bool:
    """True when deferred tools are listed with hints, for a client that defers them itself."""
    return exchange.server.settings.deferred == "list" or DEFER_EXTENSION in exchange.client


def drop_selection(surface: Surface) -> Surface:
    """Returns the surface as it was before a search loaded anything."""
    if not surface.request.selected:
        return surface
    entries = {
        tool_id: entry
        if entry.selection_ref is None
        else msgspec.structs.replace(entry, standing="deferred", loading_state="deferred", selection_ref=None)
        for tool_id, entry in surface.entries.items()
    }
    return msgspec.structs.replace(surface, entries=entries)
