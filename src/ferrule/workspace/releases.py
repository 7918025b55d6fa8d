"""Builds, publishes and compares workspaces: the wiring of the compiler's second half.

built = build(Workspace.open("."))
published = publish(Workspace.open("."), by="ada", at="2026-01-31T12:00:00Z")
difference = diff(Workspace.open("."))
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.definitions.compiler import release as records
from ferrule.definitions.compiler.build import CatalogContents, collect_contents
from ferrule.definitions.compiler.compare import compare, snapshot_catalog
from ferrule.definitions.compiler.discover import load
from ferrule.definitions.compiler.filter import DiagnosticFilter
from ferrule.definitions.compiler.gather import SourcePiece, gather
from ferrule.definitions.compiler.judge import ComparedFiles, judge
from ferrule.definitions.compiler.release import Release
from ferrule.definitions.compiler.seal import (
    KEY_FILE,
    PUBLIC_FILE,
    load_key,
    make_key,
    public_half,
    read_trusted_keys,
    trust,
)
from ferrule.errors import BuildRefused, CatalogError, WorkspaceError
from ferrule.infra.atomic_files import write_whole
from ferrule.model.catalog import Catalog
from ferrule.model.change import ComparedTool, Comparison
from ferrule.model.diagnostic import Diagnostic, Report, Severity, summarise
from ferrule.workspace.parts import list_compat_rules, list_rule_pages, load_parts
from ferrule.workspace.snapshots import (
    ComparisonSide,
    load_catalog_side,
    load_path_side,
    load_revision_side,
    report_progress,
)
from ferrule.workspace.staleness import CATALOG_FILE as CATALOG_FILE
from ferrule.workspace.staleness import load_catalog as load_catalog
from ferrule.workspace.staleness import read_stamps, record_build
from ferrule.workspace.workspace import Progress, Workspace, show_path

_SECRETS = frozenset({"AML-71", "OXP-16"})
"""Rules that find secret values. No suppression admits those to a catalog."""
_ROLELESS = "AML-93"


class BuildResult(NamedTuple):
    """The outcome of a build."""

    path: Path
    digest: str
    contents: CatalogContents
    report: Report
    """The check before it: no errors, perhaps warnings."""
    new_key: Path | None
    """The private key, when it was just made."""
    is_newly_trusted: bool
    """True when the key's public half was added to `ferrule.pub`."""
    seconds: float


class PublishResult(NamedTuple):
    """The outcome of publishing."""

    release: Release
    is_new: bool
    """False when the last release has the same content, so nothing was done."""
    built: BuildResult
    difference: CatalogDifference | None
    """The changes since the release before; None for the first."""


class CatalogDifference(NamedTuple):
    """Two states compared, and the findings about the change."""

    comparison: Comparison
    report: Report
    published: str
    """The old state's name."""
    candidate: str
    texts: Mapping[str, str]
    """Texts of files in reports that are not on disk."""
    unread: tuple[str, ...] = ()
    """Files of the candidate that cannot be parsed, so their definitions were not compared."""


def build(
    workspace: Workspace,
    output: str | Path | None = None,
    *,
    key_file: str | Path | None = None,
    now: str | None = None,
    progress: Progress | None = None,
) -> BuildResult:
    """Checks a workspace and writes its sealed catalog. Raises BuildRefused (with the report) when there are errors."""
    started = time.perf_counter()
    seen = read_stamps(workspace)
    contents, pieces, report = _compile_checked(workspace, now, progress)
    key, new_key, is_newly_trusted = load_or_make_key(workspace, key_file)
    data = contents.seal(key)
    path = Path(output) if output is not None else workspace.root / CATALOG_FILE
    write_whole(path, data)
    if output is None:
        record_build(workspace, seen, (piece.file for piece in pieces))
    digest = Catalog.from_bytes(data, [public_half(key)]).digest
    return BuildResult(path, digest, contents, report, new_key, is_newly_trusted, time.perf_counter() - started)


def build_in_memory(workspace: Workspace) -> Catalog:
    """Compiles a workspace to a catalog sealed with a temporary key, without writing it. Raises BuildRefused."""
    key = Ed25519PrivateKey.generate()
    return Catalog.from_bytes(_compile_checked(workspace, None, None)[0].seal(key), [public_half(key)])


