"""Two rules about names of tools in a manifest: two tools with one id, and one tool with two names."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.adl.tool_items import list_tools, list_user_tools
from ferrule.model.diagnostic import Finding, Severity


class DuplicateToolId(Rule):
    """Every tool of a manifest has an id of its own.

    Why: the id becomes a file and a symbol; the second would overwrite the first.
    Bad:  tools: [{id: search, …}, {id: search, …}]
    Good: tools: [{id: search_orders, …}, {id: search_customers, …}]
    """

    code = "ADL-9"
    name = "duplicate-tool-id"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each id that was used before, at its later place."""
        seen: set[str] = set()
        for tool in list_tools(subject):
            if tool.id is None:
                continue
            if tool.id in seen:
                message = f"another tool of this manifest has the id {tool.id!r}"
                yield Finding(self.code, (*tool.path, "id"), message, hint="give it an id of its own, or remove it")
            seen.add(tool.id)


class DifferingToolName(Rule):
    """A user-defined tool's `name` is its `id`.

    Why: some targets call the function by its name, others by its id; where the two agree it makes no difference.
    Bad:  {id: search_orders, name: Search orders}
    Good: {id: search_orders, name: search_orders}
    """

    code = "ADL-16"
    name = "differing-tool-name"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each name that is not the id; skips tools where either is in error."""
        for tool in list_user_tools(subject):
            written = tool.value.get("name")
            if tool.id is None or written == tool.id or not isinstance(written, str):
                continue
            if subject.is_reported((*tool.path, "id")) or subject.is_reported((*tool.path, "name")):
                continue
            message = f"the name {written[:60]!r} differs from the id {tool.id!r}"
            yield Finding(self.code, (*tool.path, "name"), message, self.severity, "use one name for both")
