"""Whether calls of a tool wait for a person: always, depending on the call, or never.

A policy is worked out for each tool that is asked about, so lists ask about what is on their page alone.
"""

from __future__ import annotations

from typing import Literal

from ferrule.app.preview.reach import reached
from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.policy import PolicyEngine
from ferrule.model.surface import Surface, SurfaceEntry

Asks = Literal["always", "depends", "never"]


def asks_caller(handle: SurfaceHandle, entry: SurfaceEntry, engine: PolicyEngine) -> Asks:
    """Whether calls of a tool wait for a person, for a caller who was shown it."""
    if not handle.session.may_ask(entry):
        return "never"
    return "always" if asks_of(handle.surface, entry, engine) == "always" else "depends"


def asks_of(surface: Surface, entry: SurfaceEntry, engine: PolicyEngine) -> Asks | None:
    """The same for whoever a surface is made for; None when the calls are refused."""
    verdict = reached(surface, entry, engine).verdict
    if verdict in ("denied", "held"):
        return None
    if verdict == "asks" or entry.tool.facts.requires_user_interaction:
        return "always"
    return "depends" if verdict == "depends" or entry.approval_from else "never"
