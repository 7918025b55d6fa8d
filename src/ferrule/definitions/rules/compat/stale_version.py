"""AML-82: a changed tool whose version was not raised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.compat import CompatFinding
from ferrule.definitions.rules.compat.versions import VERSION, changed_aml_tools, is_stale, next_version
from ferrule.model.change import Comparison
from ferrule.model.diagnostic import Finding, Severity


class StaleVersion:
    """Every published change of a tool raises its `version` above the latest published one.

    Why:  a published version never changes its meaning, so agents can pin it and records can cite it. A change of the
          Markdown body alone is no change.
    Bad:  another description under the same `version: 1.2.0`
    Good: `version: 1.2.1`
    """

    code: ClassVar[str] = "AML-82"
    name: ClassVar[str] = "stale-version"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """One finding per changed tool with an old or lower version."""
        for change in changed_aml_tools(comparison):
            if not is_stale(change) or change.old is None or change.new is None:
                continue
            before, after = change.old.outline.version, change.new.outline.version
            tool_id = change.new.outline.tool_id
            if before == after:
                message = f"{tool_id!r} {after} is published already, with other content"
            else:
                message = f"{tool_id!r} {after} is not greater than {before}, the latest published version"
            changed = f"changed: {', '.join(change.fields)}; " if change.fields else ""
            if change.fields == ("namespace",):
                changed = f"set `namespace` in ferrule.toml to {change.old.outline.namespace!r} again, or "
            hint = f"{changed}use {next_version(before, change.needed)} or higher"
            yield CompatFinding(change.new.outline, Finding(self.code, VERSION, message, hint=hint))
