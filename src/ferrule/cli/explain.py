"""`ferrule explain ID`: the whole story of one call, from the ledger.

It adds which rules apply, asking the policy as it is written now, without an app: the tool comes from the sealed catalog,
the input from the ledger; none of the workspace's code is run.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

import click

from ferrule.app.preview.rule_review import review_rules
from ferrule.cli.call_lookup import find_call, open_ledger
from ferrule.cli.log import event_line
from ferrule.cli.options import calls_here
from ferrule.cli.show.output import has_colour, json_text
from ferrule.cli.show.story_text import story_lines
from ferrule.contracts.surface import CatalogView
from ferrule.errors import FerruleError
from ferrule.ledger.history.expand import expand_row
from ferrule.model.journal import StoredEntry
from ferrule.model.story import RuleReview, Story
from ferrule.runtime.policy.engine import RuleEngine, make_engine
from ferrule.runtime.policy.load import load_policy
from ferrule.runtime.surface.catalogs import EmptyCatalog, SealedCatalog
from ferrule.workspace.staleness import CATALOG_FILE, load_catalog
from ferrule.workspace.workspace import Workspace


def review_rules_of(story: Story, workspace: Workspace) -> RuleReview:
    """Returns the rules of the present policy, and which match the call. Empty for a call without a decision."""
    if not story.decisions:
        return RuleReview()
    try:
        return asyncio.run(review_rules(story, _load_catalog(workspace), _load_engine(workspace)))
    except FerruleError as error:
        return RuleReview(remark=f"they cannot be told: {error}")


def _load_catalog(workspace: Workspace) -> CatalogView:
    """Loads the sealed catalog; an empty one where none was built."""
    is_built = (workspace.root / CATALOG_FILE).exists()
    return SealedCatalog(load_catalog(workspace)) if is_built else EmptyCatalog()


def _load_engine(workspace: Workspace) -> RuleEngine:
    settings = workspace.settings
    policy = load_policy(
        workspace.root, settings.policy, os.environ, expires_seconds=settings.approval.expires_seconds
    )  # fmt: skip
    return make_engine(policy)


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
    rows, news = asyncio.run(_read_rows(path, call))
    if as_events:
        _print_events(sorted([*rows, *news], key=lambda row: row.seq), workspace.namespace, as_json)
    else:
        story = Story(rows, news)
        story.considered = review_rules_of(story, workspace)
        _print_story(story, as_json)
    return 0


def _print_story(story: Story, as_json: bool) -> None:
    if as_json:
        click.echo(json_text(story.to_record()))
        return
    bold = ("\x1b[1m{}\x1b[0m" if has_colour(sys.stdout) else "{}").format
    for line in story_lines(story, bold):
        sys.stdout.write(line + "\n")


async def _read_rows(path: str, call: str) -> tuple[list[StoredEntry], list[StoredEntry]]:
    async with open_ledger(path) as store:
        rows = await find_call(store, call)
        return rows, await store.news_of(rows[0].call)


def _print_events(rows: list[StoredEntry], source: str, as_json: bool) -> None:
    for row in rows:
        for event in expand_row(row, source=source):
            line = json.dumps(event.to_record(), ensure_ascii=False) if as_json else event_line(event)
            sys.stdout.write(line + "\n")
