"""What leads to which tool on a surface: names, ids, `namespace.name` and aliases, and which of them mean several (AT-4 to AT-6).

A stronger claim silences weaker ones: the name or id of a tool, then a name with its namespace, then an alias. What is no tool
to a model (a resource, a prompt) claims its name like an alias, so that it never costs a tool its own. Within a
claim a tool the caller sees beats one held back. A held tool keeps its name against aliases, so that switching a tool
off never sends its calls to another one.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.model.surface import SurfaceEntry

_Claims = dict[str, list[SurfaceEntry]]


def names_of(entries: Iterable[SurfaceEntry]) -> dict[str, tuple[str, ...]]:
    """Every callable name, each with the ids it leads to; several when it is ambiguous."""
    primary: _Claims = {}
    qualified: _Claims = {}
    aliases: _Claims = {}
    names: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        tool = entry.tool
        _claim(primary if tool.exposed_as is None else aliases, tool.name, entry)
        if tool.tool_id != tool.name:
            _claim(primary, tool.tool_id, entry)
        _claim(qualified, f"{tool.namespace}.{tool.name}", entry)
        for alias in tool.aliases:
            _claim(aliases, alias, entry)
    for claims in (aliases, qualified, primary):
        names.update(
            (name, _leads_to(claimants)) for name, claimants in claims.items() if _counts(claimants, name, names)
        )
    return names


def _claim(claims: _Claims, name: str, entry: SurfaceEntry) -> None:
    claimants = claims.get(name)
    if claimants is None:
        claims[name] = [entry]
    elif claimants[-1] is not entry:
        claimants.append(entry)


def _counts(claimants: list[SurfaceEntry], name: str, weaker: dict[str, tuple[str, ...]]) -> bool:
    """Tools that were removed claim a name only when nobody else does."""
    return name not in weaker or any(entry.standing != "excluded" for entry in claimants)


def _leads_to(claimants: list[SurfaceEntry]) -> tuple[str, ...]:
    if len(claimants) == 1:
        return (claimants[0].tool.tool_id,)
    for standings in (("loaded", "deferred"), ("blocked",), ("excluded",)):
        ids = dict.fromkeys(entry.tool.tool_id for entry in claimants if entry.standing in standings)
        if ids:
            return tuple(ids)
    return ()
