"""The tools of a workspace for people: compiled where the file is sound, outlined where it has errors. For list and show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from ferrule.cli.show.output import ProgressBar
from ferrule.definitions.compiler.discover import load
from ferrule.definitions.compiler.gather import gather
from ferrule.definitions.compiler.locate import locate
from ferrule.definitions.compiler.read import read
from ferrule.definitions.content.linkage import REFERRED_BY, link_records
from ferrule.infra.lockfile.file import LOCK_FILE
from ferrule.model.diagnostic import FileReport, Finding, Severity
from ferrule.model.outline import AgentOutline, BrokenOutline, RecordOutline, RoleOutline, ToolOutline
from ferrule.model.tool import Compiled, Tool
from ferrule.model.value import JsonObject, is_integer
from ferrule.workspace.parts import load_parts
from ferrule.workspace.workspace import Workspace, show_path


class ListedTool(NamedTuple):
    """One tool of the workspace."""

    file: str
    outline: ToolOutline
    tool: Tool | None
    """None when its file has errors, so that nothing but its outline can be told, or when nobody wanted it."""
    documentation: dict[str, str]
    errors: int

    @property
    def lifecycle(self) -> str:
        """The canonical lifecycle, or the dialect's own word for a tool that was not compiled."""
        return self.tool.lifecycle if self.tool is not None else self.outline.status or "unknown"

    @property
    def kind(self) -> str:
        """The canonical tool kind."""
        return self.tool.tool_kind if self.tool is not None else "unknown"

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags in its definition."""
        return self.tool.tags if self.tool is not None else ()

    @property
    def description(self) -> str:
        """Its description, as one line."""
        if self.tool is None:
            return f"({self.errors} error{'' if self.errors == 1 else 's'}: ferrule check {self.file})"
        return " ".join(self.tool.description.split())


class ToolReference(NamedTuple):
    """One agent or role that names a tool, and what it adds."""

    name: str
    approval_required: bool
    max_calls_per_run: int | None


class ToolReferences(NamedTuple):
    """The agents and roles that refer to a tool."""

    agents: tuple[ToolReference, ...]
    roles: tuple[ToolReference, ...]


class WorkspaceTools(NamedTuple):
    """All tools of a workspace."""

    entries: tuple[ListedTool, ...]
    reports: tuple[FileReport, ...]
    unreadable: tuple[str, ...]
    """Files of tools that cannot even be parsed, so that nobody knows what they define."""

    def list_references(self, entry: ListedTool) -> ToolReferences:
        """Returns the agents and roles that name the tool."""
        agents: list[ToolReference] = []
        roles: list[ToolReference] = []
        if entry.outline.dialect == "aml":
            for report in self.reports:
                for outline in report.outlines:
                    match outline:
                        case AgentOutline():
                            agents += _list_references(
                                outline.agent_id or report.file, outline.value, entry.outline.tool_id
                            )
                        case RoleOutline():
                            roles += _list_references(
                                outline.iam_id or report.file, outline.value, entry.outline.tool_id
                            )
                        case _:
                            pass
        return ToolReferences(tuple(agents), tuple(roles))


def _list_references(name: str, value: JsonObject, tool_id: str) -> Iterator[ToolReference]:
    tools = value.get("tools")
    listed = tools.get("refs") if isinstance(tools, dict) else tools
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict) and item.get("ref") == tool_id:
            limit = item.get("max_calls_per_run")
            yield ToolReference(name, item.get("approval_required") is True, limit if is_integer(limit) else None)
            return


def collect_tools(
    workspace: Workspace,
    is_wanted: Callable[[ToolOutline], bool] = lambda outline: True,
    *,
    paths: Sequence[str | Path] = (),
    harmless: Set[str] = frozenset(),
) -> WorkspaceTools:
    """Collects the tools of a workspace, by namespace, name and version. Files without a wanted tool are not compiled.

    `paths`: of these files alone, and nothing that is imported. `harmless`: rules whose errors do not count.
    """
    selection = workspace.select(paths)
    with ProgressBar() as progress:
        reports = workspace.reports(selection, workspace.rule_settings(), progress=progress)
        entries: list[ListedTool] = []
        unreadable: list[str] = []
        records: list[tuple[str, str]] = []
        for number, (task, report) in enumerate(zip(selection.everything, reports, strict=True)):
            progress(number, len(reports))
            if report.tools and task.name in selection.wanted:
                entries += _list_entries(workspace, task.path, report, is_wanted, harmless)
            if any(isinstance(outline, BrokenOutline) and outline.kind == "tool" for outline in report.outlines):
                unreadable.append(show_path(task.path))
            if any(isinstance(outline, RecordOutline) and outline.kind in REFERRED_BY for outline in report.outlines):
                records.append((task.path, report.file))
        entries = _link_tools(workspace, entries, records)
    if workspace.settings.mcp.servers and not paths:
        from ferrule.infra.lockfile.tools import list_imported_tools

        entries += [_make_imported_entry(tool) for tool in list_imported_tools(workspace.root, workspace.settings.mcp)]
    if workspace.settings.oxp.servers and not paths:
        from ferrule.infra.lockfile.oxp_tools import list_imported_oxp_tools

        entries += [
            _make_imported_entry(tool) for tool in list_imported_oxp_tools(workspace.root, workspace.settings.oxp)
        ]
    entries.sort(key=lambda entry: (entry.outline.namespace, entry.outline.name, entry.outline.version or ""))
    return WorkspaceTools(tuple(entries), tuple(reports), tuple(unreadable))


def _make_imported_entry(tool: Tool) -> ListedTool:
    """A tool of another server, as it was accepted."""
    outline = ToolOutline(
        file=LOCK_FILE,
        dialect=tool.dialect,
        namespace=tool.namespace,
        name=tool.name,
        tool_id=tool.tool_id,
        path=(),
        version=tool.version,
        status=tool.lifecycle,
        type="function",
    )
    return ListedTool(LOCK_FILE, outline, tool, {}, 0)


def _list_entries(
    workspace: Workspace,
    path: str,
    report: FileReport,
    is_wanted: Callable[[ToolOutline], bool],
    harmless: Set[str],
) -> Iterator[ListedTool]:
    errors = sum(found.severity is Severity.ERROR and found.rule not in harmless for found in report.diagnostics)
    outlines = [outline for outline in report.outlines if isinstance(outline, ToolOutline)]
    compiled = _compile_file(workspace, path, report.file) if not errors and any(map(is_wanted, outlines)) else []
    tools = {(tool.tool_id, tool.version): tool for part in compiled for tool in part.tools}
    texts = {name: text for part in compiled for name, text in part.documentation.items()}
    for outline in outlines:
        tool = tools.get((outline.tool_id, outline.version))
        yield ListedTool(show_path(path), outline, tool, texts.get(outline.tool_id, {}), errors)


def _link_tools(workspace: Workspace, entries: list[ListedTool], files: list[tuple[str, str]]) -> list[ListedTool]:
    """The entries, their tools joined with the interfaces and profiles that stand in these files, as in a catalog (AT-51)."""
    if not any(entry.tool is not None and entry.tool.dialect == "agent_tool" for entry in entries):
        return entries
    found = [record for path, name in files for part in _compile_file(workspace, path, name) for record in part.records]
    tools = ([] if entry.tool is None else link_records([entry.tool], found) for entry in entries)
    return [entry._replace(tool=next(iter(tool), None)) for entry, tool in zip(entries, tools, strict=True)]


def _compile_file(workspace: Workspace, path: str, name: str) -> list[Compiled]:
    pieces = gather([load(path, name)], load_parts().dialects, workspace.namespace)
    return [piece.compiled for piece in pieces if piece.compiled is not None]


def find_line(workspace: Workspace, entry: ListedTool) -> int:
    """Returns the first line of a tool's definition."""
    if entry.file == LOCK_FILE:
        return 1
    documents = read(load(str(workspace.root / entry.outline.file), entry.outline.file))
    if entry.outline.document >= len(documents) or not entry.outline.path:
        return 1
    place = Finding("", entry.outline.path, "", on_key=True)
    return locate(documents[entry.outline.document], [place])[0].span.line
