"""Agent Tool rules about several definitions at once. Names collide whatever dialect they are written in."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import LibraryFinding, LibraryRule, RuleSettings
from ferrule.definitions.content.linkage import REFERRED_BY, list_possible_ids
from ferrule.definitions.rules.agent_tool.mismatched_identity import MismatchedIdentity
from ferrule.definitions.rules.agent_tool.security import CLASSIFIED_KINDS, UnclassifiableTool
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.outline import Library, RecordOutline, ToolOutline

_KINDS = {key: kind for kind, key in REFERRED_BY.items()}
"""The kind of record each reference names."""


class NameCollision(LibraryRule):
    """A namespace has one tool of a name and version; other versions stand beside it.

    Why: a call by that name must reach one tool. A misnamed AML file is AML-1, two OXP definitions of one id OXP-3.
    Bad:  two declarations with "namespace": "web", "name": "search"
    Good: "web" / "search" and "docs" / "search"
    """

    code = "AT-4"
    name = "name-collision"
    severity = Severity.ERROR

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        """Yields each tool whose name is taken, at its name."""
        firsts: dict[tuple[str, str, str | None], ToolOutline] = {}
        for tool in library.outlines:
            if not isinstance(tool, ToolOutline) or not tool.name or not tool.namespace:
                continue
            first = firsts.setdefault((tool.namespace, tool.name, tool.version), tool)
            if first is tool or _is_reported_elsewhere(first, tool):
                continue
            where = "in this file" if first.file == tool.file else f"in {first.file}"
            message = f"the namespace {tool.namespace!r} already has a tool {tool.name!r} {where}"
            yield LibraryFinding(tool, Finding(self.code, tool.name_path or ("name",), message))


def _is_reported_elsewhere(first: ToolOutline, second: ToolOutline) -> bool:
    """Returns True for two tools of one dialect whose own rules report the collision."""
    if first.dialect != second.dialect or second.dialect == "agent_tool":
        return False
    if second.dialect == "aml":  # AML-1 speaks of misnamed files only
        return not (_is_named_for_its_id(first) and _is_named_for_its_id(second))
    return second.dialect == "oxp" or first.file == second.file


def _is_named_for_its_id(tool: ToolOutline) -> bool:
    return tool.file.rsplit("/", 1)[-1].split(".", 1)[0] == tool.tool_id


class AmbiguousAlias(LibraryRule):
    """An alias leads to one tool, and is not the name of another.

    Why: a name always beats an alias, and an alias of two tools is never guessed, so it leads nowhere.
    Bad:  two tools of one namespace with "aliases": ["find"]
    Good: an alias each
    """

    code = "AT-6"
    name = "ambiguous-alias"
    severity = Severity.WARNING

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        """Yields each alias that is taken, at the later claim."""
        tools = [tool for tool in library.outlines if isinstance(tool, ToolOutline) and tool.status != "retired"]
        if not any(tool.aliases for tool in tools):
            return
        # Reversed, so that the first tool of a name stays.
        names = {(tool.namespace, tool.name): tool for tool in reversed(tools)}
        claims: dict[tuple[str, str], ToolOutline] = {}
        for tool in tools:
            for index, alias in enumerate(tool.aliases):
                key = (tool.namespace, alias)
                owner = names.get(key)
                if owner is not None and not _is_same(owner, tool):
                    message = f"the alias {alias!r} is the name of another tool, which wins"
                elif not _is_same(first := claims.setdefault(key, tool), tool):
                    message = f"the alias {alias!r} is also one of {first.name!r}"
                else:
                    continue
                yield LibraryFinding(tool, Finding(self.code, ("aliases", index), message, Severity.WARNING))


def _is_same(one: ToolOutline, other: ToolOutline) -> bool:
    """Returns True for versions of one tool."""
    return one is other or (one.namespace, one.name) == (other.namespace, other.name)


class UnresolvedProfile(LibraryRule):
    """References to interfaces and profiles lead to a record of the workspace, and are there when the record is.

    Why: a reference that leads nowhere leaves the tool without the facts its author meant.
    Bad:  "interface_ref": "tool_interface:web.serach"
    Good: "interface_ref": "tool_interface:web.search"
    """

    code = "AT-24"
    name = "unresolved-profile"
    severity = Severity.ERROR

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        """Yields broken references to kinds of records that the workspace or file holds; others may live elsewhere."""
        if not library.records:
            return
        held = _collect_kinds(library)
        described = {
            record.tool_id: record
            for record in library.outlines
            if isinstance(record, RecordOutline) and record.kind == "interface" and record.tool_id
        }
        for outline in library.outlines:
            if not isinstance(outline, ToolOutline | RecordOutline):
                continue
            near = held.get(_find_scope(library, outline), set())
            for key, ref in outline.refs.items():
                kind = _KINDS.get(key)
                if kind in near and _find_record(library, key, ref) is None:
                    message = f"there is no {kind.replace('_', ' ')} {ref!r}"
                    hint = f"write the `{kind}_id` of a record, or leave the reference out"
                    yield LibraryFinding(outline, Finding(self.code, (key,), message, hint=hint))
            described_by = described.get(outline.tool_id or "") if _is_declaration(outline) else None
            if described_by is not None and library.is_closed and "interface_ref" not in outline.refs:
                message = f"the interface {described_by.record_id!r} is not referred to"
                yield LibraryFinding(outline, Finding(self.code, ("interface_ref",), message, Severity.WARNING))


def _find_scope(library: Library, outline: ToolOutline | RecordOutline) -> str:
    """Returns the scope in which a reference must resolve: the workspace, or the file when the rest is not known."""
    return "" if library.is_closed else outline.file


def _collect_kinds(library: Library) -> dict[str, set[str]]:
    held: dict[str, set[str]] = {}
    for outline in library.outlines:
        if isinstance(outline, RecordOutline):
            held.setdefault(_find_scope(library, outline), set()).add(outline.kind)
    return held


def _is_declaration(outline: ToolOutline | RecordOutline) -> bool:
    return isinstance(outline, ToolOutline) and outline.dialect == "agent_tool"


class MismatchedInterface(LibraryRule):
    """Interfaces against the declarations they belong to: identity (AT-33) and classifier input (AT-50)."""

    code = MismatchedIdentity.code
    name = MismatchedIdentity.name
    severity = MismatchedIdentity.severity

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        """Compares interfaces with the tool they name, and references with the interface they name."""
        for outline in library.outlines:
            if isinstance(outline, RecordOutline) and outline.kind == "interface" and outline.tool_id:
                yield from self._check_identity(library, outline)
            elif isinstance(outline, ToolOutline) and "interface_ref" in outline.refs:
                yield from self._check_reference(library, outline)

    def _check_identity(self, library: Library, interface: RecordOutline) -> Iterator[LibraryFinding]:
        tools = [tool for tool in library.tools.get(interface.tool_id or "", ()) if tool.dialect == "agent_tool"]
        for key in ("namespace", "name"):
            theirs = getattr(interface, key)
            ours = [getattr(tool, key) for tool in tools if getattr(tool, key)]
            if theirs and ours and theirs not in ours:
                message = f"the `{key}` of the interface is {theirs!r}, that of the declaration {ours[0]!r}"
                yield LibraryFinding(interface, Finding(self.code, (key,), message, Severity.WARNING))

    def _check_reference(self, library: Library, tool: ToolOutline) -> Iterator[LibraryFinding]:
        interface = _find_record(library, "interface_ref", tool.refs["interface_ref"])
        if interface is None:
            return
        if interface.tool_id and tool.tool_id and interface.tool_id != tool.tool_id:
            message = f"the interface belongs to the tool {interface.tool_id!r}"
            yield LibraryFinding(tool, Finding(self.code, ("interface_ref",), message, Severity.WARNING))
        elif tool.type in CLASSIFIED_KINDS and not interface.has_classifier_input:
            message = f"the `classifier_input` of a {tool.type} tool is empty in its interface"
            yield LibraryFinding(tool, Finding(UnclassifiableTool.code, ("interface_ref",), message))


def _find_record(library: Library, key: str, ref: str) -> RecordOutline | None:
    """Returns the record a reference names."""
    kind = _KINDS[key]
    found = (library.records.get((kind, name)) for name in list_possible_ids(kind, ref))
    return next((record for record in found if record is not None), None)


LIBRARY_RULES: tuple[LibraryRule, ...] = (NameCollision(), AmbiguousAlias(), UnresolvedProfile(), MismatchedInterface())
