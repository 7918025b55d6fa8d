"""`ferrule rule [CODE]`: a rule's page, or the list of all rules by standard."""

from __future__ import annotations

import json
import textwrap
from shutil import get_terminal_size

import click

from ferrule.cli.fix import fixable_rules
from ferrule.contracts.rule import RuleInfo
from ferrule.errors import SettingsError
from ferrule.model.hints import nearest
from ferrule.workspace.parts import build_page_url, list_rule_pages

_STANDARDS = {
    "AML": "AML 1.2 (Agent Modeling Language)",
    "ADL": "ADL v1 (Agent Definition Language)",
    "OXP": "OXP 1.0 (Open Tool Calling)",
    "AT": "Agent Tool 0.2.0",
    "FER": "Ferrule itself",
}
_IN_JSON = ("OXP-", "AT-")
"""Standards whose files are JSON, which has no comments."""


def _codes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Completes the codes of rules."""
    return [page.code for page in list_rule_pages() if page.code.startswith(incomplete.upper())]


@click.command()
@click.argument("code", required=False, shell_complete=_codes)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(code: str | None, as_json: bool) -> None:
    """Explain the rule CODE (or its name), or list all rules; of one standard with its prefix (AML, OXP, …)."""
    if code is None or code.upper() in _STANDARDS:
        pages = [page for page in list_rule_pages() if code is None or _standard(page) == code.upper()]
        listed = [_as_dict(page) for page in pages]
        click.echo(_json(listed) if as_json else _list(pages), nl=False)
    else:
        page = find_rule(code)
        click.echo(_json(_as_dict(page)) if as_json else _page(page), nl=False)


def find_rule(word: str) -> RuleInfo:
    """Finds the rule of a code or name, in any letter case. Raises SettingsError with the nearest known one."""
    pages = list_rule_pages()
    wanted = word.lower()
    for page in pages:
        if wanted in (page.code.lower(), page.name.lower()):
            return page
    hint = nearest(word.upper(), [page.code for page in pages]) or nearest(wanted, [page.name for page in pages])
    raise SettingsError(f"there is no rule {word!r}; {hint or '`ferrule rule` lists them all'}")


def _list(pages: list[RuleInfo]) -> str:
    lines = []
    width = max(len(page.code) for page in pages)
    room = min(96, get_terminal_size((120, 24)).columns - width - 13)
    for standard in dict.fromkeys(map(_standard, pages)):  # rules of one standard live in several packages
        lines += [click.style(_STANDARDS.get(standard, standard), bold=True)]
        for page in sorted((page for page in pages if _standard(page) == standard), key=_number):
            summary = textwrap.shorten(page.summary, max(room, 30), placeholder=" …")
            lines.append(f"  {page.code:<{width}}  {page.severity.value:<7}  {summary}")
        lines.append("")
    lines.append("`ferrule rule CODE` explains one of them.")
    return "\n".join(lines) + "\n"


def _standard(page: RuleInfo) -> str:
    return page.code.partition("-")[0]


def _number(page: RuleInfo) -> tuple[int, str]:
    number = page.code.partition("-")[2]
    return int(number) if number.isdecimal() else 0, number


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _page(page: RuleInfo) -> str:
    lines = [
        click.style(f"{page.code} {page.name}", bold=True) + f" ({page.severity.value}, since {page.since})",
        "",
        *textwrap.wrap(page.summary, 100),
    ]
    if page.details:
        lines += ["", *page.details.rstrip().split("\n")]
    if is_fixable(page):
        lines += ["", "Some cases of it are mended by `ferrule check --fix`."]
    return "\n".join([*lines, "", *_suppressing(page.code), "", build_page_url(page.code)]) + "\n"


def _suppressing(code: str) -> list[str]:
    comment = [
        "To live with it in one place, say why in a comment at the end of the line or on the line before:",
        f"    # ferrule: ignore[{code}] the reason",
        "or for many files in ferrule.toml:",
    ]
    if code.startswith(_IN_JSON):
        comment = ["To live with it, say why in ferrule.toml:"]
    return [
        *comment,
        "    [[check.suppress]]",
        f'    rule = "{code}"',
        '    path = "tools/legacy-*"',
        '    reason = "the reason"',
    ]


def is_fixable(page: RuleInfo) -> bool:
    """True when some cases of it can be fixed automatically."""
    return page.code in fixable_rules()


def _as_dict(page: RuleInfo) -> dict[str, object]:
    return {
        "code": page.code,
        "name": page.name,
        "severity": page.severity.value,
        "summary": page.summary,
        "details": page.details,
        "since": page.since,
        "fixable": is_fixable(page),
        "url": build_page_url(page.code),
    }
