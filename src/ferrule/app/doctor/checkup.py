"""The checkup of a workspace for `ferrule doctor`: its definitions, its premises, and every tool.

Reads the present definitions. A file with errors costs its own tools a line each, and does not affect others.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.access.keys import AGENTS, KEYS_FOLDER, TOKENS_FILE, Access
from ferrule.app.app import App
from ferrule.app.assembly import Overrides, assemble
from ferrule.app.doctor.doctor import Doctor, Examination, OnProgress
from ferrule.app.doctor.premises import (
    check_bound_names,
    check_cached_tools,
    check_premises,
    check_providers,
    check_sandbox,
    report_broken,
    report_line,
)
from ferrule.app.ledger_file import open_store
from ferrule.app.opening import run_app
from ferrule.contracts.surface import CatalogEntry, CatalogView
from ferrule.definitions.compiler.build import CatalogContents, collect_contents
from ferrule.definitions.compiler.discover import load
from ferrule.definitions.compiler.gather import SourcePiece, gather
from ferrule.definitions.compiler.seal import public_half
from ferrule.errors import FerruleError, WorkspaceError
from ferrule.infra.clock import Clock
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.catalog import Catalog
from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.hints import nearest
from ferrule.model.outline import ToolOutline
from ferrule.model.surface import DEFAULT_TENANT
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.functions import bind_functions, load_modules
from ferrule.runtime.functions.function_tools import join_functions
from ferrule.runtime.surface.catalogs import EmptyCatalog, SealedCatalog
from ferrule.workspace.parts import load_parts
from ferrule.workspace.workspace import Workspace, show_path


class Checkup(NamedTuple):
    """The findings of a checkup."""

    tools: list[Examination]
    workspace: list[Examination]

    @property
    def is_broken(self) -> bool:
        """True when anything is broken."""
        return any(found.health == "broken" for found in (*self.tools, *self.workspace))


class _CheckedDefinitions(NamedTuple):
    catalog: CatalogView
    tools: list[Examination]
    """The tools whose files have errors."""
    others: list[Examination]


async def check_workspace(
    path: str | Path,
    env: Mapping[str, str],
    *,
    names: Collection[str] = (),
    principal: str | None = None,
    tenant: str = DEFAULT_TENANT,
    seconds: float = 10.0,
    told: OnProgress = lambda done, total: None,
) -> Checkup:
    """Checks a workspace without calling a tool. `names`: only these tools, and not the workspace. Raises FerruleError when
    there is no workspace."""
    workspace = Workspace.open(path)
    definitions = _read_definitions(workspace)
    if isinstance(definitions.catalog, EmptyCatalog) and not (workspace.has_settings_file or definitions.tools):
        raise WorkspaceError(f"there is no workspace in {workspace.root}; name one with --workspace")
    own = [] if names else [*definitions.others, *check_premises(workspace, env)]
    usable, problems = _drop_broken_functions(workspace, definitions.catalog, env)
    own += problems
    off = await _list_disabled(workspace)
    try:
        async with _open_for_inspection(usable, definitions.catalog, env) as app:
            chosen, broken = _choose_tools(app.catalog, definitions.tools, names)
            doctor = Doctor(
                app,
                principal=principal or _choose_principal(workspace),
                seconds=seconds,
                off=off,
                tenant=tenant,
                programs=workspace.settings.mcp.programs,
            )
            examined = await doctor.examine(chosen, told)
            if not names:
                own += [
                    *await check_providers(app, seconds),
                    *await check_sandbox(workspace, chosen),
                    *check_cached_tools(workspace, app),
                    *check_bound_names(workspace, app),
                ]
    except WorkspaceError:
        raise  # a named tool does not exist
    except FerruleError as error:
        chosen, broken = _choose_tools(definitions.catalog, definitions.tools, names)
        examined = [_report_closed(listed, error) for listed in chosen]
    return Checkup(sorted([*examined, *broken], key=lambda found: found.name), own)


def _open_for_inspection(
    workspace: Workspace, catalog: CatalogView, env: Mapping[str, str]
) -> AbstractAsyncContextManager[App]:
    """Opens an app on a temporary catalog, ledger and key, for looking at tools. Writes nothing into the workspace. Raises
    FerruleError."""
    clock = Clock()
    overrides = Overrides(key=ApprovalKey.generate(), tends=False)
    return run_app(assemble(workspace, catalog, MemoryStore(clock=clock.now), clock, env, overrides))


def _choose_principal(workspace: Workspace) -> str:
    """Returns the principal of `ferrule call`, without making tokens."""
    with suppress(FerruleError):
        if (workspace.root / KEYS_FOLDER / TOKENS_FILE).exists():
            return Access(workspace.root).local_agent().principal
    return AGENTS


def _report_closed(listed: CatalogEntry, error: FerruleError) -> Examination:
    told = f"no call is made here as long as the workspace cannot be opened: {error}"
    return Examination(
        name=listed.tool.tool_id, kind=listed.tool.tool_kind, health="broken", told=told, code="workspace"
    )


def _read_definitions(workspace: Workspace) -> _CheckedDefinitions:
    """Reads the present definitions, and separates those with errors."""
    errors: dict[str, list[Diagnostic]] = defaultdict(list)
    for diagnostic in workspace.check().diagnostics:
        if diagnostic.severity is Severity.ERROR:
            errors[diagnostic.file].append(diagnostic)
    sources = (load(task.path, task.name) for task in workspace.select().everything)
    pieces = list(gather(sources, load_parts().dialects, workspace.namespace))
    # Diagnostics name files as people see them, and pieces do not.
    shown = {piece.file: show_path(os.path.join(workspace.root, piece.file)) for piece in pieces}
    sound = [piece for piece in pieces if piece.compiled is not None and shown[piece.file] not in errors]
    tools = [
        Examination(
            name=outline.tool_id,
            kind="definition",
            health="broken",
            told=_describe_first(errors[shown[piece.file]]),
            code="definition",
        )
        for piece in pieces
        if shown[piece.file] in errors
        for outline in piece.outlines
        if isinstance(outline, ToolOutline) and outline.tool_id
    ]
    named = {shown[piece.file] for piece in pieces if any(isinstance(one, ToolOutline) for one in piece.outlines)}
    others = [
        report_broken(file, _describe_first(found), "definition") for file, found in errors.items() if file not in named
    ]
    catalog, problem = _make_catalog(sound)
    return _CheckedDefinitions(catalog, tools, [*others, *problem])


def _make_catalog(pieces: list[SourcePiece]) -> tuple[CatalogView, list[Examination]]:
    contents, problem = _join_contents(pieces)
    if not contents.tools:
        return EmptyCatalog(), problem
    key = Ed25519PrivateKey.generate()
    return SealedCatalog(Catalog.from_bytes(contents.seal(key), [public_half(key)])), problem


def _join_contents(pieces: list[SourcePiece]) -> tuple[CatalogContents, list[Examination]]:
    """Joins the contents of valid files. If an agent names a tool of an invalid file, only tools are joined."""
    try:
        return collect_contents(pieces), []
    except (FerruleError, LookupError):
        only = [piece for piece in pieces if piece.compiled is not None and piece.compiled.tools]
        told = "agents and roles could not be joined with their tools, because other files have errors"
        return collect_contents(only), [report_line("definitions", "warned", told)]


def _describe_first(found: list[Diagnostic]) -> str:
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{first.rule} in line {first.line} of {first.file}: {first.message}{more}; 'ferrule check' tells more"


def _drop_broken_functions(
    workspace: Workspace, catalog: CatalogView, env: Mapping[str, str]
) -> tuple[Workspace, list[Examination]]:
    """Returns the workspace without functions that fail to load, and a finding for each of those."""
    said, root = workspace.settings.functions, workspace.root
    problems: list[Examination] = []

    def is_sound(name: str, find: Callable[[], Iterable[object]]) -> bool:
        try:
            # Each is joined by itself, so that a broken one hides no other.
            join_functions(catalog, find(), workspace.namespace, environment=env)
        except FerruleError as error:
            problems.append(
                report_broken(f"functions {name}", f"{error}; until then no call is made here", "functions")
            )
            return False
        return True

    modules = tuple(name for name in said.modules if is_sound(name, partial(load_modules, root, (name,), said.paths)))
    bind = {
        name: to
        for name, to in said.bind.items()
        if is_sound(name, partial(bind_functions, root, {name: to}, said.paths))
    }
    functions = msgspec.structs.replace(said, modules=modules, bind=bind)
    settings = msgspec.structs.replace(workspace.settings, functions=functions)
    return Workspace(root, settings, has_settings_file=workspace.has_settings_file), problems


def _choose_tools(
    catalog: CatalogView, broken: list[Examination], names: Collection[str]
) -> tuple[list[CatalogEntry], list[Examination]]:
    """Returns the named tools. Raises WorkspaceError for an unknown name."""
    preferred = catalog.list_preferred()
    if not names:
        return list(preferred), broken
    wanted: set[str] = set()
    for name in names:
        ids = set(catalog.find_ids(name)) | {found.name for found in broken if found.name == name}
        if not ids:
            known = [*(listed.tool.name for listed in preferred), *(found.name for found in broken)]
            raise WorkspaceError(f"there is no tool {name!r} here; {nearest(name, known) or 'ferrule list shows them'}")
        wanted |= ids
    chosen = [listed for listed in preferred if listed.tool.tool_id in wanted]
    return chosen, [found for found in broken if found.name in wanted]


async def _list_disabled(workspace: Workspace) -> list[str]:
    """Returns the ids of disabled tools."""
    with suppress(FerruleError):
        async with open_store(workspace.root) as store:
            return [switch.tool_id for switch in await store.list_disabled()]
    return []
