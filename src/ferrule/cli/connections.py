"""`ferrule connections`: the authorizations of users, without tokens."""

from __future__ import annotations

import click
import msgspec

from ferrule.access.keys import Access
from ferrule.app.opening import open_app
from ferrule.cli.connection_choice import choose_principal, format_connection, user_options
from ferrule.cli.inbox import require_admin
from ferrule.cli.loop import run_command
from ferrule.cli.options import json_option, workspace_option
from ferrule.cli.show.output import json_text
from ferrule.infra.credentials.oauth_records import UserConnection


@click.command()
@click.option("--all", "everybody", is_flag=True, help="Show all users; requires the admin scope.")
@user_options
@json_option
@workspace_option
def command(path: str, everybody: bool, principal: str | None, tenant: str, as_json: bool) -> None:
    """List what a user has authorized tools to do in their name."""
    found = run_command(_list_connections(path, everybody, principal, tenant))
    if as_json:
        click.echo(json_text(msgspec.to_builtins(found)))
    elif not found:
        click.echo("nothing is authorized; 'ferrule connect PROVIDER' does it", err=True)
    for connection in [] if as_json else found:
        click.echo(format_connection(connection))


async def _list_connections(path: str, everybody: bool, named: str | None, tenant: str) -> list[UserConnection]:
    async with open_app(path, tends=False) as app:
        if everybody:
            require_admin(Access(app.root).local_owner())
            return app.authorizations.list_connections(None)
        return app.authorizations.list_connections(choose_principal(app, named), tenant=tenant)
