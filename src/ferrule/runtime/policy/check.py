"""Checks the policy of a workspace for `ferrule check`: every file on its own, then all of them together.

Reading finds what cannot be used (`read.py`); here is added what can be used and does not do what its author thinks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from ferrule.errors import FerruleError
from ferrule.infra.drivers import load_extra
from ferrule.model.diagnostic import Diagnostic, Finding, Severity
from ferrule.model.outline import Library
from ferrule.model.value import format_path
from ferrule.runtime.policy.cedar import CedarTable
from ferrule.runtime.policy.load import (
    SETTINGS_FILE,
    PolicyLocation,
    join_groups,
    list_locations,
    read_location,
    read_project,
)
from ferrule.runtime.policy.purpose import collect_names, find_purposeless_rules
from ferrule.runtime.policy.read import ParsedPolicy, ProjectChoices
from ferrule.runtime.policy.records import PolicySet
from ferrule.runtime.policy.table import UNREADABLE


def require_engine(root: Path, table: Mapping[str, object], wanted: Collection[str] | None = None) -> None:
    """Raises ExtraMissing if the policy engine is not installed. `wanted`: the policy files of interest; None means
    all."""
    choices = read_project(root, table).choices
    if choices.engine == "cedar" and (wanted is None or str(root / choices.cedar) in wanted):
        load_extra("cedarpy")


def find_policy_files(root: Path, table: Mapping[str, object]) -> dict[str, Path]:
    """Finds the files of a workspace's own policy, by name. Personal files are left out."""
    choices = read_project(root, table).choices
    named = {home.name: home.path for home in _list_own_files(root, choices)}
    if choices.engine == "cedar":
        named[choices.cedar] = root / choices.cedar
    present = {name: path for name, path in named.items() if path.exists()}
    return {SETTINGS_FILE: root / SETTINGS_FILE, **present} if table else present


def check_policy(
    root: Path,
    table: Mapping[str, object],
    library: Library,
    namespace: str = "",
    functions: frozenset[str] | None = frozenset(),
    imported: frozenset[tuple[str, str]] | None = frozenset(),
) -> dict[str, tuple[Diagnostic, ...]]:
    """Checks the policy of a workspace against its definitions; returns diagnostics by file.

    `functions`: names of tools that are made by Python functions, in `namespace`. `imported`: MCP servers and their
    tools. None when nobody can tell them.
    """
    project = read_project(root, table)
    reads = {SETTINGS_FILE: project}
    # The shadow file is checked by itself: it must not add groups to the policy in force.
    watched: dict[str, ParsedPolicy] = {}
    found: dict[str, list[Finding]] = {SETTINGS_FILE: [*project.findings, *_find_missing_files(root, project.choices)]}
    for home in _list_own_files(root, project.choices):
        read = read_location(home) if home.path.exists() else None
        if read is not None:
            (watched if home.name == project.choices.shadow else reads)[home.name] = read
            found[home.name] = list(read.findings)
    groups = join_groups(read.file for read in reads.values())
    for name, finding in find_purposeless_rules(reads, groups, collect_names(library, namespace, functions, imported)):
        found[name].append(finding)
    checked = {name: tuple(_locate(name, {**reads, **watched}[name], found[name])) for name in found}
    return {**checked, **_check_cedar(root, project.choices, groups)}


def _find_missing_files(root: Path, choices: ProjectChoices) -> Iterator[Finding]:
    """Yields a finding for each file that `[policy]` names and that is missing."""
    named = [("shadow", choices.shadow), ("cedar", choices.cedar if choices.engine == "cedar" else "")]
    named.append(("file", choices.file if choices.file != ProjectChoices().file else ""))
    for key, name in named:
        if name and not (root / name).exists():
            yield Finding(
                UNREADABLE, ("policy", key), f"there is no file {name!r}", hint="write it, or correct the name"
            )


def _list_own_files(root: Path, choices: ProjectChoices) -> Iterator[PolicyLocation]:
    yield from list_locations(root, choices, {})
    if choices.shadow:
        yield PolicyLocation("policy_settings", root / choices.shadow, choices.shadow, True)


def _locate(name: str, read: ParsedPolicy, findings: Iterable[Finding]) -> Iterator[Diagnostic]:
    for finding in findings:
        place = read.locate(finding)
        yield Diagnostic(
            finding.rule,
            finding.severity,
            format_path(finding.path),
            name,
            place.line,
            place.column,
            place.line,
            place.end_column,
            finding.message,
            finding.hint,
        )


def _check_cedar(
    root: Path, choices: ProjectChoices, groups: dict[str, tuple[str, ...]]
) -> dict[str, tuple[Diagnostic, ...]]:
    if choices.engine != "cedar" or not (root / choices.cedar).exists():
        return {}
    try:
        text = (root / choices.cedar).read_text(encoding="utf-8-sig")
        CedarTable(PolicySet(cedar=text, cedar_file=choices.cedar, groups=groups))
    except (OSError, UnicodeDecodeError, FerruleError) as error:
        return {choices.cedar: (Diagnostic(UNREADABLE, Severity.ERROR, "", choices.cedar, 1, 1, 1, 2, str(error)),)}
    return {choices.cedar: ()}
