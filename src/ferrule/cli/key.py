"""`ferrule key`, also `ferrule token`: makes, lists, renews and ends the keys of people, agents and programs.

A key says who may do what here. `access/keys` keeps them; a secret is shown once.
"""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime

import click
import msgspec

from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits, Token, format_moment
from ferrule.cli.options import json_option, workspace_option
from ferrule.cli.workspace_choice import find_workspace
from ferrule.model.approval import CALL, SCOPES
from ferrule.workspace.workspace import Workspace

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_NEVER_SHOWN = ("digest", "previous")


def _parse_seconds(context: click.Context, option: click.Parameter, text: str) -> float:
    """Parses a duration: `90d`, `12h`, `30m`."""
    match = re.fullmatch(r"(\d{1,6})([smhdw])|0", text.strip().lower())
    if match is None:
        raise click.BadParameter(f"{text!r} is no length of time; write it like 90d, 12h, 30m or 45s")
    return float(match[1]) * _UNITS[match[2]] if match[1] else 0.0


def _parse_moment(context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """Parses a moment, in seconds since 1970: a duration from now on, a day, or a time (RFC 3339)."""
    if text is None:
        return None
    if re.fullmatch(r"\d{1,6}[smhdw]", text.strip().lower()):
        return time.time() + _parse_seconds(context, option, text)
    try:
        at = datetime.fromisoformat(text.strip())
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is no time; write it like 90d, 2027-01-31 or 2027-01-31T12:00:00Z"
        ) from None


@click.group()
def command() -> None:
    """Make, list, rotate and revoke keys.

    A key stands for a person, an agent or a program. Its scopes say what it may do: `call` tools, `approve` calls, `admin`
    (rules, switches, keys). Commands use the owner's key, or the one in FERRULE_TOKEN.
    """


@command.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    default=(CALL,),
    help="What it may do; `call` by default.",
)
@click.option("--group", "groups", multiple=True, help="A group its holder belongs to.")
@click.option("--tenant", help="The tenant of its calls; it sees nothing of other tenants.")
@click.option("--agent", help="The agent of the catalog that uses this key: it sees that agent's tools.")
@click.option("--role", help="The role that restricts its calls.")
@click.option("--surface", help="The surface record for its calls.")
@click.option("--expires", callback=_parse_moment, metavar="WHEN", help="When it expires: 90d, 2027-01-31, or a time.")
@json_option
@workspace_option
def add(
    name: str,
    path: str,
    scopes: tuple[str, ...],
    groups: tuple[str, ...],
    tenant: str | None,
    agent: str | None,
    role: str | None,
    surface: str | None,
    expires: float | None,
    as_json: bool,
) -> None:
    """Make a key for NAME and print it. It is shown this once: only its digest is kept."""
    workspace = find_workspace(path)
    access = Access(workspace.root)
    ends = None if expires is None else format_moment(expires)
    limits = KeyLimits(tenant=tenant, agent=agent, role=role, surface=surface, expires=ends)
    token, secret = access.add(access.local_owner(), name, scopes, groups, limits)
    for kind, bound_to in (("agent", agent), ("role", role), ("surface", surface)):
        if bound_to is not None:
            _note_unknown(workspace, kind, bound_to)
    _show(token, secret, as_json, f"{_command_word()} {token.id} of {token.person}; it is shown this once:")


@command.command("list")
@json_option
@workspace_option
def list_tokens(path: str, as_json: bool) -> None:
    """List every key, without secrets; with the key of a tenant's administrator, those of the tenant."""
    access = Access(find_workspace(path).root)
    tokens, used = access.list_visible_tokens(access.local_owner()), access.use.times()
    if as_json:
        records = [_as_dict(token) | {"last_used": used.get(token.id)} for token in tokens]
        click.echo(json.dumps(records, indent=2, ensure_ascii=False))
        return
    heads = ("id", "person", "scopes", "groups", "bound to", "made", "last used", "state")
    rows = [heads, *(_row(token, used.get(token.id)) for token in tokens)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


@command.command()
@click.argument("key", metavar="ID")
@click.option(
    "--grace",
    default="24h",
    callback=_parse_seconds,
    metavar="TIME",
    help="How long the old secret stays valid; 24h by default, 0 revokes it at once.",
)
@json_option
@workspace_option
def rotate(key: str, path: str, grace: float, as_json: bool) -> None:
    """Give the key ID (the beginning of an id is enough) a new secret and print it. The old one counts a while longer."""
    access = Access(find_workspace(path).root)
    token, secret = access.rotate(access.local_owner(), key, grace)
    until = (
        f"the old secret counts until {token.previous_until}" if token.previous_until else "the old secret has ended"
    )
    _show(
        token,
        secret,
        as_json,
        f"{_command_word()} {token.id} of {token.person}; {until}; the new one is shown this once:",
    )


@command.command()
@click.argument("key", metavar="ID")
@workspace_option
def revoke(key: str, path: str) -> None:
    """End the key ID (the beginning of an id is enough), at once and everywhere."""
    access = Access(find_workspace(path).root)
    ended = access.revoke(access.local_owner(), key)
    click.echo(f"revoked {_command_word()} {ended.id} of {ended.person}")


def _note_unknown(workspace: Workspace, kind: str, name: str) -> None:
    """Notes names that the catalog lacks: the key may be made first, and is useless until they exist."""
    from ferrule.app.doctor.premises import find_hint, names_here

    hint = find_hint(kind, name, names_here(workspace))
    if hint:
        told = f"there is no {kind} {name!r} in the catalog, so the key is refused until there is; {hint}"
        click.echo(f"note: {told}", err=True)


def _command_word() -> str:
    """Returns the word that the person typed: `key` or `token`."""
    parent = click.get_current_context().parent
    return "token" if parent is not None and (parent.info_name or "").endswith("token") else "key"


def _show(token: Token, secret: str, as_json: bool, sentence: str) -> None:
    if as_json:
        click.echo(json.dumps(_as_dict(token) | {"secret": secret}, indent=2, ensure_ascii=False))
        return
    click.echo(sentence, err=True)
    click.echo(secret)


def _row(token: Token, used: str | None) -> tuple[str, ...]:
    bound = [f"{name} {value}" for name in ("tenant", "agent", "role", "surface") if (value := getattr(token, name))]
    return (
        token.id,
        token.person,
        ",".join(token.scopes),
        ",".join(token.groups) or "-",
        ", ".join(bound) or "-",
        token.created,
        used or "-",
        _state(token),
    )


def _state(token: Token) -> str:
    if token.revoked:
        return f"revoked {token.revoked}"
    if token.has_ended(time.time()):
        return f"expired {token.expires}"
    return f"valid until {token.expires}" if token.expires else "valid"


def _as_dict(token: Token) -> dict[str, object]:
    record: dict[str, object] = msgspec.to_builtins(token)
    return {key: value for key, value in record.items() if key not in _NEVER_SHOWN}
