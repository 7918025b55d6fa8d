"""The mode: what happens to calls no rule decides about, and how far calls are narrowed whatever the rules say."""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.model.decision import Behavior, RuleSource
from ferrule.runtime.policy.records import Mode, PolicyFile

_FREE: tuple[RuleSource, ...] = ("policy_settings", "project_settings")
"""Sources that may set any mode. The others only make it stricter."""
_NARROWING: tuple[Mode, ...] = ("read_only", "ask_all")

STRICTNESS: dict[Behavior, int] = {"allow": 0, "passthrough": 0, "ask": 1, "deny": 2}


def modes_of(files: Iterable[PolicyFile]) -> frozenset[Mode]:
    """Every mode that is set; `default` where the workspace sets none."""
    set_by = [(file.source, file.mode) for file in files if file.mode is not None]
    base = {mode for source, mode in set_by if source in _FREE} or {"default"}
    return effective({*base, *(mode for _, mode in set_by)})


def effective(modes: Iterable[Mode]) -> frozenset[Mode]:
    """The modes that matter: several together are as strict as the strictest of them is for each call."""
    given = set(modes)
    if "locked" in given:
        return frozenset({"locked"})
    narrowing = given & set(_NARROWING)
    return frozenset(narrowing or ({"default"} if "default" in given else {"trusted"}))


def label(modes: frozenset[Mode]) -> str:
    """As decisions record it."""
    return "+".join(sorted(modes))


def gate(modes: frozenset[Mode], *, is_read_only: bool) -> Behavior:
    """What the mode says however a call is allowed: `passthrough` when it leaves it to the rules."""
    if "locked" in modes or ("read_only" in modes and not is_read_only):
        return "deny"
    return "ask" if "ask_all" in modes else "passthrough"


def fallback(modes: frozenset[Mode], *, is_read_only: bool, is_harmless: bool) -> Behavior:
    """What the mode says about a call no rule decides about."""
    gated = gate(modes, is_read_only=is_read_only)
    if gated != "passthrough":
        return gated
    return "allow" if "trusted" in modes or is_read_only or is_harmless else "ask"
