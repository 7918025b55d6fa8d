"""`ferrule log`: the latest calls, by whom, and how they ended; with `--follow`, new ones as they come."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import NamedTuple

import click

from ferrule.cli.call_lookup import format_clock, format_duration, list_latest_rows, open_ledger, rows_of
from ferrule.cli.show.output import has_colour
from ferrule.contracts.store import Store
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.history.summary import Brief, read_brief
from ferrule.model.event import Event
from ferrule.model.journal import StoredEntry
from ferrule.model.lifecycle import STATES, TERMINAL
from ferrule.workspace.workspace import Workspace

_LOOK_SECONDS = 1.0
_PAGE = 200
_COLOURS = {"succeeded": "\x1b[32m", "awaiting_approval": "\x1b[33m", "running": "\x1b[33m", "needs_input": "\x1b[33m"}
_RED = "\x1b[31m"
_TOLD = frozenset({"call", "parked", "ended", "unknown"})
"""Kinds of rows that are news to somebody who watches: a call ended, or waits for a person."""


class LogFilter(NamedTuple):
    """A filter on calls."""

    tool: str | None = None
    status: str | None = None
    principal: str | None = None

    def has_tool(self, row: StoredEntry) -> bool:
        """True when the row is about a wanted tool: by id, or by name alone."""
        return self.tool is None or row.tool == self.tool or row.tool.endswith(f".{self.tool}")

    def fits(self, brief: Brief) -> bool:
        """True when the call is wanted."""
        return self.status in (None, brief.status) and self.principal in (None, brief.principal)


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Keep showing new calls, of any process, until Ctrl-C.")
@click.option("-n", "count", default=20, show_default=True, type=click.IntRange(0), help="How many to show.")
@click.option("--tool", help="Only calls of this tool (id or name).")
@click.option(
    "--status", type=click.Choice(STATES), metavar="STATUS", help="Only calls in this state: denied, failed, …"
)
@click.option("--principal", help="Only calls on behalf of this person or program.")
@click.option("--events", "as_events", is_flag=True, help="Show events instead of calls.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, for programs.")
@click.option("--workspace", "path", default=".", type=click.Path(), help="Look in the workspace around this path.")
def command(
    follow: bool,
    count: int,
    tool: str | None,
    status: str | None,
    principal: str | None,
    as_events: bool,
    as_json: bool,
    path: str,
) -> int:
    """List the latest calls, the newest last: when, id, tool, for whom, how it ended, how long it took, the decision.

    `ferrule explain ID` tells the whole story of one of them.
    """
    wanted = LogFilter(tool, status, principal)
    source = Workspace.open(path).namespace
    try:
        asyncio.run(_log(path, count, wanted, _Printer(as_json, source if as_events else None), follow))
    except KeyboardInterrupt:
        if not follow:
            raise
    return 0


class _Printer:
    """Writes calls, or the events of rows where a source is given."""

    def __init__(self, as_json: bool, source: str | None) -> None:
        self.as_json = as_json
        self.source = source
        self.has_written = False
        self._in_colour = has_colour(sys.stdout)

    def call(self, brief: Brief) -> None:
        self._write(json.dumps(brief.to_record(), ensure_ascii=False) if self.as_json else self._line(brief))

    def event(self, event: Event) -> None:
        record = event.to_record()
        self._write(json.dumps(record, ensure_ascii=False) if self.as_json else event_line(event))

    def _write(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        self.has_written = True

    def _line(self, brief: Brief) -> str:
        status = f"{brief.status:<19}"
        if self._in_colour:
            colour = _COLOURS.get(brief.status, _RED if brief.status in TERMINAL else "")
            status = f"{colour}{status}\x1b[0m" if colour else status
        words = (
            format_clock(brief.at),
            brief.invocation_id,
            f"{sanitize(brief.tool_id):<24}",
            f"{sanitize(brief.principal):<10}",
        )
        why = f"{brief.decision or '-':<8} {brief.error_code or ''}"
        return f"{'  '.join(words)}  {status} {format_duration(brief.duration_ms):>9}  {sanitize(why)}".rstrip()


def event_line(event: Event) -> str:
    """Formats an event as one line."""
    data = event.data
    said = [
        str(data[name]) for name in ("behavior", "status", "hook_id", "change", "to", "error_class") if name in data
    ]
    said += [f"{data['percent']:g}%"] if isinstance(data.get("percent"), int | float) else []
    said += [str(data[name]) for name in ("abort_reason", "why") if name in data]
    about = event.invocation_id or event.subject or ""
    words = [
        format_clock(event.time),
        f"{event.event_type:<34}",
        f"{sanitize(event.tool_id or '-'):<24}",
        sanitize(about),
    ]
    return "  ".join([*words, sanitize(" ".join(said))]).rstrip()


async def _log(path: str, count: int, wanted: LogFilter, printer: _Printer, follow: bool) -> None:
    async with open_ledger(path) as store:
        # Read before the listing: a call that ends meanwhile may be shown twice, and is never missed.
        newest = await store.rows_before(None, 1)
        seq = newest[0].seq if newest else 0
        if printer.source is None:
            for brief in await latest_calls(store, count, wanted):
                printer.call(brief)
        else:
            for event in await _latest_events(store, count, wanted, printer.source):
                printer.event(event)
        if follow:
            await _follow(store, seq, wanted, printer)
        elif not printer.has_written and not printer.as_json:
            sys.stdout.write("no calls found\n")


async def latest_calls(store: Store, count: int, wanted: LogFilter) -> list[Brief]:
    """Returns the latest wanted calls, the newest last."""
    found: list[Brief] = []
    async for row in list_latest_rows(store):
        if len(found) >= count:
            break
        if wanted.has_tool(row) and wanted.status in (None, row.outcome):
            brief = read_brief(await rows_of(store, row))
            if wanted.fits(brief):
                found.append(brief)
    # Oldest first before the sorting, which keeps the order of calls of the same microsecond.
    found.reverse()
    return sorted(found, key=lambda brief: brief.at)


async def _latest_events(store: Store, count: int, wanted: LogFilter, source: str) -> list[Event]:
    found: list[Event] = []
    before: int | None = None
    while len(found) < count and (rows := await store.rows_before(before, _PAGE)):
        before = rows[-1].seq
        for row in rows:
            if len(found) < count and await _is_wanted(store, row, wanted):
                found[:0] = expand_row(row, source=source)
    return found[-count:] if count else []


async def _is_wanted(store: Store, row: StoredEntry, wanted: LogFilter) -> bool:
    if not wanted.has_tool(row):
        return False
    if wanted.status is None and wanted.principal is None:
        return True
    rows = await rows_of(store, row) if row.call else []
    return bool(rows) and wanted.fits(read_brief(rows))


async def _follow(store: Store, seq: int, wanted: LogFilter, printer: _Printer) -> None:
    sys.stdout.flush()
    async for row in _rows_from(store, seq):
        if printer.source is not None and await _is_wanted(store, row, wanted):
            for event in expand_row(row, source=printer.source):
                printer.event(event)
        elif printer.source is None and row.kind in _TOLD and wanted.has_tool(row):
            rows = await rows_of(store, row)
            # As the call stood at this row: its later rows get lines of their own.
            brief = read_brief([earlier for earlier in rows if earlier.seq <= row.seq])
            if wanted.fits(brief):
                printer.call(brief)
        sys.stdout.flush()


async def _rows_from(store: Store, seq: int) -> AsyncIterator[StoredEntry]:
    while True:
        rows = await store.rows_after(seq, _PAGE)
        for row in rows:
            yield row
            seq = row.seq
        if not rows:
            await store.wait_after(seq, _LOOK_SECONDS)
