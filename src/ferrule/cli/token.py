"""`ferrule token`: who may do what here: makes, lists and ends the tokens of people and agents."""

from __future__ import annotations

import json

import click
import msgspec

from ferrule.access import Access, Token
from ferrule.cli.options import json_option, workspace_option
from ferrule.model.approval import SCOPES
from ferrule.workspace import Workspace


@click.group()
def command() -> None:
    """Make, list and revoke tokens.

    A token stands for a person. Its scopes say what it may do: `call` tools, `approve` calls, `admin` (rules, switches,
    tokens). Commands use the owner's token, or the one in FERRULE_TOKEN.
    """


@command.command()
@click.argument("person")
@click.option("--scope", "scopes", type=click.Choice(SCOPES), multiple=True, required=True, help="What it may do.")
@click.option("--group", "groups", multiple=True, help="A group the person belongs to.")
@workspace_option
def add(person: str, path: str, scopes: tuple[str, ...], groups: tuple[str, ...]) -> None:
    """Make a token for PERSON and print it. It is shown this once: only its digest is kept."""
    access = Access(Workspace.open(path).root)
    token, secret = access.add(access.local_owner(), person, scopes, groups)
    click.echo(f"token {token.id} of {token.person}; it is shown this once:", err=True)
    click.echo(secret)


@command.command("list")
@json_option
@workspace_option
def list_tokens(path: str, as_json: bool) -> None:
    """List every token, without secrets."""
    tokens = Access(Workspace.open(path).root).tokens()
    if as_json:
        click.echo(json.dumps([_as_dict(token) for token in tokens], indent=2, ensure_ascii=False))
        return
    rows = [("id", "person", "scopes", "groups", "made", "state"), *(_row(token) for token in tokens)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


@command.command()
@click.argument("token", metavar="ID")
@workspace_option
def revoke(token: str, path: str) -> None:
    """End the token ID (the beginning of an id is enough), at once and everywhere."""
    access = Access(Workspace.open(path).root)
    ended = access.revoke(access.local_owner(), token)
    click.echo(f"revoked token {ended.id} of {ended.person}")


def _row(token: Token) -> tuple[str, ...]:
    state = f"revoked {token.revoked}" if token.revoked else "valid"
    return token.id, token.person, ",".join(token.scopes), ",".join(token.groups) or "-", token.created, state


def _as_dict(token: Token) -> dict[str, object]:
    record: dict[str, object] = msgspec.to_builtins(token)
    return {key: value for key, value in record.items() if key != "digest"}
