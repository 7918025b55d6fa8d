"""`ferrule serve --import-config FILE`: the servers of a desktop client become servers of the workspace, pinned and governed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click

from ferrule.access import Access
from ferrule.cli.loop import run_command
from ferrule.client_config import Taken, servers_in
from ferrule.compiler.seal import KEY_FILE, PUBLIC_FILE, make_key, trust
from ferrule.errors import SettingsError
from ferrule.locking.file import write_lock
from ferrule.pinning import accept, review
from ferrule.settings import FILE_NAME, load_settings
from ferrule.workspace import Workspace

_MODE = 0o600


def take_over(path: str, file: str) -> None:
    """Write the servers of a client into the workspace's settings, keep their secrets in its file of secrets, and pin what they
    say about their tools. What is there already stays. Raises FerruleError."""
    root = Workspace.open(path).root
    taken = servers_in(Path(file).expanduser(), _variables(root), lambda problem: click.echo(problem, err=True))
    known = load_settings(root).mcp.servers
    added = [one for one in taken if one.name not in known]
    _write_settings(root, added)
    _write_secrets(root, added)
    if not (root / KEY_FILE).exists():
        trust(root / PUBLIC_FILE, make_key(root / KEY_FILE))
    for one in taken:
        state = "taken over" if one in added else "is in ferrule.toml already, and stays as it is"
        kept = f"; {', '.join(one.secrets)} went into .env" if one in added and one.secrets else ""
        click.echo(f"{one.name}: {state}{kept}", err=True)
        for note in one.notes if one in added else ():
            click.echo(f"{one.name}: note: {note}", err=True)
    _pin(root)
    click.echo(
        f"Now take these servers out of {file} and give the client Ferrule instead: ferrule serve --snippet …\n",
        err=True,
    )


def _variables(root: Path) -> set[str]:
    """The variables that have a value: here, or in the file of secrets."""
    name = load_settings(root).secrets.env_file
    file = root / name if name else None
    text = file.read_text(encoding="utf-8", errors="replace") if file is not None and file.is_file() else ""
    return {*os.environ, *re.findall(r"^\s*(?:export\s+)?(\w+)\s*=", text, re.MULTILINE)}


def _pin(root: Path) -> None:
    """Pin what is new; whatever changed since it was pinned stays blocked, as always."""
    click.echo("looking at what they offer …", err=True)
    found = run_command(review(Workspace.open(root)))
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    if any(one.is_first and not one.problem for one in found.servers):
        write_lock(root, accept(found, Access(root).local_owner().principal, at, None, firsts=True))
    for one in found.servers:
        if one.problem:
            click.echo(f"{one.key}: cannot be looked at: {one.problem}; mend it, then 'ferrule lock'", err=True)
        else:
            click.echo(f"{one.key}: {len(one.offered)} tool{'s' * (len(one.offered) != 1)}", err=True)


def _write_settings(root: Path, added: Iterable[Taken]) -> None:
    tables = "".join(_table(one) for one in added)
    if tables:
        file = root / FILE_NAME
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        _append(file, f"{before and chr(10)}{tables.lstrip()}")


def _table(one: Taken) -> str:
    server, lines = one.server, [f"\n[mcp.servers.{one.name}]"]
    if server.command:
        lines.append(f"command = {_toml(list(server.command))}")
    if server.url:
        lines.append(f"url = {_toml(server.url)}")
    for name, values in (("env", server.env), ("credentials", server.credentials)):
        if values:
            members = ", ".join(f"{_toml(key)} = {_toml(value)}" for key, value in values.items())
            lines.append(f"{name} = {{ {members} }}")
    return "\n".join(lines) + "\n"


def _toml(value: str | list[str]) -> str:
    """A string, or a list of them: JSON's way of writing them is TOML's, too, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write_secrets(root: Path, added: Iterable[Taken]) -> None:
    values = {name: value for one in added for name, value in one.secrets.items()}
    name = load_settings(root).secrets.env_file
    if not values:
        return
    if not name:
        raise SettingsError("the servers have secrets, and [secrets] env_file is empty: name a file for them first")
    _begin_private(root / name)
    quoted = "".join(f"{key}={_quoted(value)}\n" for key, value in values.items())
    _append(root / name, quoted)
    ignored = root / ".gitignore"
    if name not in (ignored.read_text(encoding="utf-8").split() if ignored.exists() else ()):
        _append(ignored, f"{name}\n.ferrule/keys/\n")


def _begin_private(file: Path) -> None:
    """Nobody else may read it, from the first byte on."""
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, _MODE))
        os.chmod(file, _MODE)
    except OSError as error:
        raise SettingsError(f"cannot write {file}: {error.strerror}") from None


def _quoted(value: str) -> str:
    escaped = (
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("$", "\\$")
    )
    return f'"{escaped}"'


def _append(file: Path, text: str) -> None:
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        with os.fdopen(descriptor, "rb+") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(max(0, size - 1))
            is_whole = opened.read(1) in (b"", b"\n")  # else it would go on with somebody's last line
            opened.write((b"" if is_whole else b"\n") + text.encode())
    except OSError as error:
        raise SettingsError(f"cannot write {file}: {error.strerror}") from None
