"""The facts of one file that other files need: enough for every cross-file rule, small enough to cache by the thousand.

Dialects make outlines; the cross-file rules read them through `Library`. Knows no rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from ferrule.model.semver import Version, parse_version
from ferrule.model.value import Path


class ToolOutline(msgspec.Struct, frozen=True, gc=False, array_like=True, tag_field="outline", tag="tool"):
    """A tool of any dialect, as agents, roles and other tools see it. A field that is wrong in the file is None here."""

    file: str
    dialect: str
    namespace: str
    name: str
    """The callable name; unique with `version` within the namespace."""
    tool_id: str
    path: Path = ()
    """Where the definition sits in its document."""
    document: int = 0
    version: str | None = None
    status: str | None = None
    """The dialect's own lifecycle word (`draft`, `active`, `available`, …)."""
    type: str | None = None
    """AML behaviour type or Agent Tool kind."""
    approval_required: bool | None = None
    max_calls_per_run: int | None = None
    notes: str | None = None
    aliases: tuple[str, ...] = ()
    refs: dict[str, str] = {}
    """Agent Tool: `interface_ref`, `execution_profile_ref`, `permission_profile_ref` as written."""
    name_path: Path = ()
    """The key that holds the name, for collision findings."""


class AgentOutline(msgspec.Struct, frozen=True, array_like=True, tag_field="outline", tag="agent"):
    """An AML agent file: its whole front matter, since most of it concerns other files."""

    file: str
    agent_id: str | None
    value: dict[str, Any]


class RoleOutline(msgspec.Struct, frozen=True, array_like=True, tag_field="outline", tag="role"):
    """An AML IAM role file: its whole front matter."""

    file: str
    iam_id: str | None
    value: dict[str, Any]


class RecordOutline(msgspec.Struct, frozen=True, array_like=True, tag_field="outline", tag="record"):
    """An Agent Tool interface, profile, scheduler policy or surface that other records point at."""

    file: str
    kind: str
    """`interface`, `execution_profile`, `permission_profile`, `scheduler_policy`, `surface`."""
    record_id: str
    path: Path = ()
    document: int = 0
    tool_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    aliases: tuple[str, ...] = ()
    refs: dict[str, str] = {}
    has_classifier_input: bool = True
    """False for an interface whose `classifier_input` is absent or empty."""


class BrokenOutline(msgspec.Struct, frozen=True, array_like=True, tag_field="outline", tag="broken"):
    """A file that could not be parsed. References to its stem count as resolved: one mistake is reported once."""

    file: str
    kind: str
    """`tool`, `agent` or `role`, from the file's name."""
    stem: str


Outline: TypeAlias = ToolOutline | AgentOutline | RoleOutline | RecordOutline | BrokenOutline


class Library:
    """The definitions of a set of files, by the names other files use. Built once per check; read only."""

    def __init__(
        self,
        outlines: tuple[Outline, ...],
        *,
        is_closed: bool = True,
        folders: frozenset[str] = frozenset(),
        guardrails: frozenset[str] | None = None,
    ) -> None:
        self.outlines = outlines
        self.is_closed = is_closed
        """True when the files are a whole workspace, so a reference that is not found is an error."""
        self.folders = folders
        """Top-level folders of the workspace (`guardrails`, …)."""
        self.guardrails = guardrails
        """Names of the guardrails in the workspace's `guardrails` folder; None when it has no such folder."""
        self.tools: dict[str, list[ToolOutline]] = {}
        self.agents: dict[str, AgentOutline] = {}
        self.roles: dict[str, RoleOutline] = {}
        self.records: dict[tuple[str, str], RecordOutline] = {}
        self.broken: set[tuple[str, str]] = set()
        for outline in outlines:
            if outline.__class__ is ToolOutline:  # nearly all are
                self.tools.setdefault(outline.tool_id, []).append(outline)
                continue
            match outline:
                case AgentOutline(agent_id=str(name)):
                    self.agents.setdefault(name, outline)
                case RoleOutline(iam_id=str(name)):
                    self.roles.setdefault(name, outline)
                case RecordOutline():
                    self.records.setdefault((outline.kind, outline.record_id), outline)
                case BrokenOutline():
                    self.broken.add((outline.kind, outline.stem))
                case _:
                    pass

    def aml_tool(self, tool_id: str) -> ToolOutline | None:
        """Returns the AML tool an agent's or role's `ref` names: of several versions the newest usable one."""
        return newest([tool for tool in self.tools.get(tool_id, ()) if tool.dialect == "aml"])


def newest(tools: Sequence[ToolOutline]) -> ToolOutline | None:
    """Returns the tool a reference without a version means: usable ones first, then the highest version, then the
    first."""
    if len(tools) < 2:
        return tools[0] if tools else None
    return max(tools, key=lambda tool: (tool.status in _USABLE, parse_version(tool.version) or _NO_VERSION))


_USABLE = frozenset({"active", "deprecated", "available"})
_NO_VERSION = Version(-1, 0, 0, False, ())
