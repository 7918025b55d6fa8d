"""`ferrule serve`: the workspace on one port, or on a pipe, for any agent."""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec

from ferrule.access.keys import Access
from ferrule.cli.loop import run_command
from ferrule.cli.workspace_choice import (
    NAMES,
    AddressNote,
    find_workspace,
    join_serve_settings,
    note_address,
    remove_notes,
)
from ferrule.errors import AccessError, SettingsError
from ferrule.model.serving import ServeSettings
from ferrule.model.value import JsonObject
from ferrule.servers.client_setup import CLIENTS, ServedWorkspace, explain_snippet, write_snippet
from ferrule.workspace.workspace import Workspace

_EVERYWHERE = ("0.0.0.0", "::", "")
_IDLE_ON_A_PIPE = {
    "host": "--host", "port": "--port", "public_url": "--public-url", "processes": "--processes", "no_auth": "--no-auth",
    "dangerously_open": "--dangerously-open", "opens_console": "--open", "as_json": "--json",
}  # fmt: skip
"""Options about a port, which --stdio has none of: no address, no door, no page."""
_IDLE_WHEN_PRINTING = {
    "processes": "--processes",
    "no_reload": "--no-reload",
    "opens_console": "--open",
    "as_json": "--json",
}
"""Options about serving, which --snippet does not do."""
_GARBAGE_EVERY = 2_000
"""How many more objects there may be before garbage is looked for while serving: what waits for that takes room, and once taken,
room is seldom given back. Loading, before, may leave many more."""
_MMAP_THRESHOLD, _LARGE_BYTES = -3, 64 * 1024
"""What glibc calls `M_MMAP_THRESHOLD`, and the bytes from which a block is one of the system's own."""


@click.command()
@click.option("--workspace", "path", default=".", type=click.Path(), help="Serve the workspace around this path.")
@click.option("--stdio", is_flag=True, help="Speak MCP on standard input and output: what a desktop client starts.")
@click.option("--host", help="The address to listen on (127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on (8787); 0 takes a free one.")
@click.option("--public-url", metavar="URL", help="The address clients use, where a proxy has another.")
@click.option("--processes", type=click.IntRange(1), help="How many server processes share the port (1).")
@click.option("--log-level", type=click.Choice(["info", "warning", "error"]), help="The log level (warning).")
@click.option("--import-config", "imported", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
              help="Import the MCP servers of a desktop client's configuration, then serve.")  # fmt: skip
@click.option("--no-reload", is_flag=True, help="Do not reload definitions that change while it runs.")
@click.option("--no-auth", is_flag=True, help="Accept every program on this machine, without a token.")
@click.option("--dangerously-open", is_flag=True, help="With --no-auth: accept anyone who can reach the address.")
@click.option(
    "--open", "opens_console", is_flag=True, help="Open the console in the browser, signed in, if there is a screen."
)
@click.option("--snippet", type=click.Choice([*CLIENTS]), help="Print the configuration of this client, and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one line of JSON, for programs.")
@click.option("--fd", type=int, hidden=True)
def command(path: str, stdio: bool, imported: str | None, snippet: str | None, **options: Any) -> int:
    """Serve the workspace to any agent: over MCP, OXP and HTTP on one port, or over MCP on a pipe with --stdio.

    \b
      ferrule serve                       on http://127.0.0.1:8787, for clients with the agents' token
      ferrule serve --snippet cursor      what to put into a client's configuration
      ferrule serve --import-config ~/.cursor/mcp.json
                                          put Ferrule in front of the MCP servers you have

    Every call goes through the same pipeline: checked, decided by the policy, recorded. What needs an approval waits for a
    person: `ferrule pending`, `ferrule approve`. An agent's token can call and never approve. Changed definitions are taken
    while it runs; clients are told. Settings: [serve] in ferrule.toml, then FERRULE_SERVE_HOST, _PORT, _PUBLIC_URL,
    _PROCESSES and _LOG_LEVEL, then these options.
    """
    if imported is not None:
        from ferrule.cli.import_config import import_servers

        import_servers(path, imported)
    workspace = find_workspace(path)
    settings = join_serve_settings(workspace, _options_given(options))
    _check_options(settings, stdio, snippet, options)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    if settings.log_level != "warning":
        logging.getLogger("ferrule").setLevel(settings.log_level.upper())
    if snippet is not None:
        place = _describe_address(workspace, settings)
        click.echo(CLIENTS[snippet](place))
        if note := explain_snippet(snippet, place):
            click.echo(note, err=True)
        return 0
    workspace.demand_policy_engine()
    gc.disable()  # until everything is loaded: that makes many objects and no garbage
    try:
        return _serve_stdio(path, settings) if stdio else _serve(workspace, settings, options)
    finally:
        gc.enable()


