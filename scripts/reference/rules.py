"""The rule pages: one file per standard, one section per rule; and what `--fix` mends. A rule's address is its file and its
code as anchor.
"""

from __future__ import annotations

import re

from ferrule.cli.fix import fixable_rules, fixers
from ferrule.contracts.rule import RuleInfo
from ferrule.workspace.parts import list_rule_pages

STANDARDS = {
    "AML": ("aml", "AML 1.2"),
    "ADL": ("adl", "ADL v1"),
    "OXP": ("oxp", "OXP 1.0"),
    "AT": ("agent-tool", "Agent Tool 0.2.0"),
    "FER": ("ferrule", "Ferrule's own rules"),
}
_PROMISE = (
    "A change is kept only when the text reads back to exactly what the fix promised, its diagnostic is gone, nothing else in\n"
    "the file is different, and there are no more errors than before. Layout, order, comments and line ends stay, in YAML and\n"
    "JSON alike. What needs a decision is left to you, and the hint of the diagnostic says what to write."
)
_LABEL = re.compile(r"^(Why|Bad|Good|Note):[ \t]?(.*)$")


def pages() -> dict[str, str]:
    """A page for each standard, and the list of all rules."""
    by_standard: dict[str, list[RuleInfo]] = {prefix: [] for prefix in STANDARDS}
    for info in list_rule_pages():
        by_standard[info.code.partition("-")[0]].append(info)
    for infos in by_standard.values():
        infos.sort(key=lambda info: int(info.code.partition("-")[2]))
    written = {"index.md": _index(by_standard), "fixes.md": _fixes()}
    for prefix, (name, title) in STANDARDS.items():
        sections = "\n".join(_section(info) for info in by_standard[prefix])
        written[f"{name}.md"] = f"# Rules of {title}\n\n{sections}" if prefix != "FER" else f"# {title}\n\n{sections}"
    return written


def _index(by_standard: dict[str, list[RuleInfo]]) -> str:
    lines = [
        "# Rules",
        "",
        "`ferrule rule CODE` prints the same page in the terminal. What `ferrule check --fix` mends is",
    ]
    lines += ["[listed in one place](fixes.md).", ""]
    for prefix, (name, title) in STANDARDS.items():
        lines += [f"## {title}", "", "| rule | name | severity | |", "|---|---|---|---|"]
        for info in by_standard[prefix]:
            anchor = f"[{info.code}]({name}.md#{info.code.lower()})"
            fixable = "`--fix`" if info.code in fixable_rules() else ""
            lines.append(f"| {anchor} | `{info.name}` | {info.severity.value} | {fixable} |")
        lines.append("")
    return "\n".join(lines)


def _fixes() -> str:
    """What is mended, by standard: the first line each fix says about itself."""
    lines = ["# What `ferrule check --fix` mends", "", _PROMISE, ""]
    for name, title in STANDARDS.values():
        found = fixers().get(name.replace("-", "_"))
        if found is None:
            continue
        codes = sorted(found.rules, key=lambda code: int(code.partition("-")[2]))
        links = ", ".join(f"[{code}]({name}.md#{code.lower()})" for code in codes)
        lines += [f"## {title}", "", f"Cases of {links}:", "", "| fix | what it does |", "|---|---|"]
        for fixer in found.fixers:
            text = " ".join((fixer.__doc__ or "").split()).replace("|", "\\|")
            lines.append(f"| {fixer.__name__.replace('_', ' ')} | {text} |")
        lines.append("")
    return "\n".join(lines)


def _section(info: RuleInfo) -> str:
    facts = [f"`{info.name}`", info.severity.value, f"since {info.since}"]
    if info.code in fixable_rules():
        facts.append("some cases mended by `ferrule check --fix`")
    lines = [f"## {info.code}", "", " · ".join(facts), "", info.summary, ""]
    for label, text in _labelled(info.details):
        lines += _paragraph(label, text)
    return "\n".join(lines)


def _labelled(details: str) -> list[tuple[str, list[str]]]:
    """The details cut at `Why:`, `Bad:` and `Good:`."""
    parts: list[tuple[str, list[str]]] = []
    for line in details.splitlines():
        label = _LABEL.match(line)
        if label:
            parts.append((label[1], [label[2].strip()]))
        elif parts:
            parts[-1][1].append(line.rstrip())
        elif line.strip():
            parts.append(("", [line.rstrip()]))
    return parts


def _paragraph(label: str, lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    if label not in {"Bad", "Good"}:
        text = " ".join(line.strip() for line in lines)
        return [f"**{label}:** {text}" if label else text, ""]
    if len(lines) == 1:
        text = lines[0] if "`" in lines[0] else f"`{lines[0]}`"
        return [f"**{label}:** {text}", ""]
    code = [line for line in lines if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in code[1:]), default=0)
    body = [code[0].strip(), *(line[indent:] for line in code[1:])] if code[0].strip() else code
    return [f"**{label}:**", "", "```", *body, "```", ""]
