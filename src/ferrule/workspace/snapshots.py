"""Loads states to compare: folders and files of definitions, sealed catalogs, and revisions of a Git repository."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from ferrule.contracts.registry import late
from ferrule.definitions.compiler.compare import snapshot_catalog, snapshot_pieces
from ferrule.definitions.compiler.discover import FolderWalk, load
from ferrule.definitions.compiler.gather import gather
from ferrule.definitions.compiler.seal import PUBLIC_FILE, read_trusted_keys
from ferrule.errors import WorkspaceError
from ferrule.model.catalog import MAGIC, Catalog
from ferrule.model.change import ComparedTool, Snapshot
from ferrule.model.document import Source
from ferrule.workspace.parts import load_parts
from ferrule.workspace.workspace import Progress, Workspace, show_path

_open_tar = late("tarfile:open")  # brings every compression
T = TypeVar("T")

CATALOG_ENDING = ".ferrule"
"""Files with this ending are catalogs or are refused: a damaged one must not pass for definitions."""


class ComparisonSide:
    """One side of a comparison. Used as a context manager, because a revision lives in a temporary folder."""

    def __init__(
        self,
        name: str,
        snapshot: Snapshot,
        source_of: Callable[[str], Source | None],
        shown: Callable[[str], str],
        keep: ExitStack | None = None,
        unread: Iterable[str] = (),
    ) -> None:
        self.name = name
        """`release 3`, a path, or a revision."""
        self.snapshot = snapshot
        self.source_of = source_of
        """The file of a definition; None when there is none, as in a catalog."""
        self.shown = shown
        """Formats a file's name for display."""
        self.unread = tuple(shown(file) for file in sorted(unread))
        """Files of definitions that cannot be parsed, by display name: their definitions were not compared."""
        self._keep = keep
        self._files: dict[str, str] | None = None

    def find_text(self, shown: str) -> str | None:
        """Returns the text of a file by its shown name, for excerpts."""
        if self._files is None:
            self._files = {self.shown(outline.file): outline.file for outline in self.snapshot.outlines}
        source = self.source_of(self._files[shown]) if shown in self._files else None
        return None if source is None else source.data.decode("utf-8-sig", "replace")

    def add_withdrawn(self, parts: tuple[ComparedTool, ...]) -> ComparisonSide:
        """Returns the side with the tools that were published before and withdrawn."""
        return ComparisonSide(
            self.name, self.snapshot._replace(withdrawn=parts), self.source_of, self.shown, self._keep
        )

    def __enter__(self) -> ComparisonSide:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._keep is not None:
            self._keep.close()


def load_catalog_side(catalog: Catalog, name: str, keep: ExitStack | None = None) -> ComparisonSide:
    """Loads a sealed catalog."""
    return ComparisonSide(name, snapshot_catalog(catalog), lambda file: None, lambda file: file, keep)


def load_path_side(
    workspace: Workspace,
    path: str,
    shown: Callable[[str], str] = show_path,
    name: str | None = None,
    keep: ExitStack | None = None,
    progress: Progress | None = None,
) -> ComparisonSide:
    """Loads a folder or file of definitions, or a catalog file."""
    absolute = os.path.abspath(path)
    if not is_definitions(absolute):
        # A catalog inside another workspace is sealed with that workspace's key.
        folders = {workspace.root, Workspace.open(absolute).root}
        keys = [key for folder in sorted(folders) for key in read_trusted_keys(folder / PUBLIC_FILE)]
        return load_catalog_side(Catalog.load(absolute, keys), name or show_path(absolute), keep)
    is_full = os.path.isdir(absolute)
    files = list(FolderWalk(absolute, workspace.settings.check.exclude)) if is_full else [absolute]
    broken: set[tuple[str, str]] = set()
    sources = (load(file, file) for file in report_progress(files, progress))
    unread: set[str] = set()
    pieces = list(gather(sources, load_parts().dialects, workspace.namespace, broken, unread))
    if not is_full and not pieces:
        raise WorkspaceError(f"{name or show_path(absolute)} holds no definition that can be read; see 'ferrule check'")
    folders_of = frozenset(entry.name for entry in os.scandir(absolute) if entry.is_dir()) if is_full else frozenset()
    snapshot = snapshot_pieces(pieces, is_full=is_full, broken=frozenset(broken), folders=folders_of)
    return ComparisonSide(name or show_path(absolute), snapshot, lambda file: load(file, file), shown, keep, unread)