def publish(
    workspace: Workspace,
    *,
    by: str,
    at: str,
    message: str | None = None,
    approved_by: str | None = None,
    key_file: str | Path | None = None,
    now: str | None = None,
    progress: Progress | None = None,
) -> PublishResult:
    """Builds, compares with the last release, and records a new one. Raises BuildRefused (with the report) on any error."""
    started = time.perf_counter()
    seen = read_stamps(workspace)
    contents, pieces, report = _compile_checked(workspace, now, progress)
    _refuse_roleless(pieces, report, workspace)
    key, new_key, is_newly_trusted = load_or_make_key(workspace, key_file)
    folder = workspace.root / records.FOLDER
    history = records.read_releases(folder, read_trusted_keys(workspace.root / PUBLIC_FILE))
    difference = diff(workspace, now=now, progress=progress) if history else None
    if difference is not None and difference.report.has_errors:
        raise BuildRefused("the change from the last release has errors; nothing was published", difference.report)
    data = contents.seal(key)
    catalog = Catalog.from_bytes(data, [public_half(key)])
    path = workspace.root / CATALOG_FILE
    last = history[-1] if history else None
    is_new = last is None or last.digest != catalog.digest
    # `is_new` covers both; the second half tells the type checker.
    if is_new or last is None:
        draft = Release(
            number=len(history) + 1,
            digest=catalog.digest,
            released_at=at,
            released_by=by,
            approved_by=approved_by,
            message=message,
            tools={tool.tool_id: tool.version or "" for tool in contents.tools},
            previous=records.hash_record(folder, last) if last is not None else None,
        )
        last = records.record(folder, draft, data, key)
    write_whole(path, data)
    record_build(workspace, seen, (piece.file for piece in pieces))
    seconds = time.perf_counter() - started
    built = BuildResult(path, catalog.digest, contents, report, new_key, is_newly_trusted, seconds)
    return PublishResult(last, is_new, built, difference)


def diff(
    workspace: Workspace,
    published: str | None = None,
    candidate: str | None = None,
    *,
    now: str | None = None,
    progress: Progress | None = None,
) -> CatalogDifference:
    """Compares what was published (by default the last release) with a candidate (by default the workspace)."""
    started = time.perf_counter()
    with (
        _load_side(workspace, published, progress) if published is not None else load_last_release(workspace) as old,
        _load_side(workspace, str(workspace.root) if candidate is None else candidate, progress) as new,
    ):
        comparison = compare(old.snapshot, new.snapshot)
        places = ComparedFiles(old.source_of, new.source_of, old.shown, new.shown)
        judged = judge(comparison, list_compat_rules(), load_parts(), workspace.rule_settings(now), places)
        diagnostics = _filter_diagnostics(workspace, judged)
        texts = {
            diagnostic.file: text
            for diagnostic in diagnostics
            if (text := _find_text(diagnostic, new, old)) is not None
        }
    files = len({part.outline.file for part in new.snapshot.parts})
    seconds = time.perf_counter() - started
    summary = summarise(diagnostics, files=files, tools=len(new.snapshot.parts), seconds=seconds)
    return CatalogDifference(comparison, Report(diagnostics, summary), old.name, new.name, texts, new.unread)


