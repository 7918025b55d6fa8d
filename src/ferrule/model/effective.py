"""An agent's permissions once tool, role and agent file are joined: the strictest statement wins.

Pure functions over outlines. The cross-file rules and the catalog builder both use them, so what is checked is what is
compiled. Values may be of any type; an invalid one counts as not written. Knows nothing of findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ferrule.model.outline import AgentOutline, RoleOutline, ToolOutline
from ferrule.model.value import JsonObject, JsonValue, Path, is_blank, is_integer

DENY, CALL, CALL_READ_ONLY = "deny", "call", "call-read-only"
TOOL_ACCESS = (CALL, CALL_READ_ONLY, DENY)
KNOWLEDGE_ACCESS = ("read", DENY)
COLLECTION_ACCESS = ("read", "write", "read-write", DENY)
READ_ONLY_TYPES = frozenset({"retrieval", "function"})
"""Tool types that `call-read-only` lets through."""


class CallLimits(NamedTuple):
    """The stated limits on the use of a tool; None where nothing is stated."""

    approval_required: bool | None = None
    max_calls_per_run: int | None = None


class RefEntry(NamedTuple):
    """One readable entry of a list of references: `{ref: …}` and what stands beside it."""

    ref: str
    path: Path
    """The entry in its file."""
    entry: dict[str, Any]

    @property
    def limits(self) -> CallLimits:
        """The limits written beside the `ref`."""
        approval, calls = self.entry.get("approval_required"), self.entry.get("max_calls_per_run")
        return CallLimits(
            approval if isinstance(approval, bool) else None, calls if is_integer(calls) and calls >= 1 else None
        )

    @property
    def notes(self) -> str | None:
        """The note written beside the `ref`."""
        notes = self.entry.get("notes")
        return notes.strip() if isinstance(notes, str) and notes.strip() else None


class RefList(NamedTuple):
    """A list of references as far as it can be read."""

    entries: tuple[RefEntry, ...]
    is_complete: bool
    """False when the list or one of its entries is not readable, so that a missing name proves nothing."""


def references(value: JsonObject, key: str) -> RefList:
    """Parses the references under a key: a list of `{ref}`, or such a list under `refs`. A missing key is an empty
    list."""
    if key not in value:
        return RefList((), True)
    written = value[key]
    path: Path = (key,)
    if isinstance(written, dict):
        if "refs" not in written:
            return RefList((), True)
        written, path = written["refs"], (key, "refs")
    if not isinstance(written, list):
        return RefList((), False)
    entries = tuple(
        RefEntry(entry["ref"], (*path, index), entry)
        for index, entry in enumerate(written)
        if isinstance(entry, dict) and isinstance(entry.get("ref"), str) and not is_blank(entry["ref"])
    )
    return RefList(entries, len(entries) == len(written))


class Grants:
    """A role's grants of one kind, by the name they grant."""

    __slots__ = ("by_ref", "is_complete")

    def __init__(self, role: JsonObject, key: str) -> None:
        entries, is_complete = references(role, key)
        self.is_complete = is_complete and isinstance(role.get(key, []), list)
        """False when a missing grant proves nothing, because part of the list is not readable."""
        self.by_ref: dict[str, list[RefEntry]] = {}
        for entry in entries:
            self.by_ref.setdefault(entry.ref, []).append(entry)

    def of(self, ref: str) -> Sequence[RefEntry]:
        """Returns every grant of this name."""
        return self.by_ref.get(ref, ())


def access_of(grants: Iterable[RefEntry], words: Sequence[str]) -> str | None:
    """Returns the access that several grants of one name give together: `deny` beats all, else the earliest of `words`
    wins.

    A grant without a word gives the first of them. None when a grant has any other value.
    """
    granted = [grant.entry.get("access", words[0]) for grant in grants]
    if DENY in granted:
        return DENY
    if any(word not in words for word in granted):
        return None
    return next((word for word in words if word in granted), None)


