"""Checks the premises of a workspace, a line for each: catalog, ledger, keys, policy, secrets, servers, a sandbox.

It also finds agents, roles and surfaces that keys and grants name and the catalog lacks: callers with such a key are
refused. Names in access tokens of an issuer are known only when a caller presents one.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from ferrule.access.keys import KEYS_FOLDER, TOKENS_FILE, Access
from ferrule.access.tokens import Token
from ferrule.app.app import App
from ferrule.app.doctor.doctor import Examination, Health
from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.surface import CatalogEntry
from ferrule.errors import FerruleError
from ferrule.infra.credentials.oauth import FOLDER as TOKENS_FOLDER
from ferrule.infra.lockfile.file import LOCK_FILE, read_lock
from ferrule.infra.lockfile.oxp_tools import make_lock_key
from ferrule.infra.processes.sandbox import find_bubblewrap
from ferrule.model.hints import nearest
from ferrule.model.serving import GrantSettings
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.engine import make_engine
from ferrule.runtime.policy.load import load_policy
from ferrule.runtime.surface.candidates import format_known
from ferrule.workspace.staleness import CATALOG_FILE, is_stale, load_catalog
from ferrule.workspace.workspace import Workspace, show_path

ListNames = Callable[[str], Iterable[str]]
"""Lists the names of one kind of record."""
_RECORDS = {"agent": ("agent", "manifest"), "role": ("role",), "surface": ("surface",)}
"""The catalog's kinds of records for each kind of name."""
_GRANTS = "[[serve.grants]]"


def list_unknown_names(
    known: Sequence[ListNames], grants: Iterable[GrantSettings], tokens: Iterable[Token]
) -> list[str]:
    """Returns a message for each name in keys and grants that does not exist, with the nearest one. `known`: asked in this
    order."""
    named: dict[tuple[str, str], list[str]] = {}
    for kind, name, where in (*_in_grants(grants), *_in_keys(tokens)):
        by = named.setdefault((kind, name), [])
        if where not in by:
            by.append(where)
    return [
        f"there is no {kind} {name!r} in the catalog, and {' and '.join(by)} {'names' if len(by) == 1 else 'name'} it: whoever"
        f" comes by that is refused; {hint}"
        for (kind, name), by in named.items()
        if (hint := find_hint(kind, name, known))
    ]


def find_hint(kind: str, name: str, known: Sequence[ListNames]) -> str:
    """Returns the names to use instead of an unknown one; empty when the name exists."""
    names: list[str] = []
    for source in known:
        names = sorted({one for record in _RECORDS[kind] for one in source(record)})
        if name in names:
            return ""
    return " ".join(filter(None, (nearest(name, names), format_known(f"{kind}s", names))))


def names_here(workspace: Workspace) -> tuple[ListNames, ListNames]:
    """Returns the listings of names in the built catalog, and in the present definitions, which take longer to read."""

    def list_built(kind: str) -> Iterator[str]:
        try:
            yield from (record.record_id for record in load_catalog(workspace).records(kind))
        except FerruleError:  # not built yet, or not readable
            return

    def list_defined(kind: str) -> Iterator[str]:
        for file in workspace.compile():
            for compiled in file.compiled:
                yield from (record.record_id for record in compiled.records if record.kind == kind)

    return list_built, list_defined


def list_valid_keys(root: Path) -> tuple[Token, ...]:
    """Returns the valid keys of a workspace, without making any."""
    try:
        kept = Access(root).list_tokens() if (root / KEYS_FOLDER / TOKENS_FILE).exists() else ()
    except FerruleError:  # the commands that need them report it
        return ()
    return tuple(token for token in kept if not token.has_ended(time.time()))


def _in_grants(grants: Iterable[GrantSettings]) -> Iterator[tuple[str, str, str]]:
    for grant in grants:
        yield from ((kind, name, _GRANTS) for kind in _RECORDS if (name := getattr(grant, kind)) and not grant.refuse)