def report_progress(items: Sequence[T], progress: Progress | None) -> Iterator[T]:
    """Yields the items, and reports their number to `progress`."""
    for number, item in enumerate(items):
        if progress is not None:
            progress(number, len(items))
        yield item


def _is_catalog(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def load_revision_side(workspace: Workspace, revision: str, progress: Progress | None = None) -> ComparisonSide:
    """Loads the workspace, or the path after a colon, at a Git revision: `HEAD~1`, `main:tools`."""
    root = str(workspace.root)
    if _run_git(root, "rev-parse", "--is-inside-work-tree") is None:
        why = f"{root} is in no Git repository to look in" if shutil.which("git") else "Git is not installed"
        raise WorkspaceError(f"there is no file or folder {revision!r}, and {why}")
    prefix = (_run_git(root, "rev-parse", "--show-prefix") or b"").decode().strip()
    named = revision if ":" in revision else f"{revision}:{prefix}"
    # The name comes from a command line: one that begins with a dash must not become an option of Git's.
    found = _run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", named)
    if found is None and (":" in revision or _find_commit(root, revision) is None):
        raise WorkspaceError(f"there is no file, folder or Git revision {revision!r}")
    keep = ExitStack()
    folder = keep.enter_context(tempfile.TemporaryDirectory(prefix="ferrule-"))
    if found is None:  # a revision older than the workspace: everything in it is new
        return load_path_side(workspace, folder, name=f"{revision} (which has no {prefix.rstrip('/')})", keep=keep)
    thing = found.decode().strip()
    try:
        path = _extract(root, thing, Path(folder), Path(named.partition(":")[2]).name or "definition")
        inside = named.partition(":")[2]
        base = (
            workspace.root
            if ":" not in revision
            else Path(root if inside.startswith("./") else _find_top(root)) / inside
        )
        shown = partial(_map_file, base, path)
        side = load_path_side(workspace, str(path), shown, name=revision, keep=keep, progress=progress)
    except BaseException:
        keep.close()
        raise
    return side


def _find_commit(root: str, revision: str) -> bytes | None:
    return _run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")


def _map_file(base: Path, path: Path, file: str) -> str:
    """Returns the repository's name for a file of the temporary folder."""
    relative = os.path.relpath(file, path)
    return show_path(str(base if relative == "." else base / relative))


def _find_top(root: str) -> str:
    return (_run_git(root, "rev-parse", "--show-toplevel") or b"").decode().strip()


def _extract(root: str, thing: str, folder: Path, name: str) -> Path:
    kind = (_run_git(root, "cat-file", "-t", thing) or b"").decode().strip()
    if kind == "blob":
        file = folder / name
        file.write_bytes(_run_git(root, "cat-file", "blob", thing) or b"")
        return file
    data = _run_git(
        _find_top(root), "archive", "--format=tar", thing
    )  # in a subfolder Git would resolve the tree relative to it
    if data is None:
        raise WorkspaceError(f"Git cannot give the files of {thing}")
    target = folder / "tree"
    target.mkdir()
    # The filter refuses links and paths that lead out of the folder.
    with _open_tar(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(target, filter="data")
    return target


def _run_git(root: str, *arguments: str) -> bytes | None:
    """Returns the output of a Git command; None when it fails or Git is missing."""
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def is_definitions(path: str) -> bool:
    """Returns True for a folder, or a file that is no catalog."""
    is_catalog = os.path.isfile(path) and (path.endswith(CATALOG_ENDING) or _is_catalog(path))
    return os.path.lexists(path) and not is_catalog