def _filter_diagnostics(workspace: Workspace, diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Returns the diagnostics that ferrule.toml does not silence."""
    check = workspace.settings.check
    chosen = DiagnosticFilter.build(check.select, check.ignore, check.suppress, list_rule_pages)
    kept = []
    for diagnostic in diagnostics:
        file = os.path.relpath(os.path.abspath(diagnostic.file), workspace.root).replace(os.sep, "/")
        kept += chosen.filter_file(file, [diagnostic])
    return tuple(kept)


def load_last_release(workspace: Workspace) -> ComparisonSide:
    """Returns the last release as a side of a comparison. Raises WorkspaceError when there is none."""
    folder, keys = workspace.root / records.FOLDER, read_trusted_keys(workspace.root / PUBLIC_FILE)
    history = records.read_releases(folder, keys)
    if not history:
        raise WorkspaceError(
            "nothing is published yet, so there is nothing to compare with;"
            " name two states ('ferrule diff OLD NEW'), or publish first"
        )
    side = load_catalog_side(_load_release(folder, history[-1], keys), f"release {history[-1].number}")
    return side.add_withdrawn(_find_withdrawn(folder, history, keys))


def _load_release(folder: Path, release: Release, keys: tuple[bytes, ...]) -> Catalog:
    catalog = Catalog.load(folder / release.catalog_name, keys)
    # The seal does not tell which release this is: another catalog of ours in its place is sealed as well.
    if catalog.digest != release.digest:
        raise CatalogError(f"{folder / release.catalog_name} is not the catalog that release {release.number} names")
    return catalog


def _find_withdrawn(folder: Path, history: list[Release], keys: tuple[bytes, ...]) -> tuple[ComparedTool, ...]:
    """Returns the tools that earlier releases had and the last has not, each as it was last published."""
    known = set(history[-1].tools)
    parts: list[ComparedTool] = []
    for release in reversed(history[:-1]):
        gone = release.tools.keys() - known
        if gone:
            snapshot = snapshot_catalog(_load_release(folder, release, keys))
            parts += [part for part in snapshot.parts if part.outline.tool_id in gone]
        known |= gone
    return tuple(parts)


def load_or_make_key(
    workspace: Workspace, key_file: str | Path | None = None
) -> tuple[Ed25519PrivateKey, Path | None, bool]:
    """Returns the key that seals the workspace's catalogs, its path if it was just made, and whether it is newly trusted."""
    path = Path(key_file) if key_file is not None else workspace.root / KEY_FILE
    is_new = key_file is None and not path.exists()
    try:
        if is_new:
            make_key(path)
        key = load_key(path)
        is_newly_trusted = trust(workspace.root / PUBLIC_FILE, public_half(key))
    except OSError as error:
        raise WorkspaceError(f"cannot write {error.filename or path}: {error.strerror}") from None
    return key, path if is_new else None, is_newly_trusted


def _load_side(workspace: Workspace, name: str, progress: Progress | None) -> ComparisonSide:
    if os.path.lexists(name):
        return load_path_side(workspace, name, progress=progress)
    return load_revision_side(workspace, name, progress)


def _compile_checked(
    workspace: Workspace, now: str | None, progress: Progress | None
) -> tuple[CatalogContents, list[SourcePiece], Report]:
    """Compiles exactly the bytes that were checked. Raises BuildRefused when they have errors."""
    tasks = workspace.select().everything
    sources = [load(task.path, task.name) for task in tasks]
    workspace.demand_policy_engine()
    report = workspace.check(now=now, progress=progress)
    if report.has_errors:
        raise BuildRefused("the definitions have errors ('ferrule check' shows them); nothing was built", report)
    if not report.summary.files:
        raise WorkspaceError(f"there are no definitions in {show_path(str(workspace.root))}; nothing was built")
    _refuse_secrets(workspace, now)
    # Without this a file saved during the check would be sealed unchecked.
    if workspace.select().everything != tasks or sources != [load(task.path, task.name) for task in tasks]:
        raise WorkspaceError("files changed while they were being checked; run the command again")
    pieces = list(gather(report_progress(sources, progress), load_parts().dialects, workspace.namespace))
    return collect_contents(pieces), pieces, report


def _refuse_secrets(workspace: Workspace, now: str | None) -> None:
    found = [
        diagnostic
        for report in workspace.reports(workspace.select(), workspace.rule_settings(now))
        for diagnostic in report.diagnostics
        if diagnostic.rule in _SECRETS and diagnostic.severity is Severity.ERROR
    ]
    if found:
        report = Report(tuple(found), summarise(tuple(found), files=1, tools=0, seconds=0.0))
        raise BuildRefused("secret values never go into a catalog, whatever is suppressed; nothing was built", report)


def _refuse_roleless(pieces: list[SourcePiece], report: Report, workspace: Workspace) -> None:
    """Refuses agents without a role: a warning when checked is an error when published (AML-93)."""
    roleless = {
        show_path(os.path.join(workspace.root, piece.file))
        for piece in pieces
        if piece.definition.kind == "aml.agent" and not piece.definition.value.get("role")
    }
    errors = tuple(
        msgspec.structs.replace(diagnostic, severity=Severity.ERROR)
        for diagnostic in report.diagnostics
        if diagnostic.rule == _ROLELESS and diagnostic.file in roleless
    )
    if errors:
        summary = summarise(errors, files=len(errors), tools=0, seconds=report.summary.seconds)
        raise BuildRefused("an agent needs a role to be published; nothing was published", Report(errors, summary))


def _find_text(diagnostic: Diagnostic, new: ComparisonSide, old: ComparisonSide) -> str | None:
    return new.find_text(diagnostic.file) or old.find_text(diagnostic.file)
