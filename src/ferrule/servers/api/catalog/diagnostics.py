"""Findings of `ferrule check` in the workspace's definitions, with the lines around them, for operators.

`workspace/check_cache` makes the check. It shows no secret and no file outside the workspace.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec

from ferrule.errors import FerruleError
from ferrule.model.diagnostic import Diagnostic, Summary
from ferrule.model.timestamps import iso
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.catalog.catalog_cache import find_catalog_cache
from ferrule.servers.api.replies import AnyReply, JsonReply, Problem, link_header, next_link
from ferrule.servers.api.shapes import Limit, describe
from ferrule.workspace.check_cache import CheckOutcome, DefinitionPlace, list_rule_names

Word = Annotated[str, msgspec.Meta(max_length=500)]


class DiagnosticsQuery(msgspec.Struct, kw_only=True):
    """Filters for findings."""

    limit: Limit = 50
    cursor: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=10**9)] | None, describe("Go on after so many findings.")
    ] = None
    tool_id: Annotated[Word | None, describe("Only findings about this tool.")] = None
    file: Annotated[Word | None, describe("Only findings in this file, as answers name it.")] = None
    severity: Annotated[Literal["error", "warning", "info"] | None, describe("Only findings so bad.")] = None


class SourceLineState(msgspec.Struct, kw_only=True):
    """One line of a definition."""

    number: int
    text: Annotated[str, describe("Cut where it is long; secrets are masked.")]
    start: Annotated[int | None, describe("Where in `text` what is wrong begins; null for a line around it.")]
    end: Annotated[int | None, describe("Just past its last character.")]


class DiagnosticState(msgspec.Struct, kw_only=True):
    """One finding at its place."""

    rule: str
    name: Annotated[str, describe("What the rule is called.")]
    severity: str
    file: Annotated[str, describe("Relative to the workspace.")]
    line: int
    column: int
    end_line: int
    end_column: int
    path: Annotated[str, describe("Where in the definition, dotted.")]
    message: str
    hint: Annotated[str | None, describe("What to do about it.")]
    url: str | None
    tools: Annotated[list[str], describe("The ids of the tools the file is about.")]
    source: Annotated[
        list[SourceLineState], describe("The line and a few around it; none of files that are no definitions.")
    ]


class DiagnosticSummary(Summary, frozen=True, kw_only=True):
    """The check in numbers."""

    checked_at: str


class DiagnosticPage(msgspec.Struct, kw_only=True):
    """Findings in reading order: by file, line and column."""

    items: list[DiagnosticState]
    matched: Annotated[int, describe("Findings that were asked for, on all pages.")]
    summary: DiagnosticSummary
    definitions: Annotated[list[DefinitionPlace], describe("Where the tool that was asked for is written.")]
    next: Annotated[str | None, describe("Where the next page is.")] = None


async def list_diagnostics(ask: Ask) -> AnyReply:
    """Lists the findings in the definitions as their files are now."""
    wanted, skip = ask.query(DiagnosticsQuery), ask.query(DiagnosticsQuery).cursor or 0
    try:
        checked = await find_catalog_cache(ask.edge.app).checks.check_now()
    except FerruleError as error:
        problem = str(error).replace(str(ask.edge.app.root), "").strip()
        raise Problem(409, "not_checked", f"the definitions cannot be checked: {problem}") from None
    page = await asyncio.to_thread(_select_page, checked, wanted, skip)
    if page.matched <= skip + wanted.limit:
        return JsonReply(page)
    page.next = next_link("/v1/catalog/diagnostics", ask.pairs, str(skip + wanted.limit))
    return JsonReply(page, headers=(link_header(page.next),))


def _select_page(checked: CheckOutcome, wanted: DiagnosticsQuery, skip: int) -> DiagnosticPage:
    found = checked.diagnostics if wanted.tool_id is None else checked.by_tool.get(wanted.tool_id, ())
    kept = [
        each for each in found if wanted.file in (None, each.file) and wanted.severity in (None, each.severity.value)
    ]
    names = list_rule_names()
    places = checked.list_definitions(wanted.tool_id) if wanted.tool_id is not None else []
    return DiagnosticPage(
        items=[_encode_finding(checked, each, names.get(each.rule, "")) for each in kept[skip : skip + wanted.limit]],
        matched=len(kept),
        summary=_summarize(checked),
        definitions=places,
    )


def _encode_finding(checked: CheckOutcome, found: Diagnostic, name: str) -> DiagnosticState:
    return DiagnosticState(
        rule=found.rule,
        name=name,
        severity=found.severity.value,
        file=found.file,
        line=found.line,
        column=found.column,
        end_line=found.end_line,
        end_column=found.end_column,
        path=found.path,
        message=found.message,
        hint=found.hint,
        url=found.url,
        tools=list(checked.list_tools(found.file)),
        source=[
            SourceLineState(number=line.number, text=line.text, start=line.start, end=line.end)
            for line in checked.build_excerpt(found)
        ],
    )


def _summarize(checked: CheckOutcome) -> DiagnosticSummary:
    return DiagnosticSummary(**msgspec.structs.asdict(checked.summary), checked_at=iso(checked.checked_at))
