"""`ferrule explain ID`: the whole story of one call, from the ledger."""

from __future__ import annotations

import asyncio
import json
import sys

import click

from ferrule.cli.considered import considered
from ferrule.cli.log import event_line
from ferrule.cli.look import find_call, ledger
from ferrule.cli.names import calls_here
from ferrule.cli.show.json_text import json_text
from ferrule.cli.show.output import has_colour
from ferrule.cli.show.story_text import story_lines
from ferrule.ledger.history.expand import events_of
from ferrule.ledger.history.story import Story, story_of
from ferrule.model.journal import StoredEntry
from ferrule.workspace.workspace import Workspace


@click.command()
@click.argument("call", metavar="ID", shell_complete=calls_here)
@click.option("--events", "as_events", is_flag=True, help="Show the call's events instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs; with --events one object a line.")
@click.option("--workspace", "path", default=".", type=click.Path(), help="Look in the workspace around this path.")
def command(call: str, as_events: bool, as_json: bool, path: str) -> int:
    """Tell the whole story of one call: for whom, the four inputs and what changed them, the decision and its rules, who
    approved, the time of each phase, the result, and the ledger's rows. ID may be shortened; `last` is the newest call.
    """
    workspace = Workspace.open(path)
    rows, news = asyncio.run(_rows(path, call))
    if as_events:
        _print_events(sorted([*rows, *news], key=lambda row: row.seq), workspace.namespace, as_json)
    else:
        _print_story(story_of(rows, news, rules=lambda story: considered(story, workspace)), as_json)
    return 0


def _print_story(story: Story, as_json: bool) -> None:
    if as_json:
        click.echo(json_text(story.to_record()))
        return
    bold = ("\x1b[1m{}\x1b[0m" if has_colour(sys.stdout) else "{}").format
    for line in story_lines(story, bold):
        sys.stdout.write(line + "\n")


async def _rows(path: str, call: str) -> tuple[list[StoredEntry], list[StoredEntry]]:
    async with ledger(path) as store:
        rows = await find_call(store, call)
        return rows, await store.news_of(rows[0].call)


def _print_events(rows: list[StoredEntry], source: str, as_json: bool) -> None:
    for row in rows:
        for event in events_of(row, source=source):
            line = json.dumps(event.to_record(), ensure_ascii=False) if as_json else event_line(event)
            sys.stdout.write(line + "\n")
