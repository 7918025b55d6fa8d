"""Opens an app on a workspace: its catalog, its policy and its ledger.

async with open_app("./workspace") as app: ...
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from ferrule.app.app import App
from ferrule.app.assembly import Overrides, assemble
from ferrule.app.catalogs import Build, load_or_build_catalog
from ferrule.app.follower import Follower, make_sink_followers
from ferrule.app.ledger_file import make_ledger
from ferrule.app.parts import Parts
from ferrule.app.policy_source import WorkspacePolicy
from ferrule.contracts.executor import Executor
from ferrule.contracts.hook import Hook
from ferrule.contracts.policy import Classifier
from ferrule.contracts.sink import Sink
from ferrule.errors import BindingError, UnknownBinding, WorkspaceError
from ferrule.infra.clock import Clock
from ferrule.runtime.pipeline.redaction import guard_logs
from ferrule.runtime.surface.catalogs import EmptyCatalog
from ferrule.workspace.staleness import is_stale
from ferrule.workspace.workspace import Workspace


@asynccontextmanager
async def open_app(
    path: str | Path = ".",
    *,
    tools: Iterable[object] = (),
    build: Build = "missing",
    executors: Sequence[Executor] = (),
    hooks: Sequence[Hook] = (),
    classifiers: Iterable[Classifier] = (),
    sinks: Sequence[Sink] = (),
    rules: Sequence[Mapping[str, object]] = (),
    tends: bool = True,
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[App]:
    """Opens the workspace around a path as an app: its catalog, its policy and its ledger.

    `tools`: Python functions (or modules of them) marked with `ferrule.tool`. `build`: whether to build the catalog when
    it is `missing` (default), `always`, or `never`. `rules`: extra policy rules of this process (source `command`).
    `tends=False` leaves housekeeping to other processes: lost, expired and answered calls. Raises FerruleError.
    """
    workspace = Workspace.open(path)
    env = os.environ if environment is None else environment
    time = clock or Clock()
    given = tuple(tools)
    catalog = load_or_build_catalog(workspace, build)
    if isinstance(catalog, EmptyCatalog) and not (given or executors or workspace.has_settings_file):
        raise WorkspaceError(
            f"there is no workspace in {workspace.root}: neither a ferrule.toml nor a definition;"
            " 'ferrule init' makes one, or name another with --workspace"
        )
    store = make_ledger(workspace, time)
    overrides = Overrides(
        tools=given, executors=tuple(executors), hooks=tuple(hooks), classifiers=tuple(classifiers), tends=tends,
        policy=WorkspacePolicy(workspace.root, env, rules) if rules else None,
    )  # fmt: skip
    try:
        parts = assemble(workspace, catalog, store, time, env, overrides)
    except UnknownBinding as error:
        if build == "always" or not is_stale(workspace):
            raise
        raise BindingError(
            f"{error.label} is bound to {error.name!r}, which the catalog does not have, and definitions changed since it was"
            " built; 'ferrule build' builds it anew, and so does --build before a command"
        ) from None
    async with run_app(parts, make_followers(parts, workspace, sinks)) as app:
        yield app


def make_followers(parts: Parts, workspace: Workspace, sinks: Sequence[Sink]) -> list[Follower]:
    """Makes the followers that bring recorded events to the sinks of the settings, and to further ones. Raises
    SettingsError."""
    followers = make_sink_followers(workspace.settings.sinks, parts.store, source=parts.name, folder=workspace.root)
    return [*followers, *(Follower(parts.store, sink, source=parts.name) for sink in sinks)]


@asynccontextmanager
async def run_app(parts: Parts, followers: Iterable[Follower] = ()) -> AsyncIterator[App]:
    """Runs an app and the followers of its ledger, and closes them."""
    async with AsyncExitStack() as stack:
        if parts.services.redactor is not None:
            stack.callback(guard_logs(parts.services.redactor))
        app = await stack.enter_async_context(App(parts))
        for follower in followers:
            follower.start()
            stack.push_async_callback(follower.aclose)
        # Undone in reverse: what is queued is written, then sinks get it, and then the app closes the store.
        stack.push_async_callback(parts.store.flush)
        yield app
