"""`ferrule connect PROVIDER`: lets a user authorize tools to act in their name, with a browser and a port of this machine."""

from __future__ import annotations

import asyncio
import time
import webbrowser
from urllib.parse import urlsplit

import click
import msgspec

from ferrule.app.app import App
from ferrule.app.opening import open_app
from ferrule.cli.caller import parse_seconds
from ferrule.cli.connection_choice import (
    choose_principal,
    format_connection,
    list_wanted_scopes,
    make_refusal,
    user_options,
)
from ferrule.cli.loop import run_command
from ferrule.cli.options import json_option, workspace_option
from ferrule.cli.show.output import json_text
from ferrule.contracts.executor import ExecutionFailed
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import WorkspaceError
from ferrule.infra.credentials.oauth_records import Challenge, UserConnection

_LOOK_EVERY = 0.1


@click.command()
@click.argument("provider")
@click.option("--scope", "scopes", multiple=True, help="Request this scope, too.")
@click.option("--browser", is_flag=True, help="Open the address in a browser.")
@click.option("--again", is_flag=True, help="Authorize again, even if it is not needed.")
@click.option("--timeout", type=float, default=300.0, show_default=True, metavar="SECONDS", callback=parse_seconds,
              help="How long to wait for the user.")  # fmt: skip
@user_options
@json_option
@workspace_option
def command(
    provider: str,
    path: str,
    scopes: tuple[str, ...],
    browser: bool,
    again: bool,
    timeout: float,
    principal: str | None,
    tenant: str,
    as_json: bool,
) -> int:
    """Authorize the tools that require PROVIDER (a table [oauth.PROVIDER] of ferrule.toml) to act in your name.

    Prints an address to visit and waits until the browser comes back. Tokens are kept encrypted and never shown.
    """
    connection = run_command(_connect(path, provider, scopes, browser, again, timeout, principal, tenant))
    if as_json:
        click.echo(json_text(msgspec.to_builtins(connection)))
    else:
        click.echo(f"connected {format_connection(connection)}")
    return 0


async def _connect(
    path: str,
    provider: str,
    scopes: tuple[str, ...],
    browser: bool,
    again: bool,
    timeout: float,
    named: str | None,
    tenant: str,
) -> UserConnection:
    async with open_app(path, tends=False) as app:
        principal = choose_principal(app, named)
        wanted = (*list_wanted_scopes(app, provider), *scopes)
        try:
            if again or app.user_tokens.problem(provider, principal, wanted, tenant=tenant):
                challenge = await app.authorizations.begin(provider, principal, wanted, tenant=tenant)
                _show(app, challenge, browser)
                await _wait(app, challenge, timeout)
        except ExecutionFailed as failed:
            raise make_refusal(failed) from None
        found = app.authorizations.list_connections(principal, tenant=tenant)
        return next(one for one in found if one.provider == provider)


def _show(app: App, challenge: Challenge, browser: bool) -> None:
    click.echo(
        f"visit this address to authorize {sanitize(challenge.id)}:\n\n  {sanitize(challenge.url)}\n",
        err=True,
    )
    back = app.authorizations.provider(challenge.id).redirect_uri
    if back and urlsplit(back).hostname not in ("127.0.0.1", "localhost"):
        click.echo(f"the browser comes back to {sanitize(back)}; what is there has to finish it", err=True)
    if browser and not webbrowser.open(challenge.url):
        click.echo("there is no browser to open here; open the address yourself", err=True)


async def _wait(app: App, challenge: Challenge, timeout: float) -> None:
    """Waits until the authorization is complete. Raises WorkspaceError."""
    until = time.monotonic() + timeout
    while (status := app.authorizations.status(challenge.state)) == "pending":
        if time.monotonic() >= until:
            raise WorkspaceError(f"nobody authorized it within {timeout:g} seconds; begin again when there is time")
        await asyncio.sleep(_LOOK_EVERY)
    if status == "failed":
        raise WorkspaceError(f"not connected: {app.authorizations.problem(challenge.state)}")
