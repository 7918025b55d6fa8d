"""What is wrong with the policy of a workspace, for `ferrule check`: every file on its own, then all of them together.

Reading finds what cannot be used (`policy/read.py`); here is added what can be used and does not do what its author thinks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ferrule.errors import FerruleError
from ferrule.model.diagnostic import Diagnostic, Finding, Severity
from ferrule.model.policy import PolicySet
from ferrule.model.value import dotted
from ferrule.policy.cedar import CedarTable
from ferrule.policy.codes import UNREADABLE
from ferrule.policy.load import SETTINGS_FILE, Home, homes, joined_groups, read_home, read_project
from ferrule.policy.purpose import Known, purposeless
from ferrule.policy.read import Choices, Read


class Checked(NamedTuple):
    """One file of a policy and what was found in it."""

    name: str
    """Relative to the workspace."""
    diagnostics: tuple[Diagnostic, ...]


def policy_files(root: Path, table: Mapping[str, Any]) -> dict[str, Path]:
    """The files of a workspace's own policy that are there, by name. Personal files are nobody else's business."""
    choices = read_project(root, table).choices
    named = {home.name: home.path for home in _own_homes(root, choices)}
    if choices.engine == "cedar":
        named[choices.cedar] = root / choices.cedar
    present = {name: path for name, path in named.items() if path.exists()}
    return {SETTINGS_FILE: root / SETTINGS_FILE, **present} if table else present


def check_policy(root: Path, table: Mapping[str, Any], known: Known) -> list[Checked]:
    """Everything wrong with the policy files of a workspace."""
    project = read_project(root, table)
    reads = {SETTINGS_FILE: project}
    shadow: dict[str, Read] = {}
    for home in _own_homes(root, project.choices):
        read = read_home(home)
        if read is not None:
            (shadow if home.name == project.choices.shadow else reads)[home.name] = read
    groups = joined_groups(read.file for read in reads.values())
    found = {name: list(read.findings) for name, read in (*reads.items(), *shadow.items())}
    for name, finding in purposeless(reads, groups, known):
        found[name].append(finding)
    together = [Checked(name, tuple(_located(name, {**reads, **shadow}[name], found[name]))) for name in found]
    return [*together, *_cedar(root, project.choices, groups)]


def _own_homes(root: Path, choices: Choices) -> Iterator[Home]:
    yield from homes(root, choices, {})
    if choices.shadow:
        yield Home("policy_settings", root / choices.shadow, choices.shadow, True)


def _located(name: str, read: Read, findings: Iterable[Finding]) -> Iterator[Diagnostic]:
    for finding in findings:
        place = read.place_of(finding)
        yield Diagnostic(
            finding.rule,
            finding.severity,
            dotted(finding.path),
            name,
            place.line,
            place.column,
            place.line,
            place.end_column,
            finding.message,
            finding.hint,
        )


def _cedar(root: Path, choices: Choices, groups: dict[str, tuple[str, ...]]) -> Iterator[Checked]:
    if choices.engine != "cedar":
        return
    problem: str | None = None
    try:
        text = (root / choices.cedar).read_text(encoding="utf-8-sig")
        CedarTable(PolicySet(cedar=text, cedar_file=choices.cedar, groups=groups))
    except (OSError, UnicodeDecodeError) as error:
        problem = f"the Cedar policies cannot be read: {error}"
    except FerruleError as error:
        problem = str(error)
    found = () if problem is None else (Diagnostic(UNREADABLE, Severity.ERROR, "", choices.cedar, 1, 1, 1, 2, problem),)
    yield Checked(choices.cedar, found)
