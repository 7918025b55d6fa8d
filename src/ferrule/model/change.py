"""Two states of a workspace side by side: what was published, what would be, and what changed between them.

`definitions/compiler/compare.py` fills these in; the rules of `definitions/rules/compat/` judge them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from ferrule.model.outline import AgentOutline, Outline, RoleOutline, ToolOutline
from ferrule.model.semver import Bump
from ferrule.model.value import MISSING, JsonValue, Missing

ChangeKind = Literal["removed", "required", "type", "values", "bound", "pattern", "closed", "branch", "other"]
SOFT = frozenset({"type", "values", "bound", "closed", "other"})
"""Kinds of change that break nobody when the new schema provably accepts everything the old one did."""


class SchemaChange(msgspec.Struct, frozen=True):
    """One way in which a schema became harder to satisfy, or promises less."""

    kind: ChangeKind
    where: str
    """The property, as people write it: `filter.limit`; empty for the schema as a whole."""
    text: str
    """What changed, as a clause: "`limit` is now required"."""


class ComparedTool(NamedTuple):
    """One version of one tool on one side of a comparison."""

    outline: ToolOutline
    content: str
    """Fingerprint of what the definition's file says; empty for a tool from a catalog."""
    digest: str
    """Content digest of the compiled tool; empty when it could not be compiled."""
    input_schema: Any
    output_schema: Any
    facts: Mapping[str, Any]
    """The compiled definition by its top-level fields, to tell which of them changed."""

    def says_the_same(self, other: ComparedTool) -> bool:
        """Returns True when nothing changed: by what the files say, or by what was compiled where one side has no file."""
        if self.content and other.content:
            return self.content == other.content
        return self.digest == other.digest


class Snapshot(NamedTuple):
    """One side of a comparison."""

    parts: tuple[ComparedTool, ...]
    agents: Mapping[str, AgentOutline]
    roles: Mapping[str, RoleOutline]
    outlines: tuple[Outline, ...]
    is_full: bool = True
    """False when only some files are compared, so that a tool that is not there was not removed."""
    broken: frozenset[tuple[str, str]] = frozenset()
    """Files that could not be parsed: kind and stem."""
    folders: frozenset[str] = frozenset()
    withdrawn: tuple[ComparedTool, ...] = ()
    """Tools that were published once and are no longer; they count only when they come back."""


class ToolChange(NamedTuple):
    """The change of one tool."""

    old: ComparedTool | None
    new: ComparedTool | None
    narrowed: tuple[SchemaChange, ...] = ()
    """What breaks callers: changes of the input schema."""
    weakened: tuple[SchemaChange, ...] = ()
    """What breaks readers of results: changes of the output schema."""
    example: JsonValue | Missing = MISSING
    """Arguments that were accepted and no longer are."""
    is_undecided: bool = False
    """True when it is not known whether the new input schema still accepts everything."""
    fields: tuple[str, ...] = ()
    """Top-level fields of the definition that differ."""
    needed: Bump = Bump.NONE
    made: Bump | None = None
    """None when a version is missing or is none."""
    agents: tuple[str, ...] = ()
    """Agents that use the tool."""
    roles: tuple[str, ...] = ()
    """Roles that grant it."""

    @property
    def part(self) -> ComparedTool:
        """The newer side that exists."""
        part = self.new or self.old
        assert part is not None, "a change has at least one side"
        return part

    @property
    def word(self) -> str:
        """`added`, `removed`, `changed` or `unchanged`."""
        if self.old is None:
            return "added"
        if self.new is None:
            return "removed"
        return "unchanged" if self.old.says_the_same(self.new) else "changed"


class Comparison(NamedTuple):
    """Two snapshots and every tool's change."""

    published: Snapshot
    candidate: Snapshot
    changes: tuple[ToolChange, ...]
