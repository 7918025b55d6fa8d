"""AML-89, as far as publishing goes: an agent's id and version name one content for ever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.compat import CompatFinding
from ferrule.definitions.rules.compat.versions import VERSION, next_version
from ferrule.model.change import Comparison
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.semver import Bump


class RepublishedAgent:
    """An agent is never published again under the same id and version with another front matter.

    Why:  whoever pinned that version would run something else.
    Bad:  another tool in `tools.refs` under the same `version: 1.0.0`
    Good: `version: 1.1.0`
    """

    code: ClassVar[str] = "AML-89"
    name: ClassVar[str] = "republished-agent"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """One finding per changed agent with an unchanged version."""
        for agent_id, new in comparison.candidate.agents.items():
            old = comparison.published.agents.get(agent_id)
            if old is None or old.value == new.value or not isinstance(new.value.get("version"), str):
                continue
            version = new.value["version"]
            if old.value.get("version") == version:
                message = f"the agent {agent_id!r} {version} is published already, with other content"
                hint = f"use {next_version(version, Bump.PATCH)} or higher"
                yield CompatFinding(new, Finding(self.code, VERSION, message, hint=hint))
