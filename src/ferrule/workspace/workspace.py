"""A folder of definitions and what can be asked of it: the wiring of the compiler, and the public Python API.

workspace = Workspace.open("path")
for diagnostic in workspace.check().diagnostics:
    print(diagnostic.file, diagnostic.line, diagnostic.message)
"""

from __future__ import annotations

import gc
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from ferrule.contracts.registry import late
from ferrule.contracts.rule import RuleSettings
from ferrule.definitions.compiler import pool
from ferrule.definitions.compiler.cache import CheckCache, find_cache_folder, load_cache_key, read_stat
from ferrule.definitions.compiler.check import check_library, merge
from ferrule.definitions.compiler.discover import FolderWalk, load
from ferrule.definitions.compiler.filter import DiagnosticFilter
from ferrule.definitions.compiler.gather import gather
from ferrule.definitions.compiler.pool import FileTask
from ferrule.definitions.compiler.suppress import find_suppressions
from ferrule.errors import SettingsError, WorkspaceError
from ferrule.model.diagnostic import Diagnostic, FileReport, Report, Severity, summarise
from ferrule.model.outline import Library
from ferrule.model.tool import Compiled
from ferrule.settings import FILE_NAME, Settings, load_settings
from ferrule.workspace.check_pool import Checked, check_tasks, decode
from ferrule.workspace.parts import page_of, parts, rule_pages

if TYPE_CHECKING:
    from ferrule.workspace.policy_files import PolicyFiles

_demand_network: Callable[..., None] = late("ferrule.workspace.network_check:demand_network")
_policy: Callable[[Path, Settings], PolicyFiles] = late(
    "ferrule.workspace.policy_files:PolicyFiles"
)  # brings the engine

Progress = Callable[[int, int], None]
"""Told how many files are done, and how many there are."""

UNFOLLOWED = "FER-6"
_POLICY_FILES = ("policy.toml", ".ferrule/policy.local.toml")
_MEMBER_FOLDERS = frozenset({"tools", "agents", "iam"})
_BATCH = 50
_SHARED_FROM = 400
_SHARED_FROM_BYTES = 1024 * 1024
"""Below this a second process costs more than it saves."""
_CACHED_FROM = 64
"""Fewer files are checked faster than a cache is opened, unless they are large."""
_CACHED_FROM_BYTES = 256 * 1024


class CompiledFile(NamedTuple):
    """What one file's definitions became. Files with errors in them are compiled as far as they can be."""

    file: str
    compiled: tuple[Compiled, ...]


class Selection(NamedTuple):
    """The files of one check."""

    everything: tuple[FileTask, ...]
    """All that references may resolve to."""
    wanted: frozenset[str]
    """Names of those that are reported on."""
    is_closed: bool
    """True when a reference to something that is not there is an error."""
    problems: tuple[Diagnostic, ...] = ()
    """Links and folders that could not be followed."""


