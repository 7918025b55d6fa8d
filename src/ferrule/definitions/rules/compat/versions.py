"""Rules about changes that the version does not show, and the functions all version rules of this folder share.

A changed tool keeps its version (AML-82), results promise less without a major version (AML-84), an agent's id and version
name a second content (AML-89), an input contract changes under one version (OXP-50). `breaking_input.py` (AML-83) and
`understated_role_version.py` (AML-99) have files of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ferrule.contracts.rule import CompatFinding, CompatRule
from ferrule.model.change import Comparison, SchemaChange, ToolChange
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.semver import Bump, parse_version
from ferrule.model.value import MISSING, JsonValue
from ferrule.schema.merging import is_same
from ferrule.schema.validation.containment import without_annotations

VERSION = ("version",)


def list_changed_tools(comparison: Comparison) -> Iterator[ToolChange]:
    """Yields AML tools on both sides whose front matter differs and whose versions can be compared."""
    for change in comparison.changes:
        if change.word == "changed" and change.made is not None and change.part.outline.dialect == "aml":
            yield change


def is_stale(change: ToolChange) -> bool:
    """Returns True when the version was not raised; other rules then report nothing about it (AML-82)."""
    return change.made is Bump.NONE


def bump_version(text: str | None, bump: Bump) -> str:
    """Returns the smallest version that makes this bump; below 1.0.0 a minor one counts as major."""
    version = parse_version(text)
    if version is None:
        return "a higher one"
    major, minor, patch = version[:3]
    if bump is Bump.MAJOR and major > 0:
        return f"{major + 1}.0.0"
    if bump in (Bump.MAJOR, Bump.MINOR):
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}" if version.is_release else f"{major}.{minor}.{patch}"


def format_changes(changes: tuple[SchemaChange, ...]) -> str:
    """Returns the first few changes in words."""
    texts = [change.text for change in changes[:3]]
    more = f" (and {len(changes) - 3} more)" if len(changes) > 3 else ""
    return ", ".join(texts) + more


def format_value(value: JsonValue) -> str:
    """Returns a counterexample short enough for a message."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 120 else text[:117] + "…"


class StaleVersion(CompatRule):
    """Every published change of a tool raises its `version` above the latest published one.

    Why:  a published version never changes its meaning, so agents can pin it and records can cite it. A change of the
          Markdown body alone is no change.
    Bad:  another description under the same `version: 1.2.0`
    Good: `version: 1.2.1`
    """

    code = "AML-82"
    name = "stale-version"
    severity = Severity.ERROR

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """Yields one finding per changed tool with an old or lower version."""
        for change in list_changed_tools(comparison):
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
            hint = f"{changed}use {bump_version(before, change.needed)} or higher"
            yield CompatFinding(change.new.outline, Finding(self.code, VERSION, message, hint=hint))


class ChangedContract(CompatRule):
    """A changed input contract gets a new tool version; the old version may stay beside it.

    Why:  a call that names `Toolkit.Tool@1.0.0` relies on what 1.0.0 accepted.
    Bad:  a new required parameter in `Calculator.Add@1.0.0`
    Good: `Calculator.Add@1.1.0` with the parameter, and 1.0.0 as it was
    """

    code = "OXP-50"
    name = "changed-contract"
    severity = Severity.ERROR

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """Yields one finding per version whose input schema is not what it was."""
        for change in comparison.changes:
            old, new = change.old, change.new
            if change.word != "changed" or old is None or new is None or new.outline.dialect != "oxp":
                continue
            if old.outline.version != new.outline.version or new.outline.version is None:
                continue
            if is_same(without_annotations(old.input_schema), without_annotations(new.input_schema)):
                continue
            message = f"the input of {new.outline.tool_id}@{new.outline.version} is not what was published"
            if change.example is not MISSING:
                message += f": `{format_value(change.example)}` was accepted and no longer is"  # type: ignore[arg-type]
            hint = f"publish it as {bump_version(new.outline.version, max(change.needed, Bump.MINOR))}"
            yield CompatFinding(new.outline, Finding(self.code, VERSION, message, hint=hint))


class WeakenedOutput(CompatRule):
    """A breaking change of `interface.output` should raise the major version.

    Why:  whoever reads the result relies on a member that is gone or no longer certain, or meets a type or value it does
          not know. The standard asks a major version for the parameter schema only, so this is a warning.
    Bad:  `total` removed from the output, version 1.4.0 to 1.5.0
    Good: the same change with version 2.0.0
    """

    code = "AML-84"
    name = "weakened-output"
    severity = Severity.WARNING

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """Yields at most one finding per tool."""
        for change in list_changed_tools(comparison):
            if not change.weakened or is_stale(change) or change.made is Bump.MAJOR or change.new is None:
                continue
            message = f"the output of {change.part.outline.tool_id!r} promises less: {format_changes(change.weakened)}"
            before = change.old.outline.version if change.old else None
            hint = f"a major version ({bump_version(before, Bump.MAJOR)}) would tell its readers"
            yield CompatFinding(change.new.outline, Finding(self.code, VERSION, message, self.severity, hint))


class RepublishedAgent(CompatRule):
    """An agent is never published again under the same id and version with another front matter.

    Why:  whoever pinned that version would run something else.
    Bad:  another tool in `tools.refs` under the same `version: 1.0.0`
    Good: `version: 1.1.0`
    """

    code = "AML-89"
    name = "republished-agent"
    severity = Severity.ERROR

    def check(self, comparison: Comparison) -> Iterator[CompatFinding]:
        """Yields one finding per changed agent with an unchanged version."""
        for agent_id, new in comparison.candidate.agents.items():
            old = comparison.published.agents.get(agent_id)
            if old is None or old.value == new.value or not isinstance(new.value.get("version"), str):
                continue
            version = new.value["version"]
            if old.value.get("version") == version:
                message = f"the agent {agent_id!r} {version} is published already, with other content"
                hint = f"use {bump_version(version, Bump.PATCH)} or higher"
                yield CompatFinding(new, Finding(self.code, VERSION, message, hint=hint))
