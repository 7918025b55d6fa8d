"""A folder of definitions: checks, compiles and selects its files. The wiring of the compiler, and public Python API.

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
from ferrule.workspace.check_pool import CheckedFile, check_tasks, decode
from ferrule.workspace.parts import build_page_url, list_rule_pages, load_parts

if TYPE_CHECKING:
    from ferrule.workspace.policy_files import PolicyChecker

_demand_network: Callable[..., None] = late("ferrule.workspace.network_check:demand_network")
# Late, because it imports the policy engine.
_policy: Callable[[Path, Settings], PolicyChecker] = late("ferrule.workspace.policy_files:PolicyChecker")

Progress = Callable[[int, int], None]
"""Called with the number of finished files and of all files."""

UNFOLLOWED = "FER-6"
_POLICY_FILES = ("policy.toml", ".ferrule/policy.local.toml")
_MEMBER_FOLDERS = frozenset({"tools", "agents", "iam"})
_BATCH = 50
_SHARED_FROM = 400
_SHARED_FROM_BYTES = 1024 * 1024
"""Below these a second process costs more than it saves."""
_CACHED_FROM = 64
"""Fewer files are checked faster than a cache is opened, unless they are large."""
_CACHED_FROM_BYTES = 256 * 1024


class CompiledFile(NamedTuple):
    """The compiled definitions of one file; those with errors are compiled as far as possible."""

    file: str
    compiled: tuple[Compiled, ...]


class FileSelection(NamedTuple):
    """The files of one check."""

    everything: tuple[FileTask, ...]
    """All files that references may resolve to."""
    wanted: frozenset[str]
    """Names of the files that are reported on."""
    is_closed: bool
    """True when a reference without a target is an error."""
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
            # Without a settings file, `ferrule check tools` means the workspace around that folder.
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
        Raises SettingsError for an unusable proxy or certificate of `[network]`.
        """
        if jobs is not None and jobs < 1:
            raise SettingsError(f"jobs must be at least 1, not {jobs}")
        chosen = (paths,) if isinstance(paths, str | Path) else paths
        network = self.settings.network
        if network.proxy or network.no_proxy or network.ca or network.tls:
            _demand_network(network, self.root)
        with _pause_garbage_collection():
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
            list_rule_pages,
        )
        selection = self.select(paths)
        reports = self.reports(selection, settings, use_cache=use_cache, jobs=jobs, progress=progress)
        library = self.build_library(reports, is_closed=selection.is_closed)
        shared = self._check_library(library, settings)
        diagnostics = [problem for problem in selection.problems if chosen.is_active(problem.rule)]
        kept = [report for report in reports if report.file in selection.wanted]
        kept += self._check_policy(paths, library)
        for report in kept:
            if report.diagnostics or report.suppressions or report.file in shared:
                diagnostics += chosen.filter_file(
                    report.file, merge(report, shared.get(report.file, []), chosen.is_active)
                )
        if not paths or any(os.path.abspath(path) == str(self.root) for path in paths):
            diagnostics += chosen.report_unused(self.root / FILE_NAME, FILE_NAME)
        shown = sorted(
            (self._show_file(diagnostic) for diagnostic in diagnostics), key=lambda diagnostic: diagnostic.order
        )
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
        pieces = gather(sources, load_parts().dialects, self.namespace)
        for file, group in groupby(pieces, key=lambda piece: piece.file):
            yield CompiledFile(file, tuple(piece.compiled for piece in group if piece.compiled is not None))

    def rule_settings(self, now: str | date | None = None, compat: bool | None = None) -> RuleSettings:
        """Returns the rules' settings, from the settings file and the caller. Raises SettingsError for an invalid date."""
        return RuleSettings(
            today=_format_date(now),
            approved_versions=self.settings.aml.approved_versions,
            compat=self.settings.check.compat if compat is None else compat,
            namespace=self.namespace,
        )

    def reports(
        self,
        selection: FileSelection,
        settings: RuleSettings,
        *,
        use_cache: bool = True,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> list[FileReport]:
        """Returns the report of each file on its own, from the cache where the file is certainly unchanged."""
        tasks = selection.everything
        cache = self._open_cache(settings) if use_cache and _is_much(tasks, _CACHED_FROM, _CACHED_FROM_BYTES) else None
        known = (
            {task.name: cache.find_report(task.name, task.path, named=task.named) for task in tasks} if cache else {}
        )
        left = [task for task in tasks if known.get(task.name) is None]
        if cache is None:  # files not reported on are only outlined, because no cache would keep their findings
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
    ) -> list[CheckedFile]:
        if min(jobs, len(tasks)) < 2 or not _is_much(tasks, _SHARED_FROM, _SHARED_FROM_BYTES):
            checked: list[CheckedFile] = []
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

    def build_library(self, reports: Sequence[FileReport], *, is_closed: bool = True) -> Library:
        """Returns all definitions of the files, by the names that other files use."""
        outlines = tuple(outline for report in reports for outline in report.outlines)
        folders = _list_folders(self.root) if is_closed else frozenset()
        guardrails = None
        if "guardrails" in folders:
            files = (report.file for report in reports if report.file.startswith("guardrails/"))
            guardrails = frozenset(file.rsplit("/", 1)[-1].split(".", 1)[0] for file in files)
        return Library(outlines, is_closed=is_closed, folders=folders, guardrails=guardrails)

    def select(self, paths: Sequence[str | Path] = ()) -> FileSelection:
        """Returns the files that a check of these paths covers. Raises WorkspaceError for a missing path."""
        chosen: dict[str, bool] = {}
        problems: dict[str, str] = {}
        is_closed = self.has_settings_file or not paths
        policy = {str(path) for path in self._find_policy_files().values()} if paths else ()
        for path in paths or (self.root,):
            absolute = os.path.abspath(path)
            if os.path.isdir(absolute):
                is_closed = True
                walk = FolderWalk(absolute, self.settings.check.exclude)
                for found in walk:
                    # A file that is also named stays a named one, in whatever order both come.
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
        prefix = self._build_prefix()
        tasks = tuple(FileTask(path, _relativize(path, prefix), named) for path, named in everything.items())
        wanted = frozenset(task.name for task in tasks if task.path in chosen)
        unfollowed = tuple(
            Diagnostic(
                UNFOLLOWED,
                Severity.WARNING,
                "",
                _relativize(path, prefix),
                *(1, 1, 1, 1),
                why,
                url=build_page_url(UNFOLLOWED),
            )
            for path, why in problems.items()
        )
        return FileSelection(tasks, wanted, is_closed, unfollowed)

    def _build_prefix(self) -> str:
        return str(self.root).rstrip(os.sep) + os.sep

    def _check_policy(self, paths: Sequence[str | Path], library: Library) -> list[FileReport]:
        """Returns the reports of the policy files: of all in a check of everything, else of the named ones."""
        files = self._find_policy_files()
        if not files:
            return []
        chosen = {os.path.abspath(path) for path in paths or (self.root,)}
        is_whole = str(self.root) in chosen
        wanted = [name for name, path in files.items() if is_whole or str(path) in chosen]
        found = _policy(self.root, self.settings).check(library, self.namespace) if wanted else {}
        return [self._build_policy_report(name, files[name], found.get(name, ())) for name in wanted]

    def _build_policy_report(self, name: str, path: Path, found: tuple[Diagnostic, ...]) -> FileReport:
        text = load(str(path), name).data.decode("utf-8", errors="replace")
        paged = tuple(replace(diagnostic, url=build_page_url(diagnostic.rule)) for diagnostic in found)
        return FileReport(name, "policy", diagnostics=paged, suppressions=find_suppressions(text))

    def _find_policy_files(self) -> dict[str, Path]:
        """Returns the workspace's policy files, by name; without any, the engine is not loaded."""
        usual = (self.root / name for name in _POLICY_FILES)
        if not self.has_settings_file or not (self.settings.policy or any(map(os.path.lexists, usual))):
            return {}
        return _policy(self.root, self.settings).find_paths()

    def _check_library(self, library: Library, settings: RuleSettings) -> dict[str, list[Diagnostic]]:
        shared: dict[str, list[Diagnostic]] = {}
        for diagnostic in check_library(
            library, load_parts(), settings, lambda name: load(str(self.root / name), name)
        ):
            shared.setdefault(diagnostic.file, []).append(diagnostic)
        return shared

    def _open_cache(self, settings: RuleSettings) -> CheckCache | None:
        folder = find_cache_folder(dict(os.environ))
        key = load_cache_key(folder)
        if key is None:
            return None
        place = hashlib.sha256(str(self.root).encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return CheckCache(folder / f"{place}.check", key, _compute_fingerprint(settings))

    def _show_file(self, diagnostic: Diagnostic) -> Diagnostic:
        """Returns the diagnostic with its file as displayed: relative to the current folder when it is inside it."""
        return replace(diagnostic, file=show_path(os.path.join(self.root, diagnostic.file)))


def _relativize(path: str, prefix: str) -> str:
    """Returns a path as in reports and caches: relative to the root, with forward slashes, when it is inside."""
    return path[len(prefix) :].replace(os.sep, "/") if path.startswith(prefix) else path


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Disables garbage collection: a check makes no cycles worth collecting, and looking for them takes a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _format_date(now: str | date | None) -> str:
    if now is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return date.fromisoformat(str(now)[:10] if isinstance(now, datetime) else str(now)).isoformat()
    except ValueError:
        raise SettingsError(f"{now!r} is not a date; write it as 2026-04-30") from None


def group_by_workspace(paths: Sequence[str | Path]) -> list[tuple[Workspace, list[str | Path]]]:
    """Groups paths by workspace; all that are in no workspace form one group."""
    groups: dict[Path | None, tuple[Workspace, list[str | Path]]] = {}
    for path in paths or (".",):
        workspace = Workspace.open(path)
        key = workspace.root if workspace.has_settings_file else None
        groups.setdefault(key, (workspace, []))[1].append(path)
    return list(groups.values())


def join_reports(reports: Sequence[Report]) -> Report:
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


def _list_folders(root: Path) -> frozenset[str]:
    with os.scandir(root) as listing:
        return frozenset(entry.name for entry in listing if os.path.isdir(entry.path))


def _is_much(tasks: Sequence[FileTask], count: int, size: int) -> bool:
    """Returns True for at least this many files, or this many bytes."""
    if len(tasks) >= count:
        return True
    sizes = (stat.size for task in tasks if (stat := read_stat(task.path)) is not None)
    return sum(sizes) >= size


def _compute_fingerprint(settings: RuleSettings) -> str:
    """Returns a digest that changes with the rules' settings and with the code of Ferrule."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    state = hashlib.sha256(msgspec.msgpack.encode(settings))
    # With another version of a rule, or one more, old findings prove nothing.
    for folder, _, names in sorted(os.walk(package)):
        for name in sorted(names):
            if name.endswith(".py"):
                facts = os.stat(os.path.join(folder, name))
                state.update(f"{name} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return state.hexdigest()


def show_path(path: str) -> str:
    """Returns a path as displayed: relative to the current folder when it is inside it."""
    relative = os.path.relpath(path)
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")
