"""What agents may reach, in words: pure functions from what the HTTP API says to what people read."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

KINDS = {
    "agent": ("Agents", "agent", "agents"),
    "role": ("Roles", "role", "roles"),
    "surface": ("Surfaces", "surface", "surfaces"),
}
VERDICTS = ("runs", "asks", "depends", "denied", "held")
LOADINGS = ("loaded", "deferred", "hidden", "gone")
LOADING_WORDS = {
    "loaded": "shown with its schema",
    "deferred": "found by search, loaded when selected",
    "hidden": "answers to its name, shown to nobody",
    "gone": "not on this surface",
}


def address(kind: str, name: str) -> str:
    """Where an agent, a role or a surface has its page."""
    part = quote(name, safe="") or "-"
    return f"/console/agents/{part}" if kind == "agent" else f"/console/agents/{kind}/{part}"


def list_sentence(kind: str, total: int, problems: int) -> str:
    """How many there are."""
    _, one, many = KINDS[kind]
    if total == 0:
        return f"There are no {many}: every key may use what the policy allows."
    verb = f"is 1 {one}" if total == 1 else f"are {total:,} {many}"
    bad = f" {problems} on this page cannot be used as {'it is' if problems == 1 else 'they are'}." if problems else ""
    return f"There {verb}. Each line tells what it may reach and what the policy says to that.{bad}"


def reach_sentence(found: dict[str, Any]) -> str:
    """What somebody may reach, in one sentence or two."""
    subject, tools = found["subject"], found["subject"]["tools"]
    seen = tools["loaded"] + tools["deferred"] + tools["hidden"]
    name = subject["id"] or "A key without an agent"
    first = f"{name} has {_tools(seen)}"
    if tools["deferred"]:
        first += f", {tools['deferred']:,} of them by search"
    if tools["gone"]:
        first += f"; {tools['gone']:,} more {'is' if tools['gone'] == 1 else 'are'} kept from it"
    verdicts = subject["verdicts"]
    if verdicts is None:
        return f"{first}. There are too many to count what the policy says; the list below tells it page by page."
    parts = [f"{verdicts[key]:,} {one if verdicts[key] == 1 else many}" for key, one, many in _SAID if verdicts[key]]
    return f"{first}. {_and(parts)}." if parts else f"{first}."


_SAID = (
    ("runs", "runs at once", "run at once"),
    ("asks", "asks a person", "ask a person"),
    ("depends", "depends on the call", "depend on the call"),
    ("denied", "is denied by the policy", "are denied by the policy"),
    ("held", "is held back", "are held back"),
)


def _tools(count: int) -> str:
    return "no tool" if count == 0 else "1 tool" if count == 1 else f"{count:,} tools"


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