def _in_keys(tokens: Iterable[Token]) -> Iterator[tuple[str, str, str]]:
    for token in tokens:
        where = f"the key {token.id} of {token.person}"
        yield from ((kind, name, where) for kind in _RECORDS if (name := getattr(token, kind)))


_OTHERS = 0o077
_PUBLIC_ENDS = (".pub", ".lock", ".gitignore")
_LEAST_FREE = 50 * 1024**2
_BUSY_SECONDS = 2.0


def check_premises(workspace: Workspace, env: Mapping[str, str]) -> list[Examination]:
    """Checks everything that needs no open workspace. A check that fails becomes a line, and does not hide the others."""
    found: list[Examination] = []
    for name, check in _CHECKS.items():
        try:
            found += check(workspace, env)
        except FerruleError as error:
            found.append(report_broken(name, str(error), "setup_required"))
    return found


async def check_providers(app: App, seconds: float) -> list[Examination]:
    """Checks that the OAuth providers of users' tokens can be reached."""

    async def one(name: str) -> Examination:
        try:
            async with asyncio.timeout(seconds):
                endpoints = await app.authorizations.endpoints(name)
        except ExecutionFailed as failed:
            return report_broken(f"oauth.{name}", failed.message, failed.code or failed.error_class)
        except TimeoutError:
            return report_broken(f"oauth.{name}", f"nothing came back within {seconds:g} seconds", "timeout")
        return report_line(f"oauth.{name}", "works", f"users are sent to {endpoints.authorization.host}")

    return list(await asyncio.gather(*map(one, app.authorizations.providers)))


async def check_sandbox(workspace: Workspace, tools: Iterable[CatalogEntry]) -> list[Examination]:
    """Checks that commands can be sandboxed, where a tool runs any."""
    mode = workspace.settings.builtins.sandbox
    if mode == "off" or not any(listed.tool.tool_kind == "shell_command" for listed in tools):
        return []
    found = await asyncio.to_thread(find_bubblewrap)
    if isinstance(found, str):
        return [report_line("sandbox", "broken" if mode == "required" else "warned", found, "sandbox_missing")]
    return [report_line("sandbox", "works", f"{found.program} confines commands")]


def check_cached_tools(workspace: Workspace, app: App) -> Iterator[Examination]:
    """Reports unknown tools in `[cache] tools`."""
    known = {listed.tool.tool_id for listed in app.catalog.list_preferred()}
    for name in workspace.settings.cache.tools:
        if name not in known:
            hint = nearest(name, known) or "'ferrule list' shows them"
            told = f"[cache] tools names {name!r}, and there is no such tool; {hint}"
            yield report_line("cache", "warned", told, "cache")


def check_bound_names(workspace: Workspace, app: App) -> Iterator[Examination]:
    """Reports unknown names in keys and `[[serve.grants]]`."""

    def list_known(kind: str) -> Iterator[str]:
        return (record.record_id for record in app.catalog.records(kind))

    for told in list_unknown_names((list_known,), workspace.settings.serve.grants, list_valid_keys(workspace.root)):
        yield report_line("grants", "warned", told, "grants")


def _check_catalog(workspace: Workspace, env: Mapping[str, str]) -> Iterator[Examination]:
    if not (workspace.root / CATALOG_FILE).exists():
        yield report_line("catalog", "unproven", "it is built with the first call; 'ferrule build' does it now")
        return
    load_catalog(workspace)
    if is_stale(workspace):
        yield report_line(
            "catalog", "warned", "definitions changed since it was built; 'ferrule build' builds it anew", "stale"
        )
    else:
        yield report_line("catalog", "works", "sealed, and as new as the definitions")


