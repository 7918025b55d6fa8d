"""`ferrule serve --import-config FILE`: the servers of a desktop client become servers of the workspace, pinned and governed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from ferrule.access.keys import Access
from ferrule.app.imports.mcp import add_server
from ferrule.app.imports.secret_file import keep_secrets, list_variables
from ferrule.app.lock.pinning import accept_servers, review_servers
from ferrule.app.lock.reviews import ServerReview
from ferrule.cli.loop import run_command
from ferrule.definitions.compiler.seal import KEY_FILE, PUBLIC_FILE, make_key, trust
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.infra.atomic_files import write_whole
from ferrule.infra.lockfile.file import encode_visible, write_lock
from ferrule.settings import FILE_NAME, load_settings
from ferrule.workspace.client_config import ClientServer, read_servers
from ferrule.workspace.workspace import Workspace


def import_servers(path: str, file: str) -> None:
    """Imports the servers of a client: settings, secrets and the pins of their tools. Keeps what the workspace has already.
    Raises FerruleError."""
    root = Workspace.open(path).root
    taken = read_servers(Path(file).expanduser(), list_variables(root), lambda problem: click.echo(problem, err=True))
    known = load_settings(root).mcp.servers
    added = [one for one in taken if one.name not in known]
    _write_settings(root, added)
    keep_secrets(root, {name: value for one in added for name, value in one.secrets.items()})
    if not (root / KEY_FILE).exists():
        trust(root / PUBLIC_FILE, make_key(root / KEY_FILE))
    for one in taken:
        state = "taken over" if one in added else "is in ferrule.toml already, and stays as it is"
        kept = f"; {', '.join(one.secrets)} went into .env" if one in added and one.secrets else ""
        click.echo(f"{one.name}: {state}{kept}", err=True)
        for note in one.notes if one in added else ():
            click.echo(f"{one.name}: note: {sanitize(note)}", err=True)
    _pin(root)
    click.echo(
        f"Now take these servers out of {file} and give the client Ferrule instead: ferrule serve --snippet …\n",
        err=True,
    )


def _pin(root: Path) -> None:
    """Pins new servers; tools that changed since they were pinned stay blocked."""
    click.echo("looking at what they offer …", err=True)
    found = run_command(review_servers(Workspace.open(root)))
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    if any(one.is_first and not one.problem for one in found.servers):
        write_lock(root, accept_servers(found, Access(root).local_owner().principal, at, None, firsts=True))
    for one in found.servers:
        for line in _describe(one):
            click.echo(sanitize(line), err=True)


def _describe(one: ServerReview) -> Iterator[str]:
    if one.problem:
        yield f"{one.key}: cannot be looked at: {one.problem}; mend it, then 'ferrule lock'"
        return
    yield f"{one.key}: {len(one.offered)} tool{'s' * (len(one.offered) != 1)}"
    for name, why in one.unfit.items():
        yield f"  ! {encode_visible(name)} cannot become a tool: {why}"


def _write_settings(root: Path, added: Iterable[ClientServer]) -> None:
    file = root / FILE_NAME
    text = before = file.read_text(encoding="utf-8") if file.exists() else ""
    for one in added:
        text = add_server(text, one.name, one.server)
    if text != before:
        write_whole(file, text.encode())
