"""Two tools with one id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.adl.tools import tool_items
from ferrule.model.diagnostic import Finding, Severity


class DuplicateToolId:
    """Every tool of a manifest has an id of its own.

    Why: the id becomes a file and a symbol; the second would overwrite the first.
    Bad:  tools: [{id: search, …}, {id: search, …}]
    Good: tools: [{id: search_orders, …}, {id: search_customers, …}]
    """

    code: ClassVar = "ADL-9"
    name: ClassVar = "duplicate-tool-id"
    severity: ClassVar = Severity.ERROR
    since: ClassVar = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Each id that was used before, at its later place."""
        seen: set[str] = set()
        for tool in tool_items(subject):
            if tool.id is None:
                continue
            if tool.id in seen:
                message = f"another tool of this manifest has the id {tool.id!r}"
                yield Finding(self.code, (*tool.path, "id"), message, hint="give it an id of its own, or remove it")
            seen.add(tool.id)
