"""Joins the eight sources of rules into one policy. Anything that cannot be used as written refuses all of it.

policy_settings   policy.toml, the security reviewer's          project_settings  [policy] of ferrule.toml
local_settings    .ferrule/policy.local.toml                    user_settings     ~/.config/ferrule/policy.toml
flag_settings     the file named by FERRULE_POLICY              cli_arg, command, session   handed over as data

A workspace whose policy cannot be used gets `RefusingPolicy`: it denies every call and says why.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ferrule.contracts.policy import JudgedCall
from ferrule.errors import PolicyError
from ferrule.model.decision import DEFAULT_EXPIRY_SECONDS, RULE_SOURCES, RuleSource, Ruling
from ferrule.model.surface import SurfaceEntry, SurfaceRequest
from ferrule.runtime.policy.read import ParsedPolicy, ProjectChoices, make_unreadable, read_text, read_value
from ferrule.runtime.policy.records import GROUP, PolicyFile, PolicySet

SETTINGS_FILE = "ferrule.toml"
LOCAL_FILE = ".ferrule/policy.local.toml"
USER_FILE = "ferrule/policy.toml"
FLAG_VARIABLE = "FERRULE_POLICY"
_LARGEST = 4 * 1024 * 1024


class PolicyLocation(NamedTuple):
    """One policy file of one source."""

    source: RuleSource
    path: Path
    name: str
    """As people see it."""
    is_named: bool = False
    """True when it was named explicitly, so that it must exist."""


def list_locations(root: Path, choices: ProjectChoices, env: Mapping[str, str]) -> list[PolicyLocation]:
    """Lists the possible files of a workspace's policy, without ferrule.toml itself."""
    found = [
        PolicyLocation("policy_settings", root / choices.file, choices.file, choices.file != ProjectChoices().file),
        PolicyLocation("local_settings", root / LOCAL_FILE, LOCAL_FILE),
    ]
    if env.get("XDG_CONFIG_HOME"):
        path = Path(env["XDG_CONFIG_HOME"]) / USER_FILE
        found.append(PolicyLocation("user_settings", path, str(path)))
    elif env.get("HOME"):
        found.append(
            PolicyLocation("user_settings", Path(env["HOME"]) / ".config" / USER_FILE, f"~/.config/{USER_FILE}")
        )
    if env.get(FLAG_VARIABLE):
        found.append(PolicyLocation("flag_settings", Path(env[FLAG_VARIABLE]), env[FLAG_VARIABLE], True))
    return found


