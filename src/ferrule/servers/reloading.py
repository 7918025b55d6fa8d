"""Hot reload: definitions, settings of tools and the lock are looked at while the server runs, and a changed catalog is swapped
in whole. What cannot be built changes nothing: the catalog in force stays, and the log tells what to mend."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import aclosing, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ferrule.app.app import App
from ferrule.errors import BuildRefused, FerruleError
from ferrule.model.diagnostic import Report, Severity
from ferrule.settings import load_settings
from ferrule.workspace import staleness
from ferrule.workspace.staleness import Stamps, stamps_of
from ferrule.workspace.workspace import Workspace

_EVERY_SECONDS = 1.0
_WITH_HELP_MS = 2_000
"""How often to look with watchfiles, which tells at once of changes where definitions stand, but not of those elsewhere, nor
of those before it began to listen."""
_log = logging.getLogger("ferrule.serve")


class Reloading:
    """Looks for changes of one workspace, once it was told to begin, until it is closed."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._task: asyncio.Task[None] | None = None
        self._seen: Stamps | None = None
        self._modules: Stamps | None = None
        self._told = ""
        """The problem that the log has already."""
        self._is_refused = False
        """True while the definitions have mistakes."""

    async def catch_up(self) -> None:
        """Take in what changed while nobody looked: since the catalog was built."""
        await self._look()
        try:
            is_stale = await asyncio.to_thread(lambda: staleness.is_stale(Workspace.open(self._app.root)))
        except (FerruleError, OSError):  # whoever looks next says what is wrong
            return
        if is_stale:
            await self._rebuild()

    def begin(self, *, after_seconds: float | None = None) -> None:
        """Look from now on; or catch up after a while, and look from then on."""
        self._task = asyncio.create_task(self._forever(after_seconds), name="ferrule looks for changed definitions")

    async def aclose(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _forever(self, after_seconds: float | None) -> None:
        if after_seconds is not None:
            await asyncio.sleep(after_seconds)
            await self.catch_up()
        if find_spec("watchfiles") is None:
            while True:
                await self._look()
                await asyncio.sleep(_EVERY_SECONDS)
        awatch = import_module("watchfiles").awatch
        await self._look()
        while True:
            folders = self._folders()
            try:
                async with aclosing(
                    awatch(*folders, recursive=False, yield_on_timeout=True, rust_timeout=_WITH_HELP_MS)
                ) as changes:
                    async for _ in changes:
                        await self._look()
                        if self._folders() != folders:
                            break
            except FileNotFoundError:  # a folder is gone since it was looked at
                await asyncio.sleep(_EVERY_SECONDS)
                await self._look()

    def _folders(self) -> set[str]:
        """Where changes are expected. Not all of the workspace: its ledger is written to all the time."""
        files = (*(self._seen or ()), *(os.path.join(self._app.root, name) for name in self._modules or ()))
        return {str(self._app.root), *map(os.path.dirname, files)}

    async def _look(self) -> None:
        try:
            now, modules = await asyncio.to_thread(_stamps, self._app.root)
        except FerruleError as error:  # settings half written, a file gone for a moment
            if str(error) != self._told:
                self._told = str(error)
                _log.warning("the definitions cannot be looked at: %s", error)
            return
        if self._told:
            self._told = ""
            _log.warning("the definitions can be looked at again")
        self._tell_of_functions(modules)
        before, self._seen = self._seen, now
        if before is not None and now != before:
            await self._rebuild()

    def _tell_of_functions(self, now: Stamps) -> None:
        """Python modules are loaded once: what they say now is for the next start."""
        before, self._modules = self._modules, now
        changed = [] if before is None else sorted(name for name in now if now[name] != before.get(name))
        if changed:
            _log.warning("%s changed: functions are read at the start, so start again to take it", ", ".join(changed))

    async def _rebuild(self) -> None:
        try:
            is_changed = await self._app.rebuild()
            if is_changed or self._is_refused:
                said = "the definitions changed" if is_changed else "the definitions are mended"
                _log.warning("%s: %d tools now", said, len(self._app.catalog.list_preferred()))
            self._is_refused = False
        except BuildRefused as error:
            self._is_refused = True
            _log.error("the definitions changed and have mistakes, so the catalog stays as it is: %s", _first(error))
        except FerruleError as error:
            _log.error("the changed definitions cannot be used, so the catalog stays as it is: %s", error)
        except Exception:  # a mistake of ours must not end the looking
            _log.exception("the changed definitions could not be read")


def _stamps(root: Path) -> tuple[Stamps, Stamps]:
    """Of what the catalog is made of, and of the files with functions, by their names in the settings."""
    names = load_settings(root).functions.modules
    return stamps_of(Workspace.open(root)), {name: _stamp(root / name) for name in names if name.endswith(".py")}


def _stamp(file: Path) -> tuple[int, int]:
    try:
        facts = file.stat()
    except OSError:  # gone for a moment, as editors do
        return 0, 0
    return facts.st_mtime_ns, facts.st_size


def _first(refused: BuildRefused) -> str:
    """Why nothing was built: the first mistake at its place, where there is one."""
    found = refused.report.diagnostics if isinstance(refused.report, Report) else ()
    errors = [each for each in found if each.severity is Severity.ERROR]
    if not errors:
        return str(refused)
    first, more = errors[0], f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"{first.file}:{first.line}: {first.rule} {first.message}{more}; 'ferrule check' shows what to do"
