"""What one call has to do with others, and whether its rows in the ledger are what was written."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec

from ferrule.app.custody.paths import ledger_paths
from ferrule.app.custody.rows import RowCheck, check_rows
from ferrule.app.views.past_calls import Rows, calls_holding
from ferrule.ledger.history.membership import membership_in
from ferrule.model.journal import StoredEntry
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.invocations import InvocationBrief, brief, is_hidden_from, own_surface, rows_seen
from ferrule.servers.api.calls.visibility import owner_in, sees
from ferrule.servers.api.reply import Replied, Reply
from ferrule.servers.api.says import says
from ferrule.workspace.workspace import Workspace

_MOST_ROWS = 20_000
_MOST_SHOWN = 50
_MOST_CHECKED = 200


class Relatives(msgspec.Struct, kw_only=True):
    """Calls that belong to one."""

    parent: Annotated[str | None, says("The call whose tool made this one.")]
    retry_of: Annotated[str | None, says("The call that this one repeats.")]
    batch_id: str | None
    index: Annotated[int | None, says("Its place in the batch, counted from 0.")]
    size: Annotated[int | None, says("How many calls the batch has.")]
    children: Annotated[list[InvocationBrief], says("Calls that its tool made.")]
    retries: Annotated[list[InvocationBrief], says("Calls that repeat it.")]
    is_complete: Annotated[bool, says("False when calls that came much later were not looked at.")]


class ChainRow(msgspec.Struct, kw_only=True):
    """One row of the ledger."""

    seq: int
    before: Annotated[str | None, says("The hash of the row before it; none where that row is gone.")]
    hash: str
    is_intact: Annotated[bool | None, says("None where it cannot be told, because the row before it is gone.")]


class ChainState(msgspec.Struct, kw_only=True):
    """The rows of one call, each held against the row before it. Only a check of the whole ledger proves more."""

    is_checked: Annotated[bool, says("False where the workspace keeps no ledger on disk.")]
    is_intact: Annotated[bool, says("True when no row that was checked is other than it was written.")]
    rows: list[ChainRow]
    unchecked: Annotated[int, says("Rows of the call that were too many to check here.")]
    last_seq: Annotated[
        int | None, says("The last row of the ledger. Only for who sees all of it: it tells how much others do.")
    ]


async def list_relatives(ask: Ask) -> Replied:
    """What a call has to do with others."""
    rows, surface, store = await rows_seen(ask), await own_surface(ask), ask.edge.app.store
    notes = _notes(rows)
    place = membership_in([notes])
    began = await store.seq_at(rows[0].segment().created_at) - 1
    named = ask.invocation_id.encode()
    found = await calls_holding(store, named, after=began, most_rows=_MOST_ROWS)
    seen = [other for other in found if other[0].call != ask.invocation_id and sees(ask.caller, owner_in(other))]
    last = await store.rows_before(None, 1)

    def related(name: str) -> list[InvocationBrief]:
        fitting = [other for other in seen if _notes(other).get(name) == ask.invocation_id]
        return [brief(other, is_hidden=is_hidden_from(surface, other)) for other in fitting[:_MOST_SHOWN]]

    return Reply(
        Relatives(
            parent=_text(notes.get("parent")),
            retry_of=_text(notes.get("retry_of")),
            batch_id=place.batch_id if place else None,
            index=place.index if place else None,
            size=place.size if place else None,
            children=related("parent"),
            retries=related("retry_of"),
            is_complete=not last or last[0].seq <= began + _MOST_ROWS,
        ),
        is_final=False,
    )


def _notes(rows: Rows) -> dict[str, Any]:
    return {name: value for row in rows for name, value in row.segment().notes.items()}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


async def check_chain(ask: Ask) -> Replied:
    """Hold the rows of a call against the rows before them."""
    rows, surface, app = await rows_seen(ask), await own_surface(ask), ask.edge.app
    mine: list[StoredEntry] = []
    if not is_hidden_from(surface, rows):
        mine = sorted([*rows, *await app.store.news_of(ask.invocation_id)], key=lambda row: row.seq)
    ledger = ledger_paths(Workspace.open(app.root)).ledger
    last = await app.store.rows_before(None, 1) if ask.caller.sees_all else None
    checks: list[RowCheck] = []
    is_there = ledger.is_file()
    if is_there:
        checks = await asyncio.to_thread(check_rows, ledger, [row.seq for row in mine[:_MOST_CHECKED]])
    missing = {row.seq for row in mine[:_MOST_CHECKED]} - {check.seq for check in checks}
    state = ChainState(
        is_checked=is_there,
        is_intact=is_there and not missing and all(check.is_intact is not False for check in checks),
        rows=[_row(check) for check in checks],
        unchecked=max(0, len(mine) - _MOST_CHECKED),
        last_seq=None if last is None else last[0].seq if last else 0,
    )
    return Reply(state, is_final=False)


def _row(check: RowCheck) -> ChainRow:
    before = None if check.before is None else check.before.hex()
    return ChainRow(seq=check.seq, before=before, hash=check.hash.hex(), is_intact=check.is_intact)
