"""OXP rules about several definitions at once: ids are unique in a workspace, names among the tools of one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ferrule.contracts.rule import LibraryFinding, LibraryRule, RuleSettings
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.outline import Library, ToolOutline


class DuplicateId(LibraryRule):
    """An id stands for one definition; several versions of a tool may stand side by side.

    Why: a tool server can answer a call to an id in one way only.
    Bad:  two definitions with "id": "Clock.Now@1.0.0"
    Good: "Clock.Now@1.0.0" and "Clock.Now@1.1.0"
    """

    code = "OXP-3"
    name = "duplicate-id"
    severity = Severity.ERROR

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        firsts: dict[tuple[str, str | None], ToolOutline] = {}
        for tool in _list_identified(library):
            first = firsts.setdefault((tool.tool_id, tool.version), tool)
            if first is not tool:
                where = "in this file" if first.file == tool.file else f"in {first.file}"
                message = f"the id {tool.tool_id}@{tool.version} is already defined {where}"
                yield LibraryFinding(tool, Finding(self.code, ("id",), message))


class MisleadingName(LibraryRule):
    """`name` follows from the id (Toolkit_Tool or Tool), and no two tools of a file share one in their latest versions.

    Why: models see the name alone; calls, logs and policies use the id. Two versions of one tool share a name lawfully.
    Bad:  "id": "Clock.Now@1.0.0", "name": "get_time"
    Good: "id": "Clock.Now@1.0.0", "name": "Clock_Now"
    """

    code = "OXP-8"
    name = "misleading-name"
    severity = Severity.WARNING

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        seen: set[tuple[str, str | None]] = set()
        by_file: dict[str, list[ToolOutline]] = {}
        for tool in _list_identified(library):
            key = (tool.tool_id, tool.version)
            if key not in seen and tool.name:  # a duplicate id is one defect already
                seen.add(key)
                by_file.setdefault(tool.file, []).append(tool)
        for tools in by_file.values():
            yield from self._check_file(tools)

    def _check_file(self, tools: list[ToolOutline]) -> Iterator[LibraryFinding]:
        latest = _keep_latest(tools) if len(tools) > 1 else {}
        named: dict[str, ToolOutline] = {}
        for tool in tools:
            if latest.get(tool.tool_id, tool) is tool:
                first = named.setdefault(tool.name, tool)
                if first is not tool:
                    message = f"the name {tool.name!r} is also that of {first.tool_id}"
                    yield LibraryFinding(tool, Finding(self.code, ("name",), message, Severity.WARNING))
                    continue
            toolkit, _, short = tool.tool_id.partition(".")
            if tool.name != short and tool.name != f"{toolkit}_{short}":
                message = f"the name {tool.name!r} does not follow from the id {tool.tool_id}"
                hint = f"call it {toolkit}_{short} or {short}"
                yield LibraryFinding(tool, Finding(self.code, ("name",), message, Severity.WARNING, hint))


def _list_identified(library: Library) -> Iterable[ToolOutline]:
    """Returns the OXP definitions with a valid id."""
    return [
        tool for tool in library.outlines if isinstance(tool, ToolOutline) and tool.dialect == "oxp" and tool.tool_id
    ]


def _keep_latest(tools: list[ToolOutline]) -> dict[str, ToolOutline]:
    latest: dict[str, ToolOutline] = {}
    for tool in tools:
        known = latest.get(tool.tool_id)
        if known is None or _sort_key(tool) > _sort_key(known):
            latest[tool.tool_id] = tool
    return latest


def _sort_key(tool: ToolOutline) -> list[tuple[int, str]]:
    """Sorts versions by number without turning a million digits into one."""
    parts = [part.lstrip("0") for part in (tool.version or "").split(".")]
    return [(len(part), part) for part in parts]


LIBRARY_RULES: tuple[LibraryRule, ...] = (DuplicateId(), MisleadingName())
