"""The user of a command about connections, and how connections are shown. For `connect`, `connections` and `disconnect`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from ferrule.access.keys import Access
from ferrule.app.app import App
from ferrule.contracts.executor import ExecutionFailed
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import AccessError, SettingsError, WorkspaceError
from ferrule.infra.credentials.oauth_records import UserConnection
from ferrule.infra.lockfile.oxp_tools import SERVER_DIALECT
from ferrule.model.approval import ADMIN
from ferrule.model.credentials import read_requirements
from ferrule.model.surface import DEFAULT_TENANT


def user_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--principal` and `--tenant`."""
    principal = click.option("--principal", help="On whose behalf; by default as in 'ferrule call'.")
    tenant = click.option("--tenant", default=DEFAULT_TENANT, show_default=True, help="The tenant they belong to.")
    return principal(tenant(command))


def choose_principal(app: App, named: str | None) -> str:
    """Returns the principal of a command. For other people it requires the admin scope. Raises AccessError."""
    own = Access(app.root).local_agent().principal
    if named is None or named == own:
        return own
    owner = Access(app.root).local_owner()
    if named != owner.principal and ADMIN not in owner.scopes:
        raise AccessError(f"{owner.principal} came by {owner.channel}, which does not hold the admin scope")
    return named


def list_wanted_scopes(app: App, provider: str) -> tuple[str, ...]:
    """Returns the scopes that tools of the workspace require of a provider."""
    found: dict[str, None] = {}
    for listed in app.catalog.list_preferred():
        if listed.tool.dialect in ("oxp", SERVER_DIALECT) and listed.tool.credentials is not None:
            required = read_requirements(msgspec.json.decode(listed.tool.credentials))
            found.update(dict.fromkeys(required.authorization.get(provider, ())))
    return tuple(sorted(found))


def format_connection(connection: UserConnection) -> str:
    """Formats a connection as one line."""
    scopes = " ".join(connection.scopes) or "no scopes"
    lasts = "renewed by itself" if connection.is_renewable else _until(connection.expires_at)
    since = f"{datetime.fromtimestamp(connection.connected_at, UTC):%Y-%m-%d}"
    return sanitize(f"{connection.provider}: {connection.principal} since {since}, {lasts}; {scopes}")


def make_refusal(failed: ExecutionFailed) -> WorkspaceError | SettingsError:
    """Makes the error for a provider that cannot be used."""
    kind = SettingsError if failed.error_class == "setup_required" else WorkspaceError
    return kind(failed.message)


def _until(expires_at: float | None) -> str:
    if expires_at is None:
        return "without an end"
    return f"until {datetime.fromtimestamp(expires_at, UTC):%Y-%m-%d %H:%M} UTC"
