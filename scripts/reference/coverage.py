"""The page of requirements: which of the standards' ids are met, by what, and which are not yet.

From tests/spec/requirements.toml and from the tests that cite the ids; tests/spec/test_requirements.py reads them here too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ferrule.workspace.parts import DOCUMENTATION, build_page_url
from scripts.reference.cells import cell

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests"
REQUIREMENTS = TESTS / "spec" / "requirements.toml"
STANDARDS = {
    "agent_tool": ("Agent Tool 0.2.0", "AT", 282),
    "aml": ("AML 1.2", "AML", 109),
    "adl": ("ADL v1", "ADL", 54),
    "oxp": ("OXP 1.0", "OXP", 50),
    "mcp": ("MCP 2026-07-28 to 2025-03-26", "MCP", 298),
}
"""Name, prefix and number of ids, by table of the file."""
STATES = ("rule", "diff", "build", "run", "later")
STATE = re.compile(r"(rule|diff|build|run|later|with [A-Z]+-\d+)(?:: (\S.*))?")
CODE = re.compile(r"\b(?:AML|ADL|OXP|AT|MCP|FER)-\d+\b")
_IN_NAMES = re.compile(r"(?<![a-z])(aml|adl|oxp|at|mcp)_(\d+)(?!\d)")
_SERVED, _SERVERS = ("MCP-", "OXP-"), "tests/servers/"
"""Requirements of protocols, and where what is served is tested."""
_INTRODUCTION = """\
# Coverage of the standards

Every requirement we know of the five standards has an id. An id counts as covered when a rule checks it, with a failing and a
passing case, or when a test cites it and would fail without it. What is not covered yet says which part of the system it
waits for.

| word | meaning |
|---|---|
| rule | checked by `ferrule check` |
| diff | checked by `ferrule diff` and `ferrule publish` |
| build | a property of compiling, sealing or converting |
| run | met by the running system: surfaces, calls, permission, records, events, servers |
| later | not yet |
"""


class Requirement(NamedTuple):
    """One id and how it is met."""

    code: str
    state: str
    """One of `STATES`; what is checked with another rule is a `rule`."""
    text: str
    rule: str | None
    """The rule that checks it."""


@cache
def listed() -> dict[str, dict[str, str]]:
    """The file, as it is written: states by id, by standard."""
    return tomllib.loads(REQUIREMENTS.read_text(encoding="utf-8"))


def requirements(standard: str) -> list[Requirement]:
    """The ids of a standard, in order."""
    return [_requirement(code, state) for code, state in listed()[standard].items()]


def _requirement(code: str, written: str) -> Requirement:
    match = STATE.fullmatch(written)
    assert match is not None, f"{code}: {written!r} is no state"
    word, text = match[1], match[2] or ""
    if word.startswith("with "):
        return Requirement(code, "rule", text, word.removeprefix("with "))
    return Requirement(code, word, text, code if word == "rule" else None)


@cache
def citations() -> dict[str, list[str]]:
    """The files that cite each id, those of tests/spec first."""
    found: dict[str, list[str]] = {}
    for path in sorted(_files(), key=lambda path: (path.parent.name != "spec", str(path))):
        for code in _codes(path.read_text(encoding="utf-8")):
            found.setdefault(code, []).append(path.relative_to(ROOT).as_posix())
    return found


def _files() -> Iterator[Path]:
    for path in (*TESTS.glob("**/*.py"), *TESTS.glob("**/*.md")):
        if path.name != "test_requirements.py":
            yield path


def _codes(text: str) -> set[str]:
    return {*CODE.findall(text), *(f"{prefix.upper()}-{number}" for prefix, number in _IN_NAMES.findall(text))}


def page() -> str:
    """The counts, what is missing, and every id."""
    lines = [_INTRODUCTION, *_counts(), "", "## Not yet covered", "", *_missing(), ""]
    for standard, (name, _, _) in STANDARDS.items():
        lines += [f"## {name}", "", "| id | | how | where |", "|---|---|---|---|"]
        lines += [_row(requirement) for requirement in requirements(standard)]
        lines.append("")
    return "\n".join(lines)


def _counts() -> Iterator[str]:
    yield "| standard | ids | " + " | ".join(STATES) + " | covered |"
    yield "|---|---|" + "---|" * (len(STATES) + 1)
    totals = dict.fromkeys(STATES, 0)
    for standard, (name, _, _) in STANDARDS.items():
        states = [requirement.state for requirement in requirements(standard)]
        counts = {state: states.count(state) for state in STATES}
        for state in STATES:
            totals[state] += counts[state]
        yield _count(f"[{name}](#{_anchor(name)})", counts)
    yield _count("**all**", totals)


def _count(name: str, counts: dict[str, int]) -> str:
    total = sum(counts.values())
    covered = f"{100 * (total - counts['later']) // total} %"
    return f"| {name} | {total} | " + " | ".join(str(counts[state]) for state in STATES) + f" | {covered} |"


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", name.lower()).replace(" ", "-")


def _missing() -> Iterator[str]:
    parts: dict[str, list[str]] = {}
    for standard in STANDARDS:
        for requirement in requirements(standard):
            if requirement.state == "later":
                parts.setdefault(part_of(requirement), []).append(requirement.code)
    yield "| part of the system | ids | |"
    yield "|---|---|---|"
    for part, codes in sorted(parts.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"| {part} | {len(codes)} | {', '.join(codes)} |"


def part_of(requirement: Requirement) -> str:
    """The part of the system an uncovered id waits for."""
    return requirement.text.partition(",")[0]


def _row(requirement: Requirement) -> str:
    how = cell(requirement.text)
    return f"| {requirement.code} | {requirement.state} | {how} | {_where(requirement)} |"


def _where(requirement: Requirement) -> str:
    if requirement.rule is not None:
        return f"[{requirement.rule}](rules/{build_page_url(requirement.rule).removeprefix(DOCUMENTATION)})"
    if requirement.state == "later":
        return ""
    files = citations()[requirement.code]
    served = (file for file in files if file.startswith(_SERVERS) and requirement.code.startswith(_SERVED))
    file = next(served, files[0])
    return f"[{file.removeprefix('tests/')}](../../{file})"
