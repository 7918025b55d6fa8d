"""`ferrule console`: the console of a workspace that is being served, in the browser."""

from __future__ import annotations

import sys
import webbrowser
from urllib.request import Request, urlopen

import click

from ferrule.access import Access
from ferrule.cli.options import workspace_option
from ferrule.errors import SettingsError
from ferrule.settings import load_settings
from ferrule.workspace import Workspace

_PATIENCE_SECONDS = 3.0


@click.command()
@click.option("--url", help="Where it is served, when that is not what [serve] says.")
@click.option("--no-open", is_flag=True, help="Only print the link.")
@workspace_option
def command(path: str, url: str | None, no_open: bool) -> None:
    """Open the console of the workspace in a browser, signed in as you.

    It has to be served: ferrule serve, in another terminal. The link works once, within ten minutes, and stands for
    FERRULE_TOKEN, else for the owner's token.
    """
    workspace = Workspace.open(path)
    settings = load_settings(workspace.root).serve
    host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)
    at = (url or settings.public_url or f"http://{host}:{settings.port}").rstrip("/")
    if not _is_served(at):
        raise SettingsError(f"nothing answers at {at}; start it with 'ferrule serve', or say where it is with --url")
    link = console_link(Access(workspace.root), at)
    click.echo(link)
    if not no_open and sys.stdout.isatty():
        webbrowser.open(link)


def console_link(access: Access, at: str) -> str:
    """A link that opens the console once, as whoever runs this command. Raises AccessError."""
    return f"{at}/console/login?code={access.sign_in_code()}"


def _is_served(at: str) -> bool:
    try:
        with urlopen(Request(f"{at}/health"), timeout=_PATIENCE_SECONDS) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False
