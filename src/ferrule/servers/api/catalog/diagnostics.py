"""What `ferrule check` finds in the definitions of the workspace, with the lines it is about; for who administers it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec

from ferrule.errors import FerruleError
from ferrule.model.diagnostic import Diagnostic, Summary
from ferrule.model.timestamps import iso
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.catalog.catalog_cache import bookcase
from ferrule.servers.api.replies import Problem, Replied, Reply, link_header, next_link
from ferrule.servers.api.shapes import Limit, says
from ferrule.workspace.check_cache import Checked, DefinitionPlace, rule_names

Word = Annotated[str, msgspec.Meta(max_length=500)]


class DiagnosticsQuery(msgspec.Struct, kw_only=True):
    """Which findings."""

    limit: Limit = 50
    cursor: Annotated[Annotated[int, msgspec.Meta(ge=0, le=10**9)] | None, says("Go on after so many findings.")] = None
    tool_id: Annotated[Word | None, says("Only findings about this tool.")] = None
    file: Annotated[Word | None, says("Only findings in this file, as answers name it.")] = None
    severity: Annotated[Literal["error", "warning", "info"] | None, says("Only findings so bad.")] = None


class SourceLineState(msgspec.Struct, kw_only=True):
    """One line of a definition."""

    number: int
    text: Annotated[str, says("Cut where it is long; secrets are masked.")]
    start: Annotated[int | None, says("Where in `text` what is wrong begins; null for a line around it.")]
    end: Annotated[int | None, says("Just past its last character.")]


class DiagnosticState(msgspec.Struct, kw_only=True):
    """One mistake, at its place."""

    rule: str
    name: Annotated[str, says("What the rule is called.")]
    severity: str
    file: Annotated[str, says("Relative to the workspace.")]
    line: int
    column: int
    end_line: int
    end_column: int
    path: Annotated[str, says("Where in the definition, dotted.")]
    message: str
    hint: Annotated[str | None, says("What to do about it.")]
    url: str | None
    tools: Annotated[list[str], says("The ids of the tools the file is about.")]
    source: Annotated[
        list[SourceLineState], says("The line and a few around it; none of files that are no definitions.")
    ]


class DiagnosticSummary(Summary, frozen=True, kw_only=True):
    """The whole check in numbers."""

    checked_at: str


class DiagnosticPage(msgspec.Struct, kw_only=True):
    """Findings in reading order: by file, line and column."""

    items: list[DiagnosticState]
    matched: Annotated[int, says("Findings that were asked for, on all pages.")]
    summary: DiagnosticSummary
    definitions: Annotated[list[DefinitionPlace], says("Where the tool that was asked for is written.")]
    next: Annotated[str | None, says("Where the next page is.")] = None


async def list_diagnostics(ask: Ask) -> Replied:
    """What is wrong with the definitions, as their files are now."""
    wanted, skip = ask.query(DiagnosticsQuery), ask.query(DiagnosticsQuery).cursor or 0
    try:
        checked = await bookcase(ask.edge.app).checks.fresh()
    except FerruleError as error:
        told = str(error).replace(str(ask.edge.app.root), "").strip()
        raise Problem(409, "not_checked", f"the definitions cannot be checked: {told}") from None
    page = await asyncio.to_thread(_page, checked, wanted, skip)
    if page.matched <= skip + wanted.limit:
        return Reply(page)
    page.next = next_link("/v1/catalog/diagnostics", ask.pairs, str(skip + wanted.limit))
    return Reply(page, headers=(link_header(page.next),))


def _page(checked: Checked, wanted: DiagnosticsQuery, skip: int) -> DiagnosticPage:
    found = checked.diagnostics if wanted.tool_id is None else checked.by_tool.get(wanted.tool_id, ())
    kept = [
        each for each in found if wanted.file in (None, each.file) and wanted.severity in (None, each.severity.value)
    ]
    names = rule_names()
    places = checked.definitions_of(wanted.tool_id) if wanted.tool_id is not None else []
    return DiagnosticPage(
        items=[_state(checked, each, names.get(each.rule, "")) for each in kept[skip : skip + wanted.limit]],
        matched=len(kept),
        summary=_summary(checked),
        definitions=places,
    )


def _state(checked: Checked, found: Diagnostic, name: str) -> DiagnosticState:
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
        tools=list(checked.tools_of(found.file)),
        source=[
            SourceLineState(number=line.number, text=line.text, start=line.start, end=line.end)
            for line in checked.excerpt(found)
        ],
    )


def _summary(checked: Checked) -> DiagnosticSummary:
    return DiagnosticSummary(**msgspec.structs.asdict(checked.summary), checked_at=iso(checked.checked_at))
