"""AML-84: results that promise less, without a major version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.compat import CompatFinding
from ferrule.definitions.rules.compat.versions import VERSION, changed_aml_tools, is_stale, listed, next_version
from ferrule.model.change import Comparison
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.semver import Bump


class WeakenedOutput:
    """A breaking change of `interface.output` should raise the major version.

    Why:  whoever reads the result relies on a member that is gone or no longer certain, or meets a type or value it does
          not know. The standard asks a major version for the parameter schema only, so this is a warning.
    Bad:  `total` removed from the output, version 1.4.0 to 1.5.0
    Good: the same change with version 2.0.0
    """

    code: ClassVar[str] = "AML-84"
    name: ClassVar[str] = "weakened-output"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1"

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """At most one finding per tool."""
        for change in changed_aml_tools(comparison):
            if not change.weakened or is_stale(change) or change.made is Bump.MAJOR or change.new is None:
                continue
            message = f"the output of {change.part.outline.tool_id!r} promises less: {listed(change.weakened)}"
            before = change.old.outline.version if change.old else None
            hint = f"a major version ({next_version(before, Bump.MAJOR)}) would tell its readers"
            yield CompatFinding(change.new.outline, Finding(self.code, VERSION, message, self.severity, hint))
