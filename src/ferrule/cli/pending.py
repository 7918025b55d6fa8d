"""`ferrule pending`: the calls that wait for a person."""

from __future__ import annotations

import asyncio
import json
import sys

import click

from ferrule.cli.desk import Desk, sit_down
from ferrule.cli.options import json_option, workspace_option
from ferrule.cli.show.cards import card
from ferrule.cli.show.output import has_colour
from ferrule.runtime.approval.waiting import Waiting

_ANSWERS = (
    ("approval", "'ferrule approve ID' or 'ferrule reject ID --reason WHY'"),
    ("input", "'ferrule answer ID ANSWER' or 'ferrule delegate ID PERSON'"),
    ("outcome", "'ferrule settle ID --happened --reason HOW' (or --did-not-happen)"),
)
"""How to answer, by what is asked."""
_LOOK_SECONDS = 1.0


@click.command()
@click.option("--watch", is_flag=True, help="Stay, and show the list again whenever it changes; Ctrl-C ends it.")
@json_option
@workspace_option
def command(path: str, as_json: bool, watch: bool) -> int:
    """List the calls that wait for a person, oldest first: what each would do, who asks, why, and until when."""
    try:
        asyncio.run(_pending(path, as_json, watch))
    except KeyboardInterrupt:
        if not watch:
            raise
        sys.stderr.write("\n")
    return 0


async def _pending(path: str, as_json: bool, watch: bool) -> None:
    async with sit_down(path) as desk:
        items = await desk.inbox.pending()
        show(items, as_json)
        while watch:
            items = await _changed(desk, items)
            if sys.stdout.isatty() and not as_json:
                sys.stdout.write("\x1b[2J\x1b[H")
            show(items, as_json)


async def _changed(desk: Desk, before: list[Waiting]) -> list[Waiting]:
    """The list, once it is another one."""
    while True:
        newest = await desk.app.store.rows_before(None, 1)
        items = await desk.inbox.pending()
        if [_state(item) for item in items] != [_state(item) for item in before]:
            return items
        await desk.app.store.wait_after(newest[0].seq if newest else 0, _LOOK_SECONDS)


def _state(item: Waiting) -> tuple[object, ...]:
    request, counts = item.request, (len(item.approvals), len(item.delegations))
    return request.invocation_id, request.requested_at, item.state, item.binding, counts, item.will_not_run


def show(items: list[Waiting], as_json: bool) -> None:
    """Print the list."""
    if as_json:
        click.echo(json.dumps([item.to_dict() for item in items], indent=2, ensure_ascii=False))
    else:
        in_colour = has_colour(sys.stdout)
        sys.stdout.writelines(card(item, in_colour=in_colour) + "\n" for item in items)
        sys.stdout.write(_summary(items))
    sys.stdout.flush()


def _summary(items: list[Waiting]) -> str:
    if not items:
        return "nothing waits for a person\n"
    noun = "1 call waits" if len(items) == 1 else f"{len(items)} calls wait"
    asked = {item.request.purpose for item in items}
    return f"{noun}; answer with {' or '.join(words for purpose, words in _ANSWERS if purpose in asked)}\n"
