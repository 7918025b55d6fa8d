"""AML-83: a change that breaks callers without a major version."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import CompatFinding, CompatRule
from ferrule.definitions.rules.compat.versions import (
    VERSION,
    bump_version,
    format_changes,
    format_value,
    is_stale,
    list_changed_tools,
)
from ferrule.model.change import Comparison, ToolChange
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.semver import Bump
from ferrule.model.value import MISSING


class BreakingInput(CompatRule):
    """A breaking change of `interface.input` raises the major version.

    Why:  callers that were right yesterday are refused today. Breaking is: a property removed or renamed (also where
          undeclared ones are let through), a property newly required, a type changed or narrowed, values taken out of an
          enum or an enum put where there was none, a bound, pattern or format added or tightened, undeclared properties no
          longer taken, a branch of a combinator removed. Below 1.0.0 a minor version counts as a major one. When nobody can
          tell, this is a warning and a person must look.
    Bad:  `minLength: 1` added to `q`, version 1.4.0 to 1.5.0
    Good: the same change with version 2.0.0
    """

    code = "AML-83"
    name = "breaking-input"
    severity = Severity.ERROR

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """Yields at most one finding per tool."""
        for change in list_changed_tools(comparison):
            if is_stale(change) or change.made is Bump.MAJOR or change.new is None:
                continue
            if change.needed is Bump.MAJOR:
                yield CompatFinding(change.new.outline, self._report_break(change))
            elif change.is_undecided:
                yield CompatFinding(change.new.outline, self._report_undecided(change))

    def _report_break(self, change: ToolChange) -> Finding:
        told = []
        if change.narrowed:
            told.append(format_changes(change.narrowed))
        if change.example is not MISSING:
            told.append(f"`{format_value(change.example)}` was accepted and no longer is")  # type: ignore[arg-type]
        message = f"the input of {change.part.outline.tool_id!r} breaks its callers: {'; '.join(told)}"
        return Finding(self.code, VERSION, message, hint=_suggest_version(change))

    def _report_undecided(self, change: ToolChange) -> Finding:
        message = (
            f"whether the input of {change.part.outline.tool_id!r} still accepts everything cannot be decided;"
            " a person must look"
        )
        return Finding(self.code, VERSION, message, Severity.WARNING, f"if it does not, {_suggest_version(change)}")


def _suggest_version(change: ToolChange) -> str:
    before = change.old.outline.version if change.old else None
    return f"{before} needs a major version after it: {bump_version(before, Bump.MAJOR)}"
