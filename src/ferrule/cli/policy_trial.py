"""Asks the policy about a call without making it: the tool as a surface of the caller has it, the rules as they are written now.

Used by `ferrule policy explain` and `ferrule policy test`. Writes nothing and runs none of the workspace's code.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from ferrule.contracts.policy import Judged
from ferrule.contracts.readiness import Provider
from ferrule.errors import PolicyError
from ferrule.model.decision import Ruling
from ferrule.model.nearest import nearest
from ferrule.model.surface import Surface, SurfaceEntry, SurfaceRequest
from ferrule.model.tool import Tool
from ferrule.policy.engine import RuleEngine, engine_of
from ferrule.policy.explain import Considered, explain_rules
from ferrule.policy.facts import call_facts
from ferrule.policy.load import load_policy
from ferrule.policy.shell_classifier import BUILTIN
from ferrule.releases import catalog_in_memory
from ferrule.surface.build import build_surface
from ferrule.surface.catalogs import SealedCatalog
from ferrule.workspace import Workspace

_HELD = ("blocked", "excluded")


class _Ready:
    """Every credential is there and everything is set up: what is asked here is the policy alone."""

    def missing_credentials(self, tool: Tool, names: Sequence[str]) -> Collection[str]:
        return ()

    def is_switched_on(self, tool: Tool) -> bool:
        """False: nobody's environment is asked."""
        return False

    def is_set_up(self, tool: Tool) -> bool:
        return True

    def provider(self, tool: Tool) -> Provider | None:
        return None


class Tried(NamedTuple):
    """What the policy says about one call."""

    entry: SurfaceEntry
    request: SurfaceRequest
    judged: Judged
    failures: tuple[str, ...]
    """Facts that could not be worked out."""
    ruling: Ruling


class Trial:
    """A workspace's tools and rules, to be asked about calls."""

    def __init__(self, workspace: Workspace, *, is_personal: bool) -> None:
        self._catalog = SealedCatalog(catalog_in_memory(workspace))
        settings = workspace.settings
        policy = load_policy(
            workspace.root,
            settings.policy,
            os.environ,
            expires_seconds=settings.approval.expires_seconds,
            is_personal=is_personal,
        )
        self.engine: RuleEngine = engine_of(policy)
        self._surfaces: dict[str, Surface] = {}

    def try_call(self, name: str, arguments: dict[str, Any], caller: dict[str, Any]) -> Tried:
        """The ruling for one call. Raises PolicyError when the caller has no such tool."""
        request = SurfaceRequest(**{"principal": "somebody", "channel": "policy", **caller})
        entry = self._entry(name, request)
        facts, failures = call_facts(entry.tool, arguments, BUILTIN)
        judged = Judged(arguments, facts, 0)
        return Tried(entry, request, judged, failures, self._ruling(entry, request, judged))

    def considered(self, tried: Tried) -> list[Considered]:
        """Every rule, with what came of it."""
        return explain_rules(self.engine, tried.entry, tried.request, tried.judged)

    def _entry(self, name: str, request: SurfaceRequest) -> SurfaceEntry:
        key = repr(request)
        if key not in self._surfaces:
            made = build_surface(
                self._catalog, request, engine=None, now=0, new_id=lambda: "srf_trial", readiness=_Ready()
            )
            self._surfaces[key] = made
        surface = self._surfaces[key]
        entry = surface.find(name)
        if entry is not None:
            return entry
        if surface.is_ambiguous(name):
            raise PolicyError(f"{name!r} means several tools: {', '.join(surface.names[name])}; name one of them")
        hint = nearest(name, surface.names) or "`ferrule list` lists them all"
        raise PolicyError(f"{request.agent or 'this workspace'} has no tool {name!r}; {hint}")

    def _ruling(self, entry: SurfaceEntry, request: SurfaceRequest, judged: Judged) -> Ruling:
        if entry.standing in _HELD:
            message = f"the tool is held back before any rule is asked: {entry.detail or entry.reason}"
            return Ruling("deny", message, "other", is_policy_block=True)
        ruling = self.engine.program(entry, request).decide(judged)
        return asyncio.run(_answered(ruling)) if inspect.isawaitable(ruling) else ruling


async def _answered(ruling: Any) -> Ruling:
    answered: Ruling = await ruling
    return answered
