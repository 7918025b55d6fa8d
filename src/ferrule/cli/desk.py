"""The desk a person sits down at to answer: the workspace running, and its inbox as theirs. Used by several commands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import click

from ferrule.access import Access
from ferrule.app import App
from ferrule.approval.inbox import Inbox
from ferrule.assembly import open_app
from ferrule.errors import AccessError
from ferrule.model.approval import ADMIN, Identity


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
        yield Desk(app, app.inbox(identity), identity)


def demand_admin(identity: Identity) -> None:
    """Raises AccessError unless this identity may change switches, rules and keys."""
    if ADMIN not in identity.scopes:
        raise AccessError(f"{identity.principal} came by {identity.channel}, which does not hold the admin scope")


def workspace_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--workspace` to a command, as `path`."""
    return click.option(
        "--workspace", "path", default=".", type=click.Path(), help="Use the workspace around this path."
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--json` to a command, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)
