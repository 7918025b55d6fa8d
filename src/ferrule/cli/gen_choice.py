"""Chooses what `ferrule gen` makes stubs of: the tools of a workspace or of some files, and the language.

A language is a word, or what an agent file says (ADL `spec.language`). It reads definitions and writes nothing.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import click

from ferrule.cli.workspace_tools import ListedTool, WorkspaceTools, collect_tools
from ferrule.contracts.language import StubKind
from ferrule.definitions.content.extension import decode_raw
from ferrule.definitions.stubs.languages.builtin import LANGUAGES
from ferrule.definitions.stubs.plan import runs_without_code
from ferrule.errors import WorkspaceError
from ferrule.infra.lockfile.file import LOCK_FILE
from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.hints import nearest
from ferrule.model.outline import AgentOutline, BrokenOutline, ToolOutline, newest
from ferrule.model.tool import Record, Tool
from ferrule.model.value import dig, format_path
from ferrule.workspace.stubs import Material
from ferrule.workspace.workspace import Workspace, show_path

HARMLESS = frozenset({"AML-37"})
"""Errors that say nothing against a stub: how a tool is reached."""
ENDINGS = (".md", ".json", ".yaml", ".yml")
"""Of definition files."""
_WILD = frozenset("*?[")


class UnreadTool(NamedTuple):
    """A tool that was left out, because its file has errors."""

    tool_id: str
    """Empty for a file that nobody can tell the tools of."""
    file: str
    line: int
    message: str
    """Of the first error."""


class FoundTools(NamedTuple):
    """The tools that were chosen."""

    entries: tuple[ListedTool, ...]
    """Those that stubs are made of."""
    unread: tuple[UnreadTool, ...]
    material: Material
    needless: tuple[str, ...] = ()
    """Ids of tools that nobody has to implement, because Ferrule runs them itself."""


class EarlierChoice(NamedTuple):
    """The choice of an earlier run. Some of it may be gone, which is no mistake of the caller."""

    words: Set[str] = frozenset()
    agent: str = ""
    tools: Set[str] = frozenset()
    """The ids of tools that stubs were made of."""


NEVER = EarlierChoice()


def find_tools(
    workspace: Workspace,
    words: Sequence[str],
    agent: str,
    files: Sequence[Path],
    before: EarlierChoice = NEVER,
    kind: StubKind = "client",
) -> FoundTools:
    """Returns the tools that were asked for. Raises WorkspaceError for a word or an agent that is not there, and was not before.

    Of a `kind` "implementation" those are left out that Ferrule runs itself, unless they are named one by one.
    """
    shelf = collect_tools(workspace, paths=files, harmless=HARMLESS)
    shelf = shelf._replace(entries=_rescue_entries(workspace, shelf))
    wanted = [entry for entry in shelf.entries if entry.tool is None or entry.tool.exposed_as is None]
    broken = tuple(_find_broken(shelf))
    if agent:
        wanted = _find_agent_tools(shelf, wanted, agent, broken, before)
    chosen = (
        _find_named(wanted, words, before.words)
        if words
        else _pick_newest(entry for entry in wanted if entry.lifecycle != "retired")
    )
    if (words or agent) and before.tools <= {entry.outline.tool_id for entry in chosen}:
        broken = ()  # nothing that was asked for can be in them
    if not chosen and not broken and before is NEVER:
        where = ", ".join(map(str, files[:3])) or str(workspace.root)
        raise WorkspaceError(f"there is no tool in {where}; 'ferrule check' tells what is there")
    chosen = sorted(chosen, key=_sort_key)
    needless = tuple(entry for entry in chosen if kind == "implementation" and _is_needless(entry, words))
    if needless and len(needless) == len(chosen) and before is NEVER:
        first = needless[0].outline.tool_id
        raise WorkspaceError(
            f"there is nothing to implement: Ferrule runs {first} itself, as its definition says; name a tool to write a"
            " function that stands in for it, or ask for --kind client"
        )
    chosen = [entry for entry in chosen if entry not in needless]
    read = tuple(entry for entry in chosen if entry.tool is not None)
    unread = tuple(_describe_unread(entry, shelf) for entry in chosen if entry.tool is None)
    material = Material(
        tools=[entry.tool for entry in read if entry.tool is not None],
        name=workspace.namespace,
        manifests=_read_manifests(workspace, read),
        called=_name_calls(shelf.entries),
        unread=frozenset(each.tool_id for each in unread),
        is_whole=not broken,
    )
    return FoundTools(read, (*broken, *unread), material, tuple(entry.outline.tool_id for entry in needless))


def _is_needless(entry: ListedTool, words: Sequence[str]) -> bool:
    outline = entry.outline
    names = {outline.tool_id, outline.name, f"{outline.namespace}.{outline.name}"}
    is_named = any(word.partition("@")[0] in names for word in words)
    return entry.tool is not None and not is_named and runs_without_code(entry.tool)


def _sort_key(entry: ListedTool) -> tuple[object, ...]:
    """Returns a key that sorts tools as they are written: file by file, from top to bottom, imported ones last."""
    outline = entry.outline
    # A path has numbers and names, which Python does not compare with one another.
    steps = tuple((isinstance(step, str), step if isinstance(step, int) else 0, str(step)) for step in outline.path)
    place = (entry.file == LOCK_FILE, outline.file, outline.document, steps)
    return (*place, outline.namespace, outline.name, outline.version or "")


def _pick_newest(entries: Iterable[ListedTool]) -> list[ListedTool]:
    """Returns one entry of each tool: the version that a reference without one means."""
    versions: dict[str, list[ListedTool]] = defaultdict(list)
    for entry in entries:
        versions[entry.outline.tool_id].append(entry)
    return [_pick_best(each) for each in versions.values()]


def _pick_best(entries: list[ListedTool]) -> ListedTool:
    best = newest([entry.outline for entry in entries])
    return next(entry for entry in entries if entry.outline is best)


def _find_named(entries: Sequence[ListedTool], words: Sequence[str], known: Set[str]) -> list[ListedTool]:
    found: dict[int, ListedTool] = {}
    for word in words:
        name, _, version = word.partition("@")
        meant = [
            entry for entry in entries if _is_meant(entry.outline, name) and version in ("", entry.outline.version)
        ]
        if not meant and word not in known:
            raise WorkspaceError(f"there is no tool {word!r} here; {_suggest(name, version, entries)}")
        for entry in meant if version else _pick_newest(meant):
            found[id(entry)] = entry
    return list(found.values())


def _is_meant(outline: ToolOutline, name: str) -> bool:
    names = (outline.tool_id, outline.name, f"{outline.namespace}.{outline.name}")
    return name in names or (not _WILD.isdisjoint(name) and any(fnmatchcase(each, name) for each in names))


def _suggest(name: str, version: str, entries: Sequence[ListedTool]) -> str:
    if name.endswith(ENDINGS):
        return "there is no such file either"
    versions = [entry.outline.version for entry in entries if _is_meant(entry.outline, name)]
    if version and versions:
        return f"its versions are {', '.join(each or 'none' for each in versions)}"
    known = {each for entry in entries for each in (entry.outline.tool_id, entry.outline.name)}
    return nearest(name, known) or "`ferrule list` shows them all"


def _find_agent_tools(
    shelf: WorkspaceTools,
    entries: Sequence[ListedTool],
    agent: str,
    broken: Sequence[UnreadTool],
    before: EarlierChoice,
) -> list[ListedTool]:
    """Returns the tools of an agent: all of an ADL manifest, its built-ins included, or those that an AML agent refers to."""
    agents = {entry.outline.namespace for entry in entries if entry.outline.dialect == "adl"}
    if agent in agents:
        return [entry for entry in entries if entry.outline.dialect == "adl" and entry.outline.namespace == agent]
    outlines = [each for report in shelf.reports for each in report.outlines if isinstance(each, AgentOutline)]
    meant = [each for each in outlines if each.agent_id == agent]
    if not meant and agent == before.agent:
        return []
    if not meant and broken:
        first = broken[0]
        raise WorkspaceError(
            f"there is no agent {agent!r} in the files that can be read; {first.file}:{first.line} cannot: {first.message}"
        )
    if not meant:
        known = agents | {each.agent_id for each in outlines if each.agent_id}
        hint = nearest(agent, known) or (f"known are {', '.join(sorted(known))}" if known else "no file defines any")
        raise WorkspaceError(f"there is no agent {agent!r} here; {hint}")
    refs = set(_list_refs(meant[0]))
    return [entry for entry in entries if entry.outline.dialect == "aml" and entry.outline.tool_id in refs]


def _list_refs(agent: AgentOutline) -> Iterator[str]:
    tools = agent.value.get("tools")
    listed = tools.get("refs") if isinstance(tools, dict) else tools
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict) and isinstance(item.get("ref"), str):
            yield item["ref"]


def _rescue_entries(workspace: Workspace, shelf: WorkspaceTools) -> tuple[ListedTool, ...]:
    """Returns the entries, with those tools of a file of several that have no error of their own, where all its errors are
    in others."""
    lost: dict[str, list[ListedTool]] = defaultdict(list)
    for entry in shelf.entries:
        if entry.tool is None and entry.outline.path:
            lost[entry.outline.file].append(entry)
    rescued: dict[tuple[str, str, str | None], Tool] = {}
    for file, entries in lost.items():
        # By identity: two errors may say the same of different tools.
        own = {id(error) for entry in entries for error in _own_errors(shelf, entry)}
        if all(id(error) in own for error in _errors_in(shelf, file)):
            compiled = workspace.compile([workspace.root / file])
            tools = (tool for one in compiled for each in one.compiled for tool in each.tools)
            rescued |= {(file, tool.tool_id, tool.version): tool for tool in tools}
    return tuple(
        entry
        if entry.tool is not None or next(_own_errors(shelf, entry), None) is not None
        else entry._replace(tool=rescued.get((entry.outline.file, entry.outline.tool_id, entry.outline.version)))
        for entry in shelf.entries
    )


def _own_errors(shelf: WorkspaceTools, entry: ListedTool) -> Iterator[Diagnostic]:
    """Yields the errors of a file that are in the definition of one of its tools."""
    place = format_path(entry.outline.path)
    for error in _errors_in(shelf, entry.outline.file):
        if not place or error.path == place or error.path.startswith((f"{place}.", f"{place}[")):
            yield error


def _find_broken(shelf: WorkspaceTools) -> Iterator[UnreadTool]:
    """Files that cannot be read so far that anybody could tell which tools they define."""
    for report in shelf.reports:
        if all(isinstance(outline, BrokenOutline) and outline.kind == "tool" for outline in report.outlines):
            first = next(_errors_in(shelf, report.file), None)
            if first is not None:
                yield UnreadTool("", show_path(report.file), first.line, first.message)


def _describe_unread(entry: ListedTool, shelf: WorkspaceTools) -> UnreadTool:
    own = next(_own_errors(shelf, entry), None)
    first = own if own is not None else next(_errors_in(shelf, entry.outline.file), None)
    line, message = (first.line, first.message) if first is not None else (1, "it cannot be read")
    return UnreadTool(entry.outline.tool_id, entry.file, line, message)


def _errors_in(shelf: WorkspaceTools, file: str) -> Iterator[Diagnostic]:
    for report in shelf.reports:
        if report.file == file:
            for found in report.diagnostics:
                if found.severity is Severity.ERROR and found.rule not in HARMLESS:
                    yield found


def _read_manifests(workspace: Workspace, entries: Sequence[ListedTool]) -> tuple[Record, ...]:
    files = dict.fromkeys(entry.outline.file for entry in entries if entry.outline.dialect == "adl")
    if not files:
        return ()
    compiled = workspace.compile([workspace.root / file for file in files])
    records = (record for file in compiled for each in file.compiled for record in each.records)
    return tuple(record for record in records if record.kind == "manifest")


def _name_calls(entries: Sequence[ListedTool]) -> dict[str, str]:
    """Names each tool as a caller can: by its name where no other has it, else with its namespace, else by its id."""
    owners: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        outline = entry.outline
        for name in (outline.tool_id, outline.name, f"{outline.namespace}.{outline.name}", *outline.aliases):
            owners[name].add(outline.tool_id)
    called: dict[str, str] = {}
    for entry in entries:
        outline = entry.outline
        ways = (outline.name, f"{outline.namespace}.{outline.name}")
        called[outline.tool_id] = next((way for way in ways if len(owners[way]) == 1), outline.tool_id)
    return called


ALIASES = {
    "golang": "go",
    "ts": "typescript",
    "js": "typescript",
    "javascript": "typescript",
    "rs": "rust",
    "py": "python",
}


def find_language(word: str) -> str:
    """Returns the language of a word. Raises UsageError for one that means none."""
    name = ALIASES.get(word.lower(), word.lower())
    if name not in LANGUAGES.names():
        known = (*LANGUAGES.names(), *ALIASES)
        hint = nearest(word, known) or f"there are {', '.join(LANGUAGES.names())}"
        raise click.UsageError(f"there is no language {word!r}; {hint}")
    return name


def is_file(word: str) -> bool:
    """True for a definition file that is there."""
    return word.endswith(ENDINGS) and os.path.isfile(word)


def read_language(file: str) -> str:
    """Returns the language that an agent file names. Raises UsageError where it names none, or several."""
    compiled = Workspace.open(file).compile([file])
    records = [record for one in compiled for each in one.compiled for record in each.records]
    manifests = [decode_raw(record.payload) for record in records if record.kind == "manifest"]
    written = [dig(each, ("spec", "language")) for each in manifests]
    named = [name for each in written if isinstance(each, dict) for name in each if name in LANGUAGES.names()]
    if len(named) != 1:
        says = f"names {' and '.join(named)}" if named else "names no language"
        raise click.UsageError(f"{file} {says}; say which: ferrule gen LANG {file} --out DIR")
    return named[0]


def list_languages() -> None:
    """Prints the languages and their flavours."""
    for language in LANGUAGES:
        flavours = f"  --flavour {', '.join(language.flavours)}" if language.flavours else ""
        click.echo(f"{language.name:<12}{language.title}{flavours}")