def read_location(home: PolicyLocation) -> ParsedPolicy | None:
    """Reads a policy file; None when it is missing and optional."""
    # A link that leads nowhere is a policy that cannot be read, and not a missing one.
    if not os.path.lexists(home.path) and not home.is_named:
        return None
    try:
        if home.path.stat().st_size > _LARGEST:
            return make_unreadable(home.source, home.name, "is too large to be a policy")
        return read_text(home.path.read_text(encoding="utf-8-sig"), home.source, home.name)
    except OSError as error:
        return make_unreadable(home.source, home.name, f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        return make_unreadable(home.source, home.name, "is not UTF-8 text")


def read_project(root: Path, table: Mapping[str, object]) -> ParsedPolicy:
    """Reads the `[policy]` table of ferrule.toml: from the file, for its lines, else from the value."""
    file = root / SETTINGS_FILE
    try:
        read = read_text(file.read_text(encoding="utf-8-sig"), "project_settings", SETTINGS_FILE, below=("policy",))
    except (OSError, UnicodeDecodeError):
        read = None
    fresh = read_value(dict(table), "project_settings", SETTINGS_FILE, below=("policy",))
    # The file is read for its lines alone: what is in force is the table.
    return read if read is not None and read.file.digest == fresh.file.digest else fresh


def load_policy(
    root: Path,
    table: Mapping[str, object],
    env: Mapping[str, str],
    *,
    extra: Mapping[RuleSource, Sequence[Mapping[str, object]]] | None = None,
    expires_seconds: int = DEFAULT_EXPIRY_SECONDS,
    is_personal: bool = True,
) -> PolicySet:
    """Loads everything in force in a workspace. `table` is `Settings.policy`; `extra` holds rules of `cli_arg` and
    `command`.

    Without `is_personal` only the workspace's own files count, so that everybody gets the same answer. Raises
    PolicyError when any of it cannot be used as written: then nothing may be allowed.
    """
    project = read_project(root, table)
    places = list_locations(root, project.choices, env if is_personal else {})
    reads = [project, *filter(None, map(read_location, places))]
    reads += [
        read_value({"rules": [*map(dict, rules)]}, source, source, file="") for source, rules in (extra or {}).items()
    ]
    refuse_errors(reads)
    choices = project.choices
    cedar = _read_cedar(root / choices.cedar) if choices.engine == "cedar" else None
    policy = PolicySet(
        files=order_files(read.file for read in reads),
        groups=join_groups([read.file for read in reads]),
        root=os.path.abspath(root),
        home=env.get("HOME", ""),
        expires_seconds=expires_seconds,
        cedar=cedar,
        cedar_file=choices.cedar if cedar is not None else "",
    )
    return _add_shadow(policy, root, choices.shadow) if choices.shadow else policy


def refuse_errors(reads: Iterable[ParsedPolicy]) -> None:
    """Raises PolicyError that names the first error and counts the others."""
    errors = [(read, finding) for read in reads for finding in read.errors]
    if not errors:
        return
    read, finding = errors[0]
    place = f"{read.file.name}:{read.locate(finding).line}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    hint = f"; {finding.hint}" if finding.hint else ""
    raise PolicyError(f"{place}: {finding.message}{hint}{more}; no call is allowed until `ferrule check` passes")


def order_files(files: Iterable[PolicyFile]) -> tuple[PolicyFile, ...]:
    """Orders the files that say something by their sources."""
    said = [
        each for each in files if each.rules or each.mode or each.groups or each.classifiers or each.authoritative_hooks
    ]
    return tuple(sorted(said, key=lambda each: RULE_SOURCES.index(each.source)))


def join_groups(files: Iterable[PolicyFile]) -> dict[str, tuple[str, ...]]:
    """Joins the groups of all files. Only policy.toml may fill a group that it mentions, even one it does not define."""
    groups: dict[str, tuple[str, ...]] = {}
    reserved: set[str] = set()
    for file in order_files(files):  # the security reviewer's comes first
        if file.source == "policy_settings":
            reserved |= find_referenced_groups(file)
        for name, members in file.groups.items():
            if name not in groups and (file.source == "policy_settings" or name not in reserved):
                groups[name] = members
    return groups


def find_referenced_groups(file: PolicyFile) -> set[str]:
    """Finds the groups that the rules of a file refer to."""
    names = (name for rule in file.rules for name in (*rule.principal, *rule.demand.approvers))
    return {name.removeprefix(GROUP) for name in names if name.startswith(GROUP)}


def _read_cedar(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise PolicyError(
            f"the Cedar policies in {path} cannot be read: {why}; no call is allowed until they can"
        ) from None


def _add_shadow(policy: PolicySet, root: Path, name: str) -> PolicySet:
    """Adds the shadow policy, in which this file replaces policy.toml."""
    read = read_location(PolicyLocation("policy_settings", root / name, name, True))
    assert read is not None  # a named file that is missing is a finding
    if read.errors:
        first = read.errors[0]
        problem = f"{name}:{read.locate(first).line}: {first.message}"
        return replace(policy, shadow_ref=name, shadow_problem=problem)
    others = [file for file in policy.files if file.source != "policy_settings"]
    shadow = replace(policy, files=order_files([read.file, *others]), groups=join_groups([read.file, *others]))
    return replace(policy, shadow=shadow, shadow_ref=read.file.ref)


class RefusingPolicy:
    """A policy that denies every call, and names the mistake to fix first."""

    def __init__(self, why: str) -> None:
        self.why = why
        self.text = f"# nothing is allowed: {why}\n"
        self.digest = hashlib.sha256(self.text.encode()).hexdigest()
        message = f"the policy cannot be used, so nothing is allowed until it is fixed: {why}"
        self._ruling = Ruling("deny", message, "safety_check", is_policy_block=True)

    def program(self, entry: SurfaceEntry, request: SurfaceRequest) -> _Refusal:
        """Returns a program that denies."""
        return _Refusal(self._ruling)

    def groups_of(self, person: str) -> frozenset[str]:
        """Returns no groups: a broken policy defines none."""
        return frozenset()

    def surface_ruling(self, entry: SurfaceEntry, request: SurfaceRequest) -> Ruling | None:
        """Returns None: tools stay visible, so that their calls are denied with the reason."""
        return None


class _Refusal:
    def __init__(self, ruling: Ruling) -> None:
        self.fixed: Ruling | None = ruling
        self.denies_statically: Ruling | None = ruling

    def decide(self, judged: JudgedCall) -> Ruling:
        assert self.fixed is not None
        return self.fixed

    def early_deny(self, judged: JudgedCall) -> Ruling | None:
        return self.fixed
