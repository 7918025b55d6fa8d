"""What several rules ask of `spec.tools`: the items that are mappings, with their ids where those are sound."""

from __future__ import annotations

from typing import NamedTuple

from ferrule.contracts.rule import Subject
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.value import JsonObject, Path

TOOLS: Path = ("spec", "tools")


class ToolItem(NamedTuple):
    """One item of `spec.tools`."""

    path: Path
    value: JsonObject
    id: str | None
    """None when it is missing or malformed; a repeated id still counts."""
    is_builtin: bool


def tool_items(subject: Subject) -> tuple[ToolItem, ...]:
    """The tools of a manifest, worked out once per manifest, after the tables were run."""
    known = subject.memo.get("adl.tools")
    if known is None:
        known = subject.memo["adl.tools"] = tuple(_items(subject))
    return known  # type: ignore[return-value]  # the memo is untyped


def _items(subject: Subject) -> list[ToolItem]:
    tools = subject.get(*TOOLS)
    items: list[ToolItem] = []
    if not isinstance(tools, list):
        return items
    for index, value in enumerate(tools):
        if not isinstance(value, dict):
            continue
        path = (*TOOLS, index)
        identity = subject.get(*path, "id")
        known = identity if isinstance(identity, str) else None
        items.append(ToolItem(path, value, known, known in BUILTIN_TOOLS))
    return items


def user_tools(subject: Subject) -> tuple[ToolItem, ...]:
    """The tools that are no built-ins, so that the rules for user-defined ones hold."""
    known = subject.memo.get("adl.user_tools")
    if known is None:
        known = tuple(tool for tool in tool_items(subject) if not tool.is_builtin)
        subject.memo["adl.user_tools"] = known
    return known  # type: ignore[return-value]  # the memo is untyped