def _freeze_memory() -> None:
    """Exempts the loaded objects from garbage collection: they stay until the end."""
    gc.freeze()
    gc.set_threshold(_GARBAGE_EVERY)
    gc.enable()


def _tune_malloc() -> None:
    """Makes the C library return large blocks to the system one by one. By default it moves them into its heap after the
    first one was freed, where small blocks that stay keep the memory of large ones from being returned."""
    with suppress(OSError, AttributeError, ValueError):  # another C library
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)


def _serve_stdio(path: str, settings: ServeSettings) -> int:
    if os.isatty(0):
        click.echo(
            "This speaks JSON-RPC (MCP) to the program that started it, on standard input and output; Ctrl-C stops."
            " To connect one: ferrule serve --snippet claude-desktop",
            err=True,
        )
    from ferrule.servers.mcp.transports.stdio_run import serve_stdio

    run_command(serve_stdio(path, settings, _freeze_memory))
    return 0


def _serve(workspace: Workspace, settings: ServeSettings, options: JsonObject) -> int:
    from ferrule.servers import binding, serving

    problem = binding.find_bind_problem(settings, is_danger_accepted=options["dangerously_open"])
    if problem is not None:
        raise SettingsError(problem)
    is_child = options["fd"] is not None
    for warning in (
        () if is_child else (*binding.list_bind_warnings(settings), *_list_unknown_names(workspace, settings))
    ):
        click.echo(f"warning: {warning}", err=True)
    _tune_malloc()
    listening = serving.bind_socket(settings, options["fd"])
    place = _place(workspace, settings, serving.find_address(settings, listening))
    notes: list[AddressNote] = []

    def report_start(tools: str) -> None:
        _freeze_memory()
        if not is_child:
            at = serving.find_local_address(listening)
            notes.extend(note_address(workspace.root, at))
            click.echo(
                _start_record(place, settings, at) if options["as_json"] else _start_lines(place, settings, tools, at)
            )
            sys.stdout.flush()
            if options["opens_console"]:
                _open_console(place)

    with remove_notes(notes):
        if settings.processes > 1:
            from ferrule.servers.processes import ServerProcesses

            processes = ServerProcesses(listening, _repeat_options(workspace, options), settings.processes)
            Access(workspace.root).prepare()  # so that they are there when somebody is told so
            report_start("")
            return processes.run(settings.shutdown_seconds)
        run_command(serving.serve_http(workspace.root, settings, listening, report_start))
    return 0


def _list_unknown_names(workspace: Workspace, settings: ServeSettings) -> list[str]:
    """Returns the names in keys and grants that the workspace lacks."""
    if not settings.auth:
        return []
    from ferrule.app.doctor.premises import list_unknown_names, list_valid_keys, names_here

    return list_unknown_names(names_here(workspace), settings.grants, list_valid_keys(workspace.root))


def _options_given(options: JsonObject) -> JsonObject:
    """Returns the settings that the options give."""
    said = {name: value for name in NAMES if (value := options[name]) is not None}
    if options["no_auth"]:
        said["auth"] = False
    if options["no_reload"]:
        said["reload"] = False
    return said


def _check_options(settings: ServeSettings, is_stdio: bool, snippet: str | None, options: JsonObject) -> None:
    """Raises UsageError for options that would have no effect."""
    if snippet is not None and is_stdio:
        raise click.UsageError("--snippet only prints, so --stdio does nothing with it; leave one of them out")
    mode, idle = ("--stdio", _IDLE_ON_A_PIPE) if is_stdio else ("--snippet", _IDLE_WHEN_PRINTING)
    for name, option in idle.items() if is_stdio or snippet is not None else ():
        if options[name] not in (None, False):
            raise click.UsageError(f"{option} does nothing with {mode}; leave one of them out")
    if options["dangerously_open"] and settings.auth:
        raise click.UsageError("--dangerously-open does nothing without --no-auth; add that, or leave it out")


