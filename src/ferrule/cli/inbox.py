"""The inbox of the person who runs a command, and the tools of the workspace by name.

Used by commands that answer (`pending`, `approve`, `settle`, …) and by `disable` and `enable`. It recovers calls after a
crash first. It does not print.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from ferrule.access.keys import Access
from ferrule.app.app import App
from ferrule.app.opening import open_app
from ferrule.errors import AccessError, WorkspaceError
from ferrule.model.approval import ADMIN, Identity
from ferrule.model.hints import nearest
from ferrule.runtime.approval.inbox import Inbox


class PersonInbox(NamedTuple):
    """A person, their inbox, and the app behind it."""

    app: App
    inbox: Inbox
    identity: Identity


@asynccontextmanager
async def open_inbox(path: str) -> AsyncIterator[PersonInbox]:
    """Opens the inbox of the person who runs a command: of FERRULE_TOKEN, else of the owner of the workspace."""
    async with open_app(path, tends=False) as app:
        identity = Access(app.root).local_owner()
        await app.calls.recover()  # so that what a crash left behind is in the inbox, whoever looks first
        await app.calls.sweep()
        yield PersonInbox(app, app.inbox(identity), identity)


def require_admin(identity: Identity) -> None:
    """Raises AccessError unless this identity may change switches, rules and keys."""
    if ADMIN not in identity.scopes:
        raise AccessError(f"{identity.principal} came by {identity.channel}, which does not hold the admin scope")


async def find_tool(app: App, name: str) -> tuple[str, str]:
    """Returns the id of a tool, and a note about it. A tool that left the catalog can still be switched by its id."""
    ids = list(dict.fromkeys(app.catalog.find_ids(name)))
    off = {switch.tool_id for switch in await app.store.list_disabled()}
    if name in ids or name in off:
        return name, ""
    if len(ids) == 1:
        return ids[0], ""
    if ids:
        raise WorkspaceError(f"{name!r} means several tools: {', '.join(ids)}; name one of them")
    hint = nearest(name, [listed.tool.tool_id for listed in app.catalog.list_preferred()])
    note = f"there is no tool {name!r} in the catalog" + (f" ({hint})" if hint else "")
    return name, f"{note}; should it come, this holds for it"
