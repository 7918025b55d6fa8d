"""`ferrule disconnect PROVIDER`: takes an authorization back, here and at the provider."""

from __future__ import annotations

import click

from ferrule.app.opening import open_app
from ferrule.cli.connection_choice import choose_principal, make_refusal, user_options
from ferrule.cli.loop import run_command
from ferrule.cli.options import workspace_option
from ferrule.contracts.executor import ExecutionFailed
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.infra.credentials.oauth import Disconnection


@click.command()
@click.argument("provider")
@user_options
@workspace_option
def command(provider: str, path: str, principal: str | None, tenant: str) -> None:
    """Take back what was authorized at PROVIDER. Its tokens are forgotten here, and ended there where that is offered."""
    who, gone = run_command(_disconnect(path, provider, principal, tenant))
    if not gone.was_connected:
        click.echo(sanitize(f"{who} was not connected to {provider}"))
        return
    click.echo(sanitize(f"disconnected {who} from {provider}"))
    if not gone.is_revoked:
        click.echo(sanitize(f"note: the provider did not end the tokens: {gone.problem}"), err=True)


async def _disconnect(path: str, provider: str, named: str | None, tenant: str) -> tuple[str, Disconnection]:
    async with open_app(path, tends=False) as app:
        principal = choose_principal(app, named)
        try:
            return principal, await app.authorizations.disconnect(provider, principal, tenant=tenant)
        except ExecutionFailed as failed:
            raise make_refusal(failed) from None
