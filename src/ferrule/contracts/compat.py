"""What a compatibility rule must do: judge a comparison of what was published with what would be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, NamedTuple, Protocol

from ferrule.model.change import Comparison
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.outline import AgentOutline, RoleOutline, ToolOutline


class CompatFinding(NamedTuple):
    """On which definition of which side, and what."""

    outline: ToolOutline | AgentOutline | RoleOutline
    finding: Finding
    on_published: bool = False
    """True when the place is in the published files: what they refer to has gone."""


class CompatRule(Protocol):
    """A rule about two states of a workspace."""

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    since: ClassVar[str]

    def check(self, comparison: Comparison) -> Iterable[CompatFinding]:
        """Every defect of this kind in the candidate, given what was published."""
        ...
