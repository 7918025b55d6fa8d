"""A process of its own that uses a ledger, and tells on its standard output what it was told, as soon as it was.

`python -m tests.ledger.stores.child WORK PATH KEYFILE NAME`: one line for each thing that happened, a word and a call id.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.store import CommitCondition
from ferrule.errors import LedgerUnavailable, OutcomeUnrecorded
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.journal import Entry
from tests.ledger.stores.entries import make_ended, make_entry, make_running

_ROUNDS = 60


def tell(word: str, call: str = "-") -> None:
    """One line, in one write: it is in the pipe even if we die right after."""
    os.write(1, f"{word} {call}\n".encode())


async def work_until_killed(store: SqliteStore, name: str) -> None:
    """Actions in four tasks, reads in between, for as long as it lives."""
    await asyncio.gather(*(_act_on(store, f"{name}-{task}") for task in range(4)))


async def _act_on(store: SqliteStore, name: str) -> None:
    number = 0
    while True:
        call = f"{name}-{number}"
        await store.commit(
            make_running(call, store.instance, key=call.encode(), counted_run=name), CommitCondition(key_is_free=True)
        )
        tell("started", call)
        store.record(make_entry(f"{call}-read"))
        await store.commit(make_ended(call), CommitCondition(states=frozenset({"running"}), owner=store.instance))
        tell("ended", call)
        number += 1


async def claim(store: SqliteStore, name: str) -> None:
    """Take up every approved call there is; tell which were ours."""
    sys.stdin.readline()  # the starting signal, so that all begin together
    for call in await store.open_calls("approved"):
        won = await store.commit(
            make_running(call.call, store.instance), CommitCondition(states=frozenset({"approved"}))
        )
        tell("won" if won.outcome == "written" else "lost", call.call)


async def go_on_through_failures(store: SqliteStore, name: str) -> None:
    """Commit one row after the other, whatever the disk does; tell each answer. In the end the disk is well again."""
    for number in range(_ROUNDS):
        tell(await _answer(store, make_entry(f"{name}-{number}")), f"{name}-{number}")
        try:
            store.record(make_entry(f"{name}-{number}-read"))
            tell("accepted", f"{name}-{number}-read")
        except LedgerUnavailable:
            tell("refused", f"{name}-{number}-read")
    while await _answer(store, make_entry(f"{name}-last")) != "written":
        await asyncio.sleep(0.02)
    tell("written", f"{name}-last")


async def die_after_a_failure(store: SqliteStore, name: str) -> None:
    """Commit one row after the other; die as soon as one could not be written."""
    for number in range(_ROUNDS):
        call = f"{name}-{number}"
        answer = await _answer(store, make_entry(call))
        tell(answer, call)
        if answer != "written":
            os.kill(os.getpid(), signal.SIGKILL)


async def _answer(store: SqliteStore, row: Entry) -> str:
    try:
        return (await store.commit(row)).outcome
    except LedgerUnavailable:
        return "unavailable"
    except OutcomeUnrecorded:
        return "unrecorded"


WORKS = {
    "kill": work_until_killed,
    "claim": claim,
    "fail": go_on_through_failures,
    "die": die_after_a_failure,
}


async def main(work: str, path: str, key: str, name: str) -> None:
    """Open, work, close."""
    store = SqliteStore(Path(path), Ed25519PrivateKey.from_private_bytes(Path(key).read_bytes()), behind_seconds=0.02)
    await store.open()
    tell("open")
    await WORKS[work](store, name)
    await store.aclose()
    tell("closed")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:5]))