def strictest(limits: Iterable[CallLimits]) -> CallLimits:
    """Joins limits: approval if any requires it; the smallest number of calls any of them sets."""
    approval: bool | None = None
    calls: int | None = None
    for limit in limits:
        if limit.approval_required is not None:
            approval = approval or limit.approval_required
        if limit.max_calls_per_run is not None:
            calls = limit.max_calls_per_run if calls is None else min(calls, limit.max_calls_per_run)
    return CallLimits(approval, calls)


class EffectiveTool(NamedTuple):
    """One tool as an agent may use it."""

    tool_id: str
    approval_required: bool
    approval_from: tuple[str, ...]
    """The sources that require the approval: `tool`, `role`, `agent`, `policy` (all tools), `confirmation` (this tool)."""
    max_calls_per_run: int | None
    """None when nobody sets a limit."""


def tool_choice(agent: AgentOutline) -> str:
    """Returns `none` (shown, not callable), `auto` or `required`."""
    tools = agent.value.get("tools")
    choice = tools.get("tool_choice") if isinstance(tools, dict) else None
    return choice if choice in ("none", "required") else "auto"


def allows(grants: Grants, tool: ToolOutline) -> bool:
    """Returns True when a role's tool grants let an agent call the tool."""
    access = access_of(grants.of(tool.tool_id), TOOL_ACCESS)
    return access == CALL or (access == CALL_READ_ONLY and tool.type in READ_ONLY_TYPES)


def effective_tools(
    agent: AgentOutline, role: RoleOutline | None, find: Callable[[str], ToolOutline | None]
) -> tuple[EffectiveTool, ...]:
    """Returns the tools an agent may call, in the order of its file, each with the strictest limits of tool, role and
    agent.

    Leaves out tools that the role does not grant, that `find` does not know or that are disabled. Without a role no
    grant is needed.
    """
    grants = None if role is None else Grants(role.value, "tools")
    stated: dict[str, list[tuple[str, CallLimits]]] = {}
    for reference in references(agent.value, "tools").entries:
        tool = find(reference.ref)
        if tool is None or tool.status == "disabled" or (grants is not None and not allows(grants, tool)):
            continue
        if reference.ref not in stated:
            stated[reference.ref] = _stated_limits(agent, tool, grants)
        stated[reference.ref].append(("agent", reference.limits))
    return tuple(_join_limits(tool_id, sources) for tool_id, sources in stated.items())


def bounds(tool: ToolOutline | None, grants: Iterable[RefEntry] = ()) -> CallLimits:
    """Returns the limits an agent may tighten but not loosen: the strictest of the tool's own and the role's grants of
    it."""
    own = CallLimits() if tool is None else CallLimits(tool.approval_required, tool.max_calls_per_run)
    return strictest((own, *(grant.limits for grant in grants)))


def _stated_limits(agent: AgentOutline, tool: ToolOutline, grants: Grants | None) -> list[tuple[str, CallLimits]]:
    stated = [("tool", bounds(tool))]
    if grants is not None:
        stated.append(("role", bounds(None, grants.of(tool.tool_id))))
    if _inside(agent.value, "policies", "require_human_approval") is True:
        stated.append(("policy", CallLimits(True)))
    confirmed = _inside(_inside(agent.value, "guardrails", "tool_calls"), "require_user_confirmation_for")
    if isinstance(confirmed, list) and tool.tool_id in confirmed:
        stated.append(("confirmation", CallLimits(True)))
    return stated


def _join_limits(tool_id: str, sources: list[tuple[str, CallLimits]]) -> EffectiveTool:
    together = strictest(limits for _, limits in sources)
    asking = tuple(dict.fromkeys(source for source, limits in sources if limits.approval_required))
    return EffectiveTool(tool_id, bool(asking), asking, together.max_calls_per_run)


def _inside(value: JsonValue, *keys: str) -> JsonValue:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
