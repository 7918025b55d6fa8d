"""Reads one policy file, or the `[policy]` table of ferrule.toml: text in, records and findings out.

`ferrule check` shows the findings with their lines; the runtime refuses to work while one of them is an error.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from typing import Any, NamedTuple

import msgspec

from ferrule.model.decision import RuleSource
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import Path
from ferrule.runtime.policy.globs import find_glob_defect
from ferrule.runtime.policy.read_rule import read_rule
from ferrule.runtime.policy.records import AUTHORITIES, ENGINES, MODES, ClassifierUse, PolicyFile, PolicyRule
from ferrule.runtime.policy.table import DUPLICATE_ID, UNREADABLE, PolicyTable
from ferrule.runtime.policy.toml_positions import TomlPosition, TomlPositions

_OWNERS: tuple[RuleSource, ...] = ("policy_settings", "project_settings")
"""Sources whose word about groups and classifiers counts; the others only add rules and tighten the mode."""
_KEYS = ("mode", "rules")
_OWNER_KEYS = ("groups", "classifiers")
_POLICY_KEYS = ("authoritative_hooks",)
_PROJECT_KEYS = ("file", "engine", "cedar", "shadow")
_AT = re.compile(r"\(at line (\d+), column (\d+)\)")


class ProjectChoices(NamedTuple):
    """The choices of `[policy]` in ferrule.toml about the other files."""

    file: str = "policy.toml"
    engine: str = "rules"
    cedar: str = "policy.cedar"
    shadow: str = ""


class ParsedPolicy(NamedTuple):
    """One policy file, parsed, with its findings."""

    file: PolicyFile
    findings: tuple[Finding, ...]
    choices: ProjectChoices = ProjectChoices()
    places: TomlPositions | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that prevent using the file."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    def locate(self, finding: Finding) -> TomlPosition:
        """Locates a finding in the file."""
        if finding.line:
            return TomlPosition(finding.line, finding.column or 1, (finding.column or 1) + 1)
        return self.places.find(finding.path) if self.places is not None else TomlPosition(1, 1, 1)


def read_text(text: str, source: RuleSource, name: str, *, below: Path = ()) -> ParsedPolicy:
    """Reads a policy from TOML text. `below`: the table of the text that holds it (`("policy",)` in ferrule.toml)."""
    try:
        value: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return ParsedPolicy(_make_empty_file(source, name), (_make_syntax_finding(str(error)),))
    for step in below:
        value = value.get(step, {}) if isinstance(value, dict) else {}
    return read_value(value, source, name, below=below, places=TomlPositions(text))


def read_value(
    value: object,
    source: RuleSource,
    name: str,
    *,
    below: Path = (),
    places: TomlPositions | None = None,
    file: str | None = None,
) -> ParsedPolicy:
    """Reads a policy from its value. `file` is the file that its rules show; without one, the name."""
    findings: list[Finding] = []
    if not isinstance(value, dict):
        findings.append(Finding(UNREADABLE, below, f"the policy of {name} must be a table"))
        return ParsedPolicy(_make_empty_file(source, name), tuple(findings), places=places)
    table = PolicyTable(value, below, findings)
    table.refuse_unknown_keys(_list_known_keys(source), _list_hints(source, below))
    policy = PolicyFile(
        source=source,
        name=name,
        digest=compute_digest(value),
        mode=table.read_word("mode", MODES),  # type: ignore[arg-type]  # one of the modes
        rules=_read_rules(table, source, name if file is None else file, places),
        groups=_read_groups(table) if source in _OWNERS else {},
        classifiers=_read_classifiers(table, source) if source in _OWNERS else (),
        authoritative_hooks=table.read_texts("authoritative_hooks") if source == "policy_settings" else (),
    )
    return ParsedPolicy(
        policy, tuple(findings), _read_choices(table) if source == "project_settings" else ProjectChoices(), places
    )


def compute_digest(value: object) -> str:
    """Computes the digest of a policy's content, whatever its layout."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def make_unreadable(source: RuleSource, name: str, why: str) -> ParsedPolicy:
    """Makes the result for a file that cannot be read."""
    return ParsedPolicy(_make_empty_file(source, name), (Finding(UNREADABLE, (), f"{name} {why}", line=1, column=1),))


def _make_empty_file(source: RuleSource, name: str) -> PolicyFile:
    return PolicyFile(source=source, name=name, digest=compute_digest(None))


def _make_syntax_finding(message: str) -> Finding:
    found = _AT.search(message)
    line, column = (int(found[1]), int(found[2])) if found else (1, 1)
    return Finding(UNREADABLE, (), f"this is not TOML: {_AT.sub('', message).strip()}", line=line, column=column)


def _list_known_keys(source: RuleSource) -> tuple[str, ...]:
    owned = _OWNER_KEYS if source in _OWNERS else ()
    special = {"policy_settings": _POLICY_KEYS, "project_settings": _PROJECT_KEYS}
    return (*_KEYS, *owned, *special.get(source, ()))


def _list_hints(source: RuleSource, below: Path) -> dict[str, str]:
    hints = {"rule": "write [[rules]]", "policy": "here the tables stand at the top: [[rules]], not [[policy.rules]]"}
    if source not in _OWNERS:
        hints |= dict.fromkeys(_OWNER_KEYS, "only policy.toml and ferrule.toml may say it")
    if source != "policy_settings":
        hints |= dict.fromkeys(_POLICY_KEYS, "only policy.toml may say it")
    if not below:
        hints |= dict.fromkeys(_PROJECT_KEYS, "it belongs into [policy] of ferrule.toml")
    return hints


def _read_rules(
    table: PolicyTable, source: RuleSource, file: str, places: TomlPositions | None
) -> tuple[PolicyRule, ...]:
    rules: list[PolicyRule] = []
    seen: set[str] = set()
    for number, each in enumerate(table.read_tables("rules"), start=1):
        line = places.find(each.path).line if places is not None else 0
        rule = read_rule(each, source, file, line, f"{file or source}#{number}")
        if rule.rule_id in seen:
            each.add_error(f"there is another rule with the id {rule.rule_id!r} here", "id", code=DUPLICATE_ID)
        seen.add(rule.rule_id)
        rules.append(rule)
    return tuple(rules)


def _read_groups(table: PolicyTable) -> dict[str, tuple[str, ...]]:
    groups = table.read_table("groups")
    if groups is None:
        return {}
    # A group may be empty; `read_texts` refuses an empty list.
    return {name: groups.read_texts(name) if groups.value[name] != [] else () for name in groups.value}


def _read_classifiers(table: PolicyTable, source: RuleSource) -> tuple[ClassifierUse, ...]:
    found: list[ClassifierUse] = []
    for each in table.read_tables("classifiers"):
        each.refuse_unknown_keys(("name", "authority", "tools"))
        if "name" not in each.value:
            each.add_error("the classifier has no `name`", "name")
        authority = each.read_word("authority", AUTHORITIES, "recommend")
        tools = each.read_texts("tools", find_glob_defect) or ("*",)
        found.append(ClassifierUse(each.read_text("name"), authority or "recommend", source, tools))  # type: ignore[arg-type]  # one of the words
    return tuple(found)


def _read_choices(table: PolicyTable) -> ProjectChoices:
    usual = ProjectChoices()
    return ProjectChoices(
        file=table.read_text("file", usual.file),
        engine=table.read_word("engine", ENGINES, usual.engine) or usual.engine,
        cedar=table.read_text("cedar", usual.cedar),
        shadow=table.read_text("shadow", usual.shadow),
    )
