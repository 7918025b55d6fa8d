"""Builds a sealed catalog from compiled definitions: links records, joins agents with their tools and roles, packs
everything.

It also writes the instructions of an agent: when to use each tool, when not, and what it does to the world (AML-76).
Its callers call it only when there are no errors. Nothing here depends on the machine, the day or the order of
files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.definitions.compiler.gather import SourcePiece
from ferrule.definitions.compiler.pack import canonical, digest_of, pack
from ferrule.definitions.content.linkage import link_records
from ferrule.errors import BuildRefused
from ferrule.model.catalog import documentation_key
from ferrule.model.effective import effective_tools, tool_choice
from ferrule.model.outline import AgentOutline, Library, RoleOutline
from ferrule.model.tool import Record, Tool, raw
from ferrule.model.value import JsonObject

_GUIDANCE = (
    ("use_when", "Use it when"),
    ("avoid_when", "Do not use it when"),
    ("side_effects", "Warning, side effects"),
)


def write_instructions(tools: Iterable[Tool]) -> str:
    """Writes the instructions of an agent with these tools, as Markdown; empty without tools."""
    return "\n\n".join(_describe_tool(tool) for tool in tools)


def _describe_tool(tool: Tool) -> str:
    payload = msgspec.json.decode(tool.payload)
    guidance = payload.get("use_guidance") if isinstance(payload, dict) else None
    lines = [f"## {tool.name}", "", " ".join(tool.description.split())]
    for key, heading in _GUIDANCE:
        texts = _clean_texts(guidance.get(key)) if isinstance(guidance, dict) else []
        if texts:
            lines += ["", f"{heading}:", *(f"- {text}" for text in texts)]
    return "\n".join(lines)


def _clean_texts(written: object) -> list[str]:

    texts = written if isinstance(written, list) else [written]
    return [" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip()]


_GRANTS = ("tools", "knowledge_bases", "collections")


class CatalogContents(NamedTuple):
    """The tools, records and documentation that go into a catalog."""

    tools: tuple[Tool, ...]
    records: tuple[Record, ...]
    documentation: Mapping[str, Mapping[str, str]]

    def count(self, kind: str) -> int:
        """Counts the records of a kind."""
        return sum(record.kind == kind for record in self.records)

    def seal(self, key: Ed25519PrivateKey) -> bytes:
        """Returns the bytes of the sealed catalog."""
        return pack(self.tools, self.records, self.documentation, key)


def collect_contents(pieces: Iterable[SourcePiece]) -> CatalogContents:
    """Collects the tools and records of definitions that have no errors. Raises BuildRefused if one could not be
    compiled."""
    # Sorted, so that the catalog has the same bytes whatever order the files were found in.
    pieces = sorted(pieces, key=lambda piece: (piece.file, piece.definition.path))
    tools: list[Tool] = []
    records: list[Record] = []
    documentation: dict[str, Mapping[str, str]] = {}
    for piece in pieces:
        if piece.compiled is None:
            raise BuildRefused(f"{piece.file} could not be compiled; 'ferrule check' may tell why")
        tools += piece.compiled.tools
        records += piece.compiled.records
        for tool in piece.compiled.tools:
            if texts := piece.compiled.documentation.get(tool.tool_id):
                documentation[documentation_key(tool)] = texts
    joined = link_records(tools, records)
    agents = _Agents(pieces, joined, records)
    return CatalogContents(joined, tuple(agents.join(record) for record in records), documentation)


class _Agents:
    """Joins agents with the tools they may call and the role that bounds them (AML-86)."""

    def __init__(self, pieces: Iterable[SourcePiece], tools: Iterable[Tool], records: Iterable[Record]) -> None:
        outlines = [outline for piece in pieces for outline in piece.outlines]
        self.agents = {o.agent_id: o for o in outlines if isinstance(o, AgentOutline)}
        self.roles = {o.iam_id: o for o in outlines if isinstance(o, RoleOutline)}
        self.library = Library(tuple(outlines))
        self.tools = {(tool.tool_id, tool.version): tool for tool in tools if tool.dialect == "aml"}
        self.role_records = {record.record_id: record for record in records if record.kind == "role"}

    def join(self, record: Record) -> Record:
        """Returns an agent's record with its compiled payload, and any other record unchanged."""
        agent = self.agents.get(record.record_id) if record.kind == "agent" else None
        if agent is None:
            return record
        return msgspec.structs.replace(record, payload=raw(self._build_payload(agent, record)))

    def _build_payload(self, agent: AgentOutline, record: Record) -> JsonObject:
        named = agent.value.get("role")
        role = self.roles.get(named) if isinstance(named, str) else None
        allowed = effective_tools(agent, role, self.library.aml_tool)
        used = [self._find_tool(effective.tool_id) for effective in allowed]
        compiled = msgspec.json.decode(record.payload)
        return {
            "definition": agent.value,
            "body": compiled.get("body", {}),
            "tool_choice": tool_choice(agent),
            "tools": [
                {
                    "tool_id": effective.tool_id,
                    "version": tool.version,
                    "digest": digest_of(canonical(tool)),
                    "approval_required": effective.approval_required,
                    "approval_from": effective.approval_from,
                    "max_calls_per_run": effective.max_calls_per_run,
                }
                for effective, tool in zip(allowed, used, strict=True)
            ],
            "role": self._build_role(role),
            "instructions": write_instructions(used),
        }

    def _find_tool(self, tool_id: str) -> Tool:
        outline = self.library.aml_tool(tool_id)
        assert outline is not None  # effective_tools gives only tools the library has
        return self.tools[tool_id, outline.version]

    def _build_role(self, role: RoleOutline | None) -> JsonObject | None:
        if role is None or role.iam_id is None:
            return None
        return {
            "iam_id": role.iam_id,
            "version": role.value.get("version"),
            "digest": digest_of(canonical(self.role_records[role.iam_id])),
            "grants": {kind: role.value[kind] for kind in _GRANTS if kind in role.value},
        }