def _repeat_options(workspace: Workspace, options: JsonObject) -> list[str]:
    """Returns the options of this command, for a server process."""
    words = ["--workspace", str(workspace.root)]
    for name in ("host", "port", "public_url", "log_level"):
        if options[name] is not None:
            words += [f"--{name.replace('_', '-')}", str(options[name])]
    return words + [
        f"--{name.replace('_', '-')}" for name in ("no_reload", "no_auth", "dangerously_open") if options[name]
    ]


def _place(workspace: Workspace, settings: ServeSettings, url: str) -> ServedWorkspace:
    return ServedWorkspace(
        workspace.namespace, _shorten_folder(workspace.root), url, settings.mcp.path, not settings.auth
    )


def _describe_address(workspace: Workspace, settings: ServeSettings) -> ServedWorkspace:
    """Describes the address and the workspace, from any folder."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    at = settings.public_url or f"http://{host}:{settings.port}"
    if not settings.port and not settings.public_url:  # a free one, known once it is served
        from ferrule.cli.console import find_server

        at = find_server(workspace.root, settings) or f"http://{host}:PORT"
    place = _place(workspace, settings, at)
    return msgspec.structs.replace(place, root=workspace.root.absolute())


def _shorten_folder(folder: Path) -> Path:
    """Returns a folder as one would type it from here."""
    here = Path.cwd()
    return folder.absolute().relative_to(here) if folder.absolute().is_relative_to(here) else folder.absolute()


def _start_record(place: ServedWorkspace, settings: ServeSettings, at: str) -> str:
    return json.dumps({"url": place.url, "mcp": place.mcp, "oxp": place.url + settings.oxp.path, "http": f"{place.url}/v1",
                       "console": f"{place.url}/console/",
                       "listening": at, "pid": os.getpid()})  # fmt: skip


def _start_lines(place: ServedWorkspace, settings: ServeSettings, tools: str, at: str) -> str:
    by = f" by {settings.processes} processes" if settings.processes > 1 else ""
    lines = [
        f"Serving {place.name}{f', {tools}' if tools else ''}{by}. Ctrl-C stops.",
        "",
        f"  Console  {_describe_console(place)}",
        f"  MCP      {place.mcp}",
        f"  OXP      {place.url}{settings.oxp.path}",
        f"  HTTP     {place.url}/v1   (described at {place.url}/v1/docs)",
        "",
    ]
    if settings.public_url:
        lines += [f"It listens on {at}, for the proxy that has this address.", ""]
    elif settings.host in _EVERYWHERE:
        lines += [
            "From other machines: by an address of this one; a name has to stand in [serve] hosts, or public_url.",
            "",
        ]
    lines += [
        f"{_describe_callers(place, settings)} Connect, for example:",
        "",
        f"  {write_snippet('claude-code', place)}",
        f"  {write_snippet('curl', place)}",
        "",
        f"Other clients: ferrule serve --snippet {' | '.join(CLIENTS)}",
        "People answer calls that wait in the console, or with ferrule pending and ferrule approve",
    ]
    return "\n".join(lines)


def _describe_console(place: ServedWorkspace) -> str:
    """Describes the address of the console; on a terminal with a link that signs its reader in, once."""
    plain = f"{place.url}/console/"
    if place.is_open or not sys.stdout.isatty():
        return plain
    from ferrule.cli.console import make_console_link

    try:
        return make_console_link(Access(place.root), place.url)
    except AccessError:
        return plain


def _open_console(place: ServedWorkspace) -> None:
    """Opens the console in a browser; does nothing without a screen or a valid token."""
    from ferrule.cli.console import can_open, make_console_link, open_browser

    if can_open():
        with suppress(AccessError):
            open_browser(f"{place.url}/console/" if place.is_open else make_console_link(Access(place.root), place.url))


def _describe_callers(place: ServedWorkspace, settings: ServeSettings) -> str:
    """Describes who may call."""
    if place.is_open:
        from ferrule.infra.network.urls import is_loopback

        return f"{'Every program on this machine' if is_loopback(settings.host) else 'Whoever reaches this address'} may call."
    try:
        Access(place.root).authenticate(place.token_file.read_text(encoding="utf-8").strip())
    except (AccessError, OSError, ValueError):
        return f"The token in {place.token_file} has ended; 'ferrule key add NAME' makes another, to use instead."
    return f"Agents come with the token in {place.token_file}; it can call, and never approve."
