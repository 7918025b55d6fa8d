"""The items of `spec.tools`, read once and shared by the rules about them."""

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


def list_tools(subject: Subject) -> tuple[ToolItem, ...]:
    """Returns the items that are mappings; computed once per manifest, after the tables were checked."""
    known = subject.memo.get("adl.tools")
    if known is None:
        known = subject.memo["adl.tools"] = tuple(_read_tools(subject))
    return known  # type: ignore[return-value]  # the memo is untyped


def _read_tools(subject: Subject) -> list[ToolItem]:
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


def list_user_tools(subject: Subject) -> tuple[ToolItem, ...]:
    """Returns the tools that are not built in."""
    known = subject.memo.get("adl.user_tools")
    if known is None:
        known = tuple(tool for tool in list_tools(subject) if not tool.is_builtin)
        subject.memo["adl.user_tools"] = known
    return known  # type: ignore[return-value]  # the memo is untyped