class Workspace:
    """A folder of definitions with its settings."""

    def __init__(self, root: Path, settings: Settings, *, has_settings_file: bool) -> None:
        self.root = root
        self.settings = settings
        self.has_settings_file = has_settings_file
        """False for a bare folder or file without a ferrule.toml above it."""

    @classmethod
    def open(cls, path: str | Path = ".") -> Workspace:
        """Returns the workspace around a path: the nearest folder above it with a ferrule.toml, else the folder itself.

        Raises WorkspaceError when there is no such path, SettingsError when ferrule.toml cannot be used.
        """
        try:
            start = Path(os.path.abspath(path))
            if not os.path.lexists(start):
                raise WorkspaceError(f"there is no file or folder {str(path)!r}")
            folder = start if start.is_dir() else start.parent
            for candidate in (folder, *folder.parents):
                if os.path.lexists(candidate / FILE_NAME):
                    return cls(candidate, load_settings(candidate), has_settings_file=True)
            while folder.name in _MEMBER_FOLDERS and start.is_dir():
                folder = folder.parent
        except FileNotFoundError:
            raise WorkspaceError("the current folder is not there any more; change to one that is") from None
        except OSError as error:
            raise WorkspaceError(f"{str(path)!r} cannot be opened: {error.strerror or error}") from None
        return cls(folder, Settings(), has_settings_file=False)

    @property
    def namespace(self) -> str:
        """The namespace of AML tools."""
        return self.settings.namespace or self.root.name or "default"

    def check(
        self,
        paths: Sequence[str | Path] | str | Path = (),
        *,
        now: str | date | None = None,
        compat: bool | None = None,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        use_cache: bool = True,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Checks the workspace, or only some of its files and folders (references still resolve against all of it).

        `now` is the ISO date for rules about age. `select` and `ignore` take rule codes or prefixes such as `AML`.
        Raises SettingsError for a proxy or a certificate of `[network]` that could never be used.
        """
        if jobs is not None and jobs < 1:
            raise SettingsError(f"jobs must be at least 1, not {jobs}")
        chosen = (paths,) if isinstance(paths, str | Path) else paths
        network = self.settings.network
        if network.proxy or network.no_proxy or network.ca or network.tls:
            _demand_network(network, self.root)
        with _without_collector():
            return self._check(chosen, self.rule_settings(now, compat), select, ignore, use_cache, jobs, progress)

    def _check(
        self,
        paths: Sequence[str | Path],
        settings: RuleSettings,
        select: Sequence[str],
        ignore: Sequence[str],
        use_cache: bool,
        jobs: int | None,
        progress: Progress | None,
    ) -> Report:
        started = time.perf_counter()
        chosen = DiagnosticFilter.build(
            (*self.settings.check.select, *select),
            (*self.settings.check.ignore, *ignore),
            self.settings.check.suppress,
            rule_pages,
        )
        selection = self.select(paths)
        reports = self.reports(selection, settings, use_cache=use_cache, jobs=jobs, progress=progress)
        library = self.library(reports, is_closed=selection.is_closed)
        shared = self._shared(library, settings)
        diagnostics = [problem for problem in selection.problems if chosen.is_active(problem.rule)]
        kept = [report for report in reports if report.file in selection.wanted]
        kept += self._policy_reports(paths, library)
        for report in kept:
            if report.diagnostics or report.suppressions or report.file in shared:
                diagnostics += chosen.filter_file(
                    report.file, merge(report, shared.get(report.file, []), chosen.is_active)
                )
        if not paths or any(os.path.abspath(path) == str(self.root) for path in paths):
            diagnostics += chosen.report_unused(self.root / FILE_NAME, FILE_NAME)
        shown = sorted((self._shown(diagnostic) for diagnostic in diagnostics), key=lambda diagnostic: diagnostic.order)
        files = sum(report.dialect is not None or bool(report.diagnostics) for report in kept)
        tools = sum(report.tools for report in kept)
        seconds = time.perf_counter() - started
        return Report(tuple(shown), summarise(tuple(shown), files=files, tools=tools, seconds=seconds))

    def demand_policy_engine(self, paths: Sequence[str | Path] = ()) -> None:
        """Raises ExtraMissing if the policy, or the policy files among these paths, need an engine that is not installed."""
        if "engine" in self.settings.policy:  # the engine that needs no extra is the default
            chosen = {os.path.abspath(path) for path in paths or (self.root,)}
            _policy(self.root, self.settings).demand_engine(None if str(self.root) in chosen else chosen)

    def compile(self, paths: Sequence[str | Path] = ()) -> Iterator[CompiledFile]:
        """Yields the definitions in the canonical model, file by file. Definitions that cannot be compiled are left out."""
        selection = self.select(paths)
        sources = (load(task.path, task.name) for task in selection.everything if task.name in selection.wanted)
        pieces = gather(sources, parts().dialects, self.namespace)
        for file, group in groupby(pieces, key=lambda piece: piece.file):
            yield CompiledFile(file, tuple(piece.compiled for piece in group if piece.compiled is not None))

    def rule_settings(self, now: str | date | None = None, compat: bool | None = None) -> RuleSettings:
        """What rules may depend on, from the settings file and the caller. Raises SettingsError for a date that is none."""
        return RuleSettings(
            today=_iso_date(now),
            approved_versions=self.settings.aml.approved_versions,
            compat=self.settings.check.compat if compat is None else compat,
            namespace=self.namespace,
        )

    def reports(
        self,
        selection: Selection,
        settings: RuleSettings,
        *,
        use_cache: bool = True,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> list[FileReport]:
        """What every file gives on its own, from the cache where it is certainly unchanged."""
        tasks = selection.everything
        cache = self._cache(settings) if use_cache and _is_much(tasks, _CACHED_FROM, _CACHED_FROM_BYTES) else None
        known = (
            {task.name: cache.find_report(task.name, task.path, named=task.named) for task in tasks} if cache else {}
        )
        left = [task for task in tasks if known.get(task.name) is None]
        if cache is None:  # nothing to remember: of files not reported on, only what they define is worked out
            left = [task if task.name in selection.wanted else replace(task, is_wanted=False) for task in left]
        checked = self._check_all(left, settings, jobs or os.cpu_count() or 1, progress)
        fresh = {task.name: result for task, result in zip(left, checked, strict=True)}
        if cache is not None:
            for task, result in zip(left, checked, strict=True):
                cache.add(task.name, result.stat, result.digest, result.report, named=task.named)
            cache.save()
        return [known.get(task.name) or fresh[task.name].report for task in tasks]

    def _check_all(
        self, tasks: list[FileTask], settings: RuleSettings, jobs: int, progress: Progress | None
    ) -> list[Checked]:
        if min(jobs, len(tasks)) < 2 or not _is_much(tasks, _SHARED_FROM, _SHARED_FROM_BYTES):
            checked: list[Checked] = []
            for first in range(0, len(tasks), _BATCH):
                checked += check_tasks(tasks[first : first + _BATCH], settings)
                if progress is not None:
                    progress(len(checked), len(tasks))
            return checked
        return pool.run(
            tasks,
            lambda batch: check_tasks(batch, settings),
            decode,
            msgspec.msgpack.encode(settings),
            jobs=jobs,
            module="ferrule.workspace.check_pool",
            progress=progress,
        )

    def library(self, reports: Sequence[FileReport], *, is_closed: bool = True) -> Library:
        """Everything the files define, by the names other files use."""
        outlines = tuple(outline for report in reports for outline in report.outlines)
        folders = _folders(self.root) if is_closed else frozenset()
        guardrails = None
        if "guardrails" in folders:
            files = (report.file for report in reports if report.file.startswith("guardrails/"))
            guardrails = frozenset(file.rsplit("/", 1)[-1].split(".", 1)[0] for file in files)
        return Library(outlines, is_closed=is_closed, folders=folders, guardrails=guardrails)

    def select(self, paths: Sequence[str | Path] = ()) -> Selection:
        """Returns the files a check of these paths concerns. Raises WorkspaceError for a path that is not there."""
        chosen: dict[str, bool] = {}
        problems: dict[str, str] = {}
        is_closed = self.has_settings_file or not paths
        policy = {str(path) for path in self._policy_files().values()} if paths else ()
        for path in paths or (self.root,):
            absolute = os.path.abspath(path)
            if os.path.isdir(absolute):
                is_closed = True
                walk = FolderWalk(absolute, self.settings.check.exclude)
                for found in walk:
                    chosen.setdefault(found, False)
                problems.update(walk.problems)
            elif absolute in policy:  # no definition, and checked beside them
                continue
            elif os.path.lexists(absolute):
                chosen[absolute] = True
            else:
                raise WorkspaceError(f"there is no file or folder {str(path)!r}")
        everything = dict(chosen)
        if is_closed and not any(os.path.abspath(path) == str(self.root) for path in paths or (self.root,)):
            for found in FolderWalk(str(self.root), self.settings.check.exclude):
                everything.setdefault(found, False)
        prefix = self._prefix()
        tasks = tuple(FileTask(path, _name(path, prefix), named) for path, named in everything.items())
        wanted = frozenset(task.name for task in tasks if task.path in chosen)
        unfollowed = tuple(
            Diagnostic(UNFOLLOWED, Severity.WARNING, "", _name(path, prefix), 1, 1, 1, 1, why, url=page_of(UNFOLLOWED))
            for path, why in problems.items()
        )
        return Selection(tasks, wanted, is_closed, unfollowed)

    def _prefix(self) -> str:
        return str(self.root).rstrip(os.sep) + os.sep

    def _policy_reports(self, paths: Sequence[str | Path], library: Library) -> list[FileReport]:
        """What the files of the policy give: all of them in a check of everything, else those that were named."""
        files = self._policy_files()
        if not files:
            return []
        chosen = {os.path.abspath(path) for path in paths or (self.root,)}
        is_whole = str(self.root) in chosen
        wanted = [name for name, path in files.items() if is_whole or str(path) in chosen]
        found = _policy(self.root, self.settings).check(library, self.namespace) if wanted else {}
        return [self._policy_report(name, files[name], found.get(name, ())) for name in wanted]

    def _policy_report(self, name: str, path: Path, found: tuple[Diagnostic, ...]) -> FileReport:
        text = load(str(path), name).data.decode("utf-8", errors="replace")
        paged = tuple(replace(diagnostic, url=page_of(diagnostic.rule)) for diagnostic in found)
        return FileReport(name, "policy", diagnostics=paged, suppressions=find_suppressions(text))

    def _policy_files(self) -> dict[str, Path]:
        """Returns the files of the workspace's policy, by name; looked for without loading the engine where there are none."""
        usual = (self.root / name for name in _POLICY_FILES)
        if not self.has_settings_file or not (self.settings.policy or any(map(os.path.lexists, usual))):
            return {}
        return _policy(self.root, self.settings).paths()

    def _shared(self, library: Library, settings: RuleSettings) -> dict[str, list[Diagnostic]]:
        shared: dict[str, list[Diagnostic]] = {}
        for diagnostic in check_library(library, parts(), settings, lambda name: load(str(self.root / name), name)):
            shared.setdefault(diagnostic.file, []).append(diagnostic)
        return shared

    def _cache(self, settings: RuleSettings) -> CheckCache | None:
        folder = find_cache_folder(dict(os.environ))
        key = load_cache_key(folder)
        if key is None:
            return None
        place = hashlib.sha256(str(self.root).encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return CheckCache(folder / f"{place}.check", key, _fingerprint(settings))

    def _shown(self, diagnostic: Diagnostic) -> Diagnostic:
        """Returns the diagnostic with its file as people see it: relative to the current folder when it is inside it."""
        return replace(diagnostic, file=show_path(os.path.join(self.root, diagnostic.file)))


def _name(path: str, prefix: str) -> str:
    """Returns a path as reports and caches know it: relative to the root, with forward slashes, when it is inside."""
    return path[len(prefix) :].replace(os.sep, "/") if path.startswith(prefix) else path


@contextmanager
def _without_collector() -> Iterator[None]:
    """Checking makes no cycles worth collecting, and looking for them costs a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _iso_date(now: str | date | None) -> str:
    if now is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return date.fromisoformat(str(now)[:10] if isinstance(now, datetime) else str(now)).isoformat()
    except ValueError:
        raise SettingsError(f"{now!r} is not a date; write it as 2026-04-30") from None


def by_workspace(paths: Sequence[str | Path]) -> list[tuple[Workspace, list[str | Path]]]:
    """Paths with the workspace each belongs to; all that lie in no workspace go together."""
    groups: dict[Path | None, tuple[Workspace, list[str | Path]]] = {}
    for path in paths or (".",):
        workspace = Workspace.open(path)
        key = workspace.root if workspace.has_settings_file else None
        groups.setdefault(key, (workspace, []))[1].append(path)
    return list(groups.values())


def joined(reports: Sequence[Report]) -> Report:
    """Returns the reports of several workspaces as one."""
    diagnostics = tuple(sorted((found for report in reports for found in report.diagnostics), key=lambda d: d.order))
    summaries = [report.summary for report in reports]
    return Report(
        diagnostics,
        summarise(
            diagnostics,
            files=sum(summary.files for summary in summaries),
            tools=sum(summary.tools for summary in summaries),
            seconds=sum(summary.seconds for summary in summaries),
        ),
    )


def _folders(root: Path) -> frozenset[str]:
    with os.scandir(root) as listing:
        return frozenset(entry.name for entry in listing if os.path.isdir(entry.path))


def _is_much(tasks: Sequence[FileTask], count: int, size: int) -> bool:
    """Returns True for at least so many files, or so many bytes of them."""
    if len(tasks) >= count:
        return True
    sizes = (stat.size for task in tasks if (stat := read_stat(task.path)) is not None)
    return sum(sizes) >= size


def _fingerprint(settings: RuleSettings) -> str:
    """Changes with the rules' settings and with any change of Ferrule itself."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    state = hashlib.sha256(msgspec.msgpack.encode(settings))
    for folder, _, names in sorted(os.walk(package)):
        for name in sorted(names):
            if name.endswith(".py"):
                facts = os.stat(os.path.join(folder, name))
                state.update(f"{name} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return state.hexdigest()


def show_path(path: str) -> str:
    """Returns a path as people see it: relative to the current folder when it is inside it."""
    relative = os.path.relpath(path)
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")
