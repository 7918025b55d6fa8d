"""OXP-50: a tool's input contract changed under the same version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.compat import CompatFinding
from ferrule.definitions.rules.compat.versions import VERSION, next_version, shown
from ferrule.model.change import Comparison
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.semver import Bump
from ferrule.model.value import MISSING
from ferrule.schema.validation.containment import without_annotations


class ChangedContract:
    """A changed input contract gets a new tool version; the old version may stay beside it.

    Why:  a call that names `Toolkit.Tool@1.0.0` relies on what 1.0.0 accepted.
    Bad:  a new required parameter in `Calculator.Add@1.0.0`
    Good: `Calculator.Add@1.1.0` with the parameter, and 1.0.0 as it was
    """

    code: ClassVar[str] = "OXP-50"
    name: ClassVar[str] = "changed-contract"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """One finding per version whose input schema is not what it was."""
        for change in comparison.changes:
            old, new = change.old, change.new
            if change.word != "changed" or old is None or new is None or new.outline.dialect != "oxp":
                continue
            if old.outline.version != new.outline.version or new.outline.version is None:
                continue
            if without_annotations(old.input_schema) == without_annotations(new.input_schema):
                continue
            message = f"the input of {new.outline.tool_id}@{new.outline.version} is not what was published"
            if change.example is not MISSING:
                message += f": `{shown(change.example)}` was accepted and no longer is"  # type: ignore[arg-type]
            hint = f"publish it as {next_version(new.outline.version, max(change.needed, Bump.MINOR))}"
            yield CompatFinding(new.outline, Finding(self.code, VERSION, message, hint=hint))
