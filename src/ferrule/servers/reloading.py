"""Hot reload: watches definitions, tool settings and the lock while the server runs, and swaps in a changed catalog as
one.

A change that cannot be built leaves the catalog in force, and the log says what to fix. `serving` starts it; it does
not know how a catalog is built.
"""

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
from ferrule.workspace.staleness import Stamps, read_all_stamps
from ferrule.workspace.workspace import Workspace

_EVERY_SECONDS = 1.0
_WITH_HELP_MS = 2_000
"""How often to look although watchfiles is installed: it reports changes in the folders of definitions at once, but not
changes elsewhere, nor those before it began to listen.
"""
_log = logging.getLogger("ferrule.serve")


class Reloading:
    """The watcher of one workspace, from `begin` until it is closed."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._task: asyncio.Task[None] | None = None
        self._seen: Stamps | None = None
        self._modules: Stamps | None = None
        self._last_problem = ""
        """The problem that was logged last, so that it is logged once."""
        self._is_refused = False
        """True while the definitions have errors."""

    async def catch_up(self) -> None:
        """Rebuilds the catalog when the files changed after it was built."""
        await self._check_for_changes()
        try:
            is_stale = await asyncio.to_thread(lambda: staleness.is_stale(Workspace.open(self._app.root)))
        except (FerruleError, OSError):  # the next look logs what is wrong
            return
        if is_stale:
            await self._rebuild()

    def begin(self, *, after_seconds: float | None = None) -> None:
        """Starts watching; with `after_seconds`, waits first and then catches up."""
        self._task = asyncio.create_task(self._watch(after_seconds), name="ferrule looks for changed definitions")

    async def aclose(self) -> None:
        """Stops watching."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self, after_seconds: float | None) -> None:
        if after_seconds is not None:
            await asyncio.sleep(after_seconds)
            await self.catch_up()
        if find_spec("watchfiles") is None:
            while True:
                await self._check_for_changes()
                await asyncio.sleep(_EVERY_SECONDS)
        awatch = import_module("watchfiles").awatch
        await self._check_for_changes()
        while True:
            folders = self._folders()
            try:
                async with aclosing(
                    # Not recursive: `.ferrule/` lies below the root, and every call writes to it.
                    awatch(*folders, recursive=False, yield_on_timeout=True, rust_timeout=_WITH_HELP_MS)
                ) as changes:
                    async for _ in changes:
                        await self._check_for_changes()
                        if self._folders() != folders:
                            break
            except FileNotFoundError:  # a folder is gone since it was looked at
                await asyncio.sleep(_EVERY_SECONDS)
                await self._check_for_changes()

    def _folders(self) -> set[str]:
        """Returns the folders to watch. Not the whole workspace: the ledger in it changes all the time."""
        files = (*(self._seen or ()), *(os.path.join(self._app.root, name) for name in self._modules or ()))
        return {str(self._app.root), *map(os.path.dirname, files)}

    async def _check_for_changes(self) -> None:
        try:
            now, modules = await asyncio.to_thread(_read_stamps, self._app.root)
        except FerruleError as error:  # half-written settings, or a file gone for a moment
            if str(error) != self._last_problem:
                self._last_problem = str(error)
                _log.warning("the definitions cannot be looked at: %s", error)
            return
        if self._last_problem:
            self._last_problem = ""
            _log.warning("the definitions can be looked at again")
        self._report_changed_functions(modules)
        before, self._seen = self._seen, now
        if before is not None and now != before:
            await self._rebuild()

    def _report_changed_functions(self, now: Stamps) -> None:
        """Logs which Python modules changed: they are loaded once, so the change waits for the next start."""
        before, self._modules = self._modules, now
        changed = [] if before is None else sorted(name for name in now if now[name] != before.get(name))
        if changed:
            _log.warning("%s changed: functions are read at the start, so start again to take it", ", ".join(changed))

    async def _rebuild(self) -> None:
        try:
            is_changed = await self._app.rebuild()
            if is_changed or self._is_refused:
                said = "the definitions changed" if is_changed else "the definitions are fixed"
                _log.warning("%s: %d tools now", said, len(self._app.catalog.list_preferred()))
            self._is_refused = False
        except BuildRefused as error:
            self._is_refused = True
            _log.error(
                "the definitions changed and have mistakes, so the catalog stays as it is: %s", _explain_refusal(error)
            )
        except FerruleError as error:
            _log.error("the changed definitions cannot be used, so the catalog stays as it is: %s", error)
        except Exception:  # a bug of ours must not stop the watching
            _log.exception("the changed definitions could not be read")


def _read_stamps(root: Path) -> tuple[Stamps, Stamps]:
    """Returns the stamps of the catalog's sources, and of the modules with functions by their names in the settings."""
    names = load_settings(root).functions.modules
    return read_all_stamps(Workspace.open(root)), {
        name: _read_stamp(root / name) for name in names if name.endswith(".py")
    }


def _read_stamp(file: Path) -> tuple[int, int]:
    try:
        facts = file.stat()
    except OSError:  # gone for a moment, as editors do
        return 0, 0
    return facts.st_mtime_ns, facts.st_size


def _explain_refusal(refused: BuildRefused) -> str:
    """Returns why nothing was built: the first error with its place, where there is one."""
    found = refused.report.diagnostics if isinstance(refused.report, Report) else ()
    errors = [each for each in found if each.severity is Severity.ERROR]
    if not errors:
        return str(refused)
    first, more = errors[0], f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"{first.file}:{first.line}: {first.rule} {first.message}{more}; 'ferrule check' shows what to do"
