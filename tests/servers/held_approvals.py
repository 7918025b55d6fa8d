"""A store whose approvals are held at its door until a test lets them in, so that another decision gets there first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from ferrule.contracts.store import ALWAYS, CommitCondition, Committed, Store
from ferrule.model.journal import Entry


class HeldApprovals(NamedTuple):
    """Tells when an approval is about to be committed, and lets it go on."""

    reached: asyncio.Event
    release: asyncio.Event


@contextmanager
def approvals_held(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldApprovals]:
    """Holds every approval of a store just before its commit; everything else is committed at once."""
    held, commit = HeldApprovals(asyncio.Event(), asyncio.Event()), store.commit

    async def commit_when_released(entry: Entry, condition: CommitCondition = ALWAYS) -> Committed:
        if entry.kind == "answered":
            held.reached.set()
            await held.release.wait()
        return await commit(entry, condition)

    with monkeypatch.context() as patch:
        patch.setattr(store, "commit", commit_when_released)
        yield held
