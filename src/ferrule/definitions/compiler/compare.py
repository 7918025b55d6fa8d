"""Compares two snapshots of a workspace, tool by tool. It only describes the changes; the rules of `rules/compat/`
judge them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ferrule.definitions.compiler.gather import SourcePiece
from ferrule.definitions.compiler.pack import canonical, digest_of
from ferrule.definitions.compiler.schema_changes import find_narrowings, find_weakenings, without_new_names
from ferrule.definitions.content.linkage import link_records
from ferrule.model.catalog import Catalog
from ferrule.model.change import SOFT, ComparedTool, Comparison, Snapshot, ToolChange
from ferrule.model.effective import references
from ferrule.model.outline import AgentOutline, Outline, RoleOutline, ToolOutline
from ferrule.model.semver import Bump, bump_between, parse_version
from ferrule.model.tool import Record, Tool
from ferrule.model.value import MISSING
from ferrule.schema.validation.containment import Containment, contains, without_annotations

Key = tuple[str, str]
"""The dialect and tool id that identify a tool across versions and namespaces."""


def snapshot_pieces(
    pieces: Iterable[SourcePiece],
    *,
    is_full: bool = True,
    broken: frozenset[tuple[str, str]] = frozenset(),
    folders: frozenset[str] = frozenset(),
) -> Snapshot:
    """Takes a snapshot of definition files."""
    parts: list[ComparedTool] = []
    outlines: list[Outline] = []
    pieces = list(pieces)
    records = [record for piece in pieces if piece.compiled for record in piece.compiled.records]
    for piece in pieces:
        outlines += piece.outlines
        compiled = link_records(piece.compiled.tools if piece.compiled else (), records)
        tools = {(tool.tool_id, tool.version): tool for tool in compiled}
        for outline in piece.outlines:
            if isinstance(outline, ToolOutline):
                parts.append(_build_part(outline, piece, tools.get((outline.tool_id, outline.version))))
    return _build_snapshot(parts, outlines, is_full=is_full, broken=broken, folders=folders)


def snapshot_catalog(catalog: Catalog) -> Snapshot:
    """Takes a snapshot of a sealed catalog. Its outlines name the files their definitions would have."""
    tools = ((tool, catalog.digest_at(number)) for number, tool in enumerate(catalog.tools))
    return snapshot_tools(tools, catalog.records())


def snapshot_tools(tools: Iterable[tuple[Tool, str]], records: Iterable[Record] = ()) -> Snapshot:
    """Takes a snapshot of compiled tools, each with its content digest, and of the agents and roles that may name
    them."""
    parts = []
    outlines: list[Outline] = []
    for tool, digest in tools:
        outline = _outline_tool(tool)
        facts = _decode(tool.payload) or {}
        parts.append(ComparedTool(outline, "", digest, _decode(tool.input_schema), _decode(tool.output_schema), facts))
        outlines.append(outline)
    for record in records:
        outlines += _outline_record(record)
    return _build_snapshot(parts, outlines)


def _build_snapshot(parts: list[ComparedTool], outlines: list[Outline], **more: Any) -> Snapshot:
    agents = {o.agent_id: o for o in outlines if isinstance(o, AgentOutline) and o.agent_id is not None}
    roles = {o.iam_id: o for o in outlines if isinstance(o, RoleOutline) and o.iam_id is not None}
    return Snapshot(tuple(parts), agents, roles, tuple(outlines), **more)


def _build_part(outline: ToolOutline, piece: SourcePiece, tool: Tool | None) -> ComparedTool:
    value = piece.definition.value
    payload = canonical(tool) if tool is not None else b""
    digest = digest_of(payload) if tool is not None else ""
    content = digest_of(canonical(value)) if piece.dialect == "aml" else ""  # a manifest holds many tools
    if tool is not None:
        return ComparedTool(outline, content, digest, *_decode_schemas(tool), _decode(tool.payload) or {})
    interface = value.get("interface")
    interface = interface if isinstance(interface, dict) else {}
    return ComparedTool(outline, content, "", interface.get("input"), interface.get("output"), value)


def _decode_schemas(tool: Tool) -> tuple[Any, Any]:
    return _decode(tool.input_schema), _decode(tool.output_schema)


def _decode(text: msgspec.Raw | None) -> Any:
    return None if text is None else msgspec.json.decode(text)


def _outline_tool(tool: Tool) -> ToolOutline:
    payload = _decode(tool.payload)
    payload = payload if isinstance(payload, dict) else {}
    status, kind = payload.get("status"), payload.get("type")
    return ToolOutline(
        file=f"tools/{tool.tool_id}.tool.md",
        dialect=tool.dialect,
        namespace=tool.namespace,
        name=tool.name,
        tool_id=tool.tool_id,
        version=tool.version,
        status=status if isinstance(status, str) else tool.lifecycle,
        type=kind if isinstance(kind, str) else tool.tool_kind,
        approval_required=True if tool.approval_required else payload.get("approval_required"),
        max_calls_per_run=tool.max_calls_per_run,
        aliases=tool.aliases,
    )


def _outline_record(record: Record) -> list[Outline]:
    payload = _decode(record.payload)
    value = payload.get("definition", payload) if isinstance(payload, dict) else {}
    match record.kind:
        case "agent":
            return [AgentOutline(f"agents/{record.record_id}.agent.md", record.record_id, value)]
        case "role":
            return [RoleOutline(f"iam/{record.record_id}.iam.md", record.record_id, value)]
        case _:
            return []


def compare(published: Snapshot, candidate: Snapshot) -> Comparison:
    """Pairs the tools of both sides and describes each change, in order of name."""
    before, after = _group_by_key(published.parts), _group_by_key(candidate.parts)
    withdrawn = _group_by_key(published.withdrawn)
    agents = _find_users(agent for side in (published, candidate) for agent in side.agents.items())
    roles = _find_users(role for side in (published, candidate) for role in side.roles.items())
    changes: list[ToolChange] = []
    for key in sorted({*before, *after}):
        new_parts = after.get(key, [])
        # A tool that was withdrawn earlier matters only if it comes back.
        old_parts = before.get(key) or (withdrawn.get(key, []) if new_parts else [])
        # A few files say nothing about the tools they leave out.
        if not new_parts and not candidate.is_full:
            continue
        for old, new in _pair_parts(old_parts, new_parts):
            impact = (agents.get(key[1], ()), roles.get(key[1], ())) if key[0] == "aml" else ((), ())
            changes.append(_compare_parts(old, new, impact))
    return Comparison(published, candidate, tuple(changes))


def _group_by_key(parts: Iterable[ComparedTool]) -> dict[Key, list[ComparedTool]]:
    table: dict[Key, list[ComparedTool]] = {}
    for part in parts:
        table.setdefault((part.outline.dialect, part.outline.tool_id), []).append(part)
    return table


def _pair_parts(
    old: list[ComparedTool], new: list[ComparedTool]
) -> list[tuple[ComparedTool | None, ComparedTool | None]]:
    """Pairs each new part with the old one it continues: the same, else of the same version, else the newest."""
    if not old or not new:
        return [(part, None) for part in old] or [(None, part) for part in new]
    latest = max(old, key=lambda part: parse_version(part.outline.version) or (-1,))
    pairs: list[tuple[ComparedTool | None, ComparedTool | None]] = []
    continued = set()
    for part in new:
        namesakes = [one for one in old if one.outline.version == part.outline.version]
        match = next((one for one in namesakes if one.says_the_same(part)), namesakes[0] if namesakes else latest)
        continued.add(match.outline.version)
        pairs.append((match, part))
    if len(old) > 1:  # several versions side by side: report those that were removed too
        pairs += [(part, None) for part in old if part.outline.version not in continued]
    return pairs


def _compare_parts(
    old: ComparedTool | None, new: ComparedTool | None, users: tuple[tuple[str, ...], tuple[str, ...]]
) -> ToolChange:
    agents, roles = users
    if old is None or new is None:
        needed = Bump.MAJOR if new is None else Bump.NONE
        return ToolChange(old, new, needed=needed, agents=agents, roles=roles)
    before, after = parse_version(old.outline.version), parse_version(new.outline.version)
    made = bump_between(before, after) if before and after else None
    if old.says_the_same(new):
        return ToolChange(old, new, made=made, agents=agents, roles=roles)
    narrow, example, is_undecided = _compare_inputs(old.input_schema, new.input_schema)
    weak = tuple(find_weakenings(*map(without_annotations, (old.output_schema, new.output_schema))))
    change = ToolChange(old, new, narrow, weak, example, is_undecided, _find_changed_fields(old, new))
    return change._replace(needed=_choose_bump(change), made=made, agents=agents, roles=roles)


def _compare_inputs(old: object, new: object) -> tuple[Any, Any, bool]:
    old, new = without_annotations(old), without_annotations(new)
    changes = tuple(find_narrowings(old, new))
    if not isinstance(old, dict | bool) or not isinstance(new, dict | bool):
        return changes, MISSING, False
    answer, example = contains(without_new_names(old, new), new)
    # The keywords differ, but every value that was accepted still is: nobody's call breaks.
    if answer is Containment.ACCEPTS_ALL and all(change.kind in SOFT for change in changes):
        return (), example, False
    return changes, example, answer is Containment.UNDECIDED and not changes


def _find_changed_fields(old: ComparedTool, new: ComparedTool) -> tuple[str, ...]:
    changed = tuple(key for key in sorted({*old.facts, *new.facts}) if old.facts.get(key) != new.facts.get(key))
    if not changed and old.outline.namespace != new.outline.namespace:
        return ("namespace",)  # AML takes it from the settings, so no field shows the change
    return changed


def _choose_bump(change: ToolChange) -> Bump:
    if change.narrowed or change.example is not MISSING:
        return Bump.MAJOR
    assert change.old is not None and change.new is not None, "both sides were compared"
    schemas = ((part.input_schema, part.output_schema) for part in (change.old, change.new))
    one, other = ([without_annotations(schema) for schema in pair] for pair in schemas)
    return Bump.MINOR if one != other else Bump.PATCH


def _find_users(users_by_name: Iterable[tuple[str, AgentOutline | RoleOutline]]) -> dict[str, tuple[str, ...]]:
    """Returns the names of the agents or roles that use each tool, by tool id."""
    users: dict[str, set[str]] = {}
    for name, outline in users_by_name:
        for entry in references(outline.value, "tools").entries:
            users.setdefault(entry.ref, set()).add(name)
    return {tool_id: tuple(sorted(names)) for tool_id, names in users.items()}
