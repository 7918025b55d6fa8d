"""The desk a person sits down at to answer: the workspace running, and its inbox as theirs. Used by several commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from ferrule.access.keys import Access
from ferrule.app.app import App
from ferrule.app.assembly import open_app
from ferrule.errors import AccessError
from ferrule.model.approval import ADMIN, Identity
from ferrule.runtime.approval.inbox import Inbox


class Desk(NamedTuple):
    """Who sits there, and what they have in front of them."""

    app: App
    inbox: Inbox
    identity: Identity


@asynccontextmanager
async def sit_down(path: str) -> AsyncIterator[Desk]:
    """The desk of whoever runs a command: FERRULE_TOKEN, else the owner of the workspace."""
    async with open_app(path, tends=False) as app:
        identity = Access(app.root).local_owner()
        await app.calls.recover()  # so that what a crash left behind is in the inbox, whoever looks first
        await app.calls.sweep()
        yield Desk(app, app.inbox(identity), identity)


def demand_admin(identity: Identity) -> None:
    """Raises AccessError unless this identity may change switches, rules and keys."""
    if ADMIN not in identity.scopes:
        raise AccessError(f"{identity.principal} came by {identity.channel}, which does not hold the admin scope")
