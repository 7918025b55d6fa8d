"""AML-81: a tool that published agents name has another name now, or is gone."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import CompatFinding, CompatRule
from ferrule.model.change import ComparedTool, Comparison, ToolChange
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.effective import references


class VanishedTool(CompatRule):
    """A tool that a published agent references keeps its `tool_id`: it is neither renamed nor removed.

    Why:  the published agent would name a tool that is not there, and stop working the moment this is published.
    Bad:  `tool_id: send-mail` where a published agent has `ref: send-email`
    Good: publish the new tool beside the old one, move the agents to it, publish them, then remove the old one
    """

    code = "AML-81"
    name = "vanished-tool"
    severity = Severity.ERROR

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """Yields one finding on the renamed tool's file, or one on every published reference to a removed tool."""
        for change in comparison.changes:
            if is_vanished(change, comparison):
                yield from self._report_tool(change, comparison)

    def _report_tool(self, change: ToolChange, comparison: Comparison) -> Iterator[CompatFinding]:
        tool_id = change.part.outline.tool_id
        users = ", ".join(list_agents_naming(tool_id, comparison))
        successor = _find_successor(change.part, comparison)
        if successor is not None:
            message = f"{tool_id!r} was renamed to {successor.outline.tool_id!r}, but published agents use it: {users}"
            hint = f"keep the id {tool_id}, or publish both until no published agent uses the old one"
            yield CompatFinding(successor.outline, Finding(self.code, ("tool_id",), message, hint=hint))
            return
        hint = "publish the agent without it first, or set the tool's status to deprecated"
        for agent_id, agent in comparison.published.agents.items():
            for entry in references(agent.value, "tools").entries:
                if entry.ref == tool_id:
                    message = f"the tool {tool_id!r} was removed, but the published agent {agent_id!r} uses it"
                    finding = Finding(self.code, (*entry.path, "ref"), message, hint=hint)
                    yield CompatFinding(agent, finding, on_published=True)
                    break


def is_vanished(change: ToolChange, comparison: Comparison) -> bool:
    """Returns True for an AML tool that is gone although a published agent names it."""
    outline = change.part.outline
    return (
        change.new is None
        and outline.dialect == "aml"
        and bool(change.agents)
        # A file that cannot be read may still hold it.
        and ("tool", outline.tool_id) not in comparison.candidate.broken
        and all(part.outline.tool_id != outline.tool_id for part in comparison.candidate.parts)
        and bool(list_agents_naming(outline.tool_id, comparison))
    )


def list_agents_naming(tool_id: str, comparison: Comparison) -> list[str]:
    """Returns the published agents that reference the tool."""
    return sorted(
        agent_id
        for agent_id, agent in comparison.published.agents.items()
        if any(entry.ref == tool_id for entry in references(agent.value, "tools").entries)
    )


def _find_successor(old: ComparedTool, comparison: Comparison) -> ComparedTool | None:
    """Returns the one new tool with the old one's interface or name."""
    known = {part.outline.tool_id for part in comparison.published.parts}
    alike = [
        part
        for part in comparison.candidate.parts
        if part.outline.dialect == "aml" and part.outline.tool_id not in known and _is_alike(old, part)
    ]
    return alike[0] if len(alike) == 1 else None


def _is_alike(old: ComparedTool, new: ComparedTool) -> bool:
    if "interface" in old.facts and old.facts["interface"] == new.facts.get("interface"):
        return True
    names = [part.facts["meta"].get("name") for part in (old, new) if isinstance(part.facts.get("meta"), dict)]
    return len(names) == 2 and isinstance(names[0], str) and names[0] == names[1]
