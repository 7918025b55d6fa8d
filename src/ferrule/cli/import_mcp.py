"""`ferrule import mcp`: asks a server for its tools, shows them, and imports them: settings, secrets and lock."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import click
import msgspec

from ferrule.access.keys import Access
from ferrule.app.imports.mcp import (
    ImportedServer,
    describe_tool,
    find_review,
    parse_server,
    review_server,
    write_import,
)
from ferrule.app.imports.secret_file import list_variables
from ferrule.app.lock.pinning import accept_servers
from ferrule.app.lock.reviews import LockReview, ServerReview
from ferrule.cli import COULD_NOT_RUN, OK, PROBLEMS_FOUND
from ferrule.cli.inbox import require_admin
from ferrule.cli.lock import difference_lines
from ferrule.cli.loop import run_command
from ferrule.cli.show.output import json_text
from ferrule.definitions.compiler.seal import KEY_FILE, PUBLIC_FILE, make_key, trust
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import SettingsError, WorkspaceError
from ferrule.infra.lockfile.file import LockedServer
from ferrule.model.upstreams import McpServerSettings
from ferrule.model.value import JsonObject
from ferrule.workspace.workspace import Workspace

_WIDTH = 100


def import_server(
    words: tuple[str, ...],
    *,
    path: str,
    name: str,
    tools: tuple[str, ...],
    env: tuple[str, ...],
    bearer: str | None,
    header: str | None,
    credentials: str | None,
    is_dry: bool,
    is_sure: bool,
    as_json: bool,
) -> int:
    """Imports one server, or imports the one of this name again. Raises FerruleError."""
    workspace = Workspace.open(path)
    known = workspace.settings.mcp.servers
    if len(words) == 1 and words[0] in known:
        server = ImportedServer(words[0], _choose_tools(known[words[0]], tools), {})
    else:
        shown = _credentials(bearer, header, credentials)
        taken = list_variables(workspace.root)
        server = parse_server(words, name=name, env=env, credentials=shown, tools=tools, known=taken)
        _check_same(server, known.get(server.name))
        if server.name in known:
            server = ImportedServer(server.name, _choose_tools(known[server.name], tools), {})
    by = _owner(workspace) if not is_dry else ""
    click.echo(f"looking at {server.name} …", err=True)
    found = run_command(review_server(workspace, server))
    one = find_review(found, server.name)
    if not as_json:
        for line in _describe_tools(one):
            click.echo(sanitize(line))
    is_new = server.name not in known
    is_written = not one.problem and not is_dry and _is_wanted(one, is_new, is_sure)
    if is_written:
        _write(workspace, server, known.get(server.name), found, by)
    if as_json:
        click.echo(json_text(_as_dict(server, one, is_written)))
    elif is_written:
        _print_next_steps(server, one)
    if one.problem:
        return COULD_NOT_RUN
    return OK if is_written or is_dry or not (is_new or one.differences) else PROBLEMS_FOUND


def _credentials(bearer: str | None, header: str | None, given: str | None) -> JsonObject | None:
    if sum(each is not None for each in (bearer, header, given)) > 1:
        raise click.UsageError("a server has one credential: give one of --bearer, --header and --credentials")
    if bearer is not None:
        return {"scheme": "bearer-token", "source": "env", "name": _variable(bearer)}
    if header is not None:
        title, equals, variable = header.partition("=")
        if not equals or not title:
            raise click.UsageError(f"--header takes HEADER=VARIABLE, such as X-Api-Key=CRM_KEY, not {header!r}")
        return {"scheme": "api-key", "header": title, "source": "env", "name": _variable(variable)}
    if given is None:
        return None
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise click.UsageError("--credentials takes a JSON object, as transport.credentials of a definition has it")
    return value


def _variable(name: str) -> str:
    if not name.isidentifier():
        raise click.UsageError("a secret is named by its variable and never written out: --bearer CRM_TOKEN")
    return name


def _choose_tools(server: McpServerSettings, tools: tuple[str, ...]) -> McpServerSettings:
    return msgspec.structs.replace(server, tools=tools) if tools else server


def _check_same(server: ImportedServer, known: McpServerSettings | None) -> None:
    if known is None:
        return
    if (known.command, known.url) != (server.server.command, server.server.url):
        raise SettingsError(
            f"ferrule.toml has another server {server.name!r} already; give this one a --name, or import {server.name!r} again"
            f" with 'ferrule import mcp {server.name}'"
        )


def _owner(workspace: Workspace) -> str:
    identity = Access(workspace.root).local_owner()
    require_admin(identity)
    return identity.principal


def _describe_tools(one: ServerReview) -> Iterator[str]:
    if one.problem:
        yield f"{one.key}: cannot be looked at: {one.problem}"
        return
    assert one.seen is not None, "what has no problem was seen"
    seen = one.seen
    yield f"{one.key}: {seen.name} {seen.version}, MCP {seen.protocol_version}, {len(one.offered)} of {len(seen.tools)} tools"
    if one.is_first:
        for definition in one.offered.values():
            tool = describe_tool(definition)
            hints = f"  [it says: {', '.join(tool.hints)}]" if tool.hints else ""
            first = " ".join(tool.description.split())
            yield f"  {tool.name}{hints}"
            yield (
                f"      {first if len(first) <= _WIDTH else first[: _WIDTH - 1] + '…'}"
                if first
                else "      (says nothing)"
            )
        for name, why in one.unfit.items():
            yield f"  ! {name} cannot become a tool: {why}"
    else:
        yield from difference_lines(one)


def _is_wanted(one: ServerReview, is_new: bool, is_sure: bool) -> bool:
    if not is_new and not one.is_first and not one.differences:
        return False
    if is_sure:
        return True
    if sys.stdin is None or not sys.stdin.isatty():
        raise WorkspaceError(
            "importing a server is agreed to by a person, and nobody is here; add --yes, or look with --dry-run"
        )
    question = "Import these tools?" if one.is_first else "Accept these changes?"
    return click.confirm(question, err=True)


def _write(
    workspace: Workspace, server: ImportedServer, known: McpServerSettings | None, found: LockReview, by: str
) -> None:
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    lock = accept_servers(found, by, at, (), firsts=True)
    wanted = lock.servers[server.name]
    lock = msgspec.structs.replace(
        lock, servers={**lock.servers, server.name: _drop_unselected(wanted, found, server.name)}
    )
    write_import(workspace.root, server, known, lock)
    if not (workspace.root / KEY_FILE).exists():
        trust(workspace.root / PUBLIC_FILE, make_key(workspace.root / KEY_FILE))


def _drop_unselected(pinned: LockedServer, found: LockReview, name: str) -> LockedServer:
    """Removes the pins of tools that the patterns leave out."""
    there = find_review(found, name).offered
    return msgspec.structs.replace(pinned, tools={tool: each for tool, each in pinned.tools.items() if tool in there})


def _print_next_steps(server: ImportedServer, one: ServerReview) -> None:
    click.echo(f"imported: [mcp.servers.{server.name}] in ferrule.toml, {_count(one)} in ferrule.lock")
    if server.secrets:
        click.echo(f"{', '.join(server.secrets)} went into the file of secrets")
    click.echo("next:")
    first = next(iter(one.offered), None)
    if first is not None:
        click.echo(sanitize(f"  ferrule call {server.name}.{first}"))
    click.echo(
        "  write into policy.toml what may be called without asking: nothing a server says about its tools makes them safe"
    )
    click.echo("  ferrule lock --check    in CI: tells when the server changed what it says")


def _as_dict(server: ImportedServer, one: ServerReview, is_written: bool) -> JsonObject:
    return {
        "server": server.name,
        "source": one.served.upstream.source,
        "written": is_written,
        "problem": one.problem or None,
        "protocol_version": one.seen.protocol_version if one.seen is not None else None,
        "tools": [
            {"name": tool.name, "description": tool.description, "hints": list(tool.hints)}
            for tool in map(describe_tool, one.offered.values())
        ],
        "unfit": one.unfit,
        "differences": [{**msgspec.to_builtins(each), "text": each.text} for each in one.differences],
        "secrets": list(server.secrets),
    }


def _count(one: ServerReview) -> str:
    return "1 tool" if len(one.offered) == 1 else f"{len(one.offered)} tools"
