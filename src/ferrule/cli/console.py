"""`ferrule console`: the console of a workspace that is being served, in the browser."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import click

from ferrule.access.keys import Access
from ferrule.cli.options import workspace_option
from ferrule.cli.workspace_choice import find_workspace, join_serve_settings, list_addresses
from ferrule.errors import SettingsError
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.request import BrokenAnswer
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.serving import ServeSettings

_PATIENCE_SECONDS = 3.0
_HERE = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}
_WITH_A_SCREEN = ("darwin", "win32")
"""Systems that have a browser to open, wherever a person is at the terminal. The others say so: DISPLAY, or WAYLAND_DISPLAY."""


@click.command()
@click.option("--url", help="The server's address, if it is not found.")
@click.option("--no-open", is_flag=True, help="Only print the link.")
@workspace_option
def command(path: str, url: str | None, no_open: bool) -> None:
    """Open the console of the workspace in a browser, signed in as you.

    It has to be served: ferrule serve, in another terminal. The link works once, within ten minutes, and stands for
    FERRULE_TOKEN, else for the owner's token.
    """
    workspace = find_workspace(path)
    settings = join_serve_settings(workspace)
    at = (url or settings.public_url or find_server(workspace.root, settings)).rstrip("/")
    if not at:
        raise SettingsError(
            "nothing serves this workspace; start it with 'ferrule serve', or say with --url where it is served"
        )
    if not is_served(at):
        raise SettingsError(f"nothing answers at {at}; start it with 'ferrule serve', or say where it is with --url")
    link = make_console_link(Access(workspace.root), at)
    click.echo(link)
    if not no_open and can_open():
        open_browser(link)


def make_console_link(access: Access, at: str) -> str:
    """Makes a link that opens the console once, as the person who runs this command. Raises AccessError."""
    return f"{at}/console/login?code={access.make_sign_in_code()}"


def can_open(environment: Mapping[str, str] = os.environ, system: str = sys.platform) -> bool:
    """True when a person with a screen is here: at a terminal, not in CI, and not over a remote shell."""
    if environment.get("CI") or not sys.stdout.isatty():
        return False
    return system in _WITH_A_SCREEN or bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def open_browser(link: str) -> None:
    """Opens a page, without waiting: some browsers run until they are closed."""
    Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def find_server(root: Path, settings: ServeSettings) -> str:
    """Returns the address of this workspace's server: on the port of the settings, else the newest; empty for none.
    Another workspace may answer on the default port, so only noted addresses count."""
    # Links that sign somebody in lead to this machine, or to where the settings say, whatever a note says.
    trusted = {*_HERE.values(), _host(settings)}
    noted = [(urlsplit(address), address) for address in list_addresses(root)]
    usual_first = sorted(noted, key=lambda note: note[0].port != settings.port)
    return next((address for at, address in usual_first if at.hostname in trusted and is_served(address)), "")


def _host(settings: ServeSettings) -> str:
    return _HERE.get(settings.host, settings.host)


def is_served(address: str) -> bool:
    """True when a server answers at an address, asked without a proxy: that would connect from another machine."""
    try:
        return asyncio.run(_ask_health(parse_url(f"{address}/health"))) == 200
    except (BadUrl, BrokenAnswer, OSError):
        return False


async def _ask_health(target: Target) -> int:
    # The person, or a note of the server itself, names the address: it may be any.
    client = Client(Guard([target.place]))
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS), await client.send("GET", target) as response:
            return response.status
    finally:
        await client.aclose()