def _check_ledger(workspace: Workspace, env: Mapping[str, str]) -> Iterator[Examination]:
    file = workspace.root / workspace.settings.ledger.path
    folder = next((one for one in (file.parent, *file.parents) if one.exists()), workspace.root)
    if not os.access(folder, os.W_OK | os.X_OK) or (file.exists() and not os.access(file, os.W_OK)):
        yield report_broken(
            "ledger", f"{show_path(str(file))} cannot be written; no call is made without it", "ledger_unavailable"
        )
        return
    free = os.statvfs(folder)
    if free.f_bavail * free.f_frsize < _LEAST_FREE:
        yield report_line(
            "ledger", "warned", f"less than {_LEAST_FREE // 1024**2} MB are free for it; make room", "disk_full"
        )
    if not file.exists():
        yield report_line("ledger", "unproven", "it begins with the first call")
        return
    try:
        with closing(sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
    except sqlite3.Error as error:
        yield report_broken("ledger", f"{show_path(str(file))} cannot be written: {error}", "ledger_unavailable")
        return
    yield report_line("ledger", "works", "it can be written")


def _check_keys(workspace: Workspace, env: Mapping[str, str]) -> Iterator[Examination]:
    secret = [*_files(workspace.root / KEYS_FOLDER), *_files(workspace.root / TOKENS_FOLDER)]
    open_ones = [file for file in secret if not file.name.endswith(_PUBLIC_ENDS) and _mode(file) & _OTHERS]
    for file in open_ones:
        where = show_path(str(file))
        yield report_broken(
            "keys", f"{where} can be read by others; make it yours alone: chmod 600 {where}", "key_exposed"
        )
    if secret and not open_ones:
        yield report_line("keys", "works", "only their owner can read them")
    elif not secret:
        yield report_line("keys", "unproven", "they are made with the first call")


def _check_policy(workspace: Workspace, env: Mapping[str, str]) -> Iterator[Examination]:
    settings = workspace.settings
    policy = load_policy(workspace.root, settings.policy, env, expires_seconds=settings.approval.expires_seconds)
    make_engine(policy, BUILTIN)
    yield report_line("policy", "works", "it can be used as written")


def _check_env_file(workspace: Workspace, env: Mapping[str, str]) -> Iterator[Examination]:
    name = workspace.settings.secrets.env_file
    file = workspace.root / name
    if not name or not file.exists():
        return
    if not os.access(file, os.R_OK):
        yield report_broken(name, "it cannot be read, so the secrets in it are missing", "env_file_unreadable")
    elif _mode(file) & _OTHERS:
        where = show_path(str(file))
        yield report_line(
            name,
            "warned",
            f"others can read the secrets in it; make it yours alone: chmod 600 {where}",
            "env_file_exposed",
        )
    else:
        yield report_line(name, "works", "only its owner can read it")


def _check_mcp_servers(workspace: Workspace, env: Mapping[str, str]) -> Iterator[Examination]:
    servers = workspace.settings.mcp.servers
    locked = read_lock(workspace.root).servers if servers else {}
    for name in servers:
        if name not in locked:
            told = f"its tools are not there: nothing of it is in {LOCK_FILE}; run 'ferrule lock'"
            yield report_broken(f"mcp.servers.{name}", told, "not_locked")


def _check_oxp_servers(workspace: Workspace, env: Mapping[str, str]) -> Iterator[Examination]:
    servers = workspace.settings.oxp.servers
    locked = read_lock(workspace.root).servers if servers else {}
    for name in servers:
        if make_lock_key(name) not in locked:
            told = f"its tools are not there: nothing of it is in {LOCK_FILE}; run 'ferrule lock'"
            yield report_broken(f"oxp.servers.{name}", told, "not_locked")


_CHECKS: dict[str, Callable[[Workspace, Mapping[str, str]], Iterator[Examination]]] = {
    "built": _check_catalog,
    "ledger": _check_ledger,
    "keys": _check_keys,
    "policy": _check_policy,
    "env_file": _check_env_file,
    "mcp_servers": _check_mcp_servers,
    "oxp_servers": _check_oxp_servers,
}
"""The checks, by the name of the line that a failed one reports."""


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else []


def _mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def report_broken(name: str, told: str, code: str) -> Examination:
    """Makes the line of a broken premise."""
    return report_line(name, "broken", told, code)


def report_line(name: str, health: Health, told: str, code: str = "") -> Examination:
    """Makes the line of one premise."""
    return Examination(name=name, kind="workspace", health=health, told=" ".join(told.split()), code=code)
