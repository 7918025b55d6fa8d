"""Plans what an import would do to the files of a workspace before anything is written, then does it file by file.

A file is written completely or not at all, with one disk sync for all of them. A file with an undecided conflict is not
written, and its base stays as it was imported before, so the next import finds the same conflict.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from ferrule.app.imports.merging import Conflict, Prefer, merge_file
from ferrule.app.imports.store import (
    ImportRecord,
    PendingFile,
    StoredImport,
    begin_import,
    demand_inside,
    map_owners,
    save_import,
)
from ferrule.errors import WorkspaceError
from ferrule.infra.atomic_files import flush_folder, write_whole
from ferrule.model.value import Path as ValuePath
from ferrule.workspace.workspace import Progress

_FEW = 8
"""Up to this number, files are written one by one: one sync of the whole disk takes as long."""


def write_together(files: Mapping[Path, bytes], progress: Progress | None = None) -> None:
    """Writes files, each completely or not at all. Raises WorkspaceError; files not reached yet stay unchanged."""
    if len(files) <= _FEW:
        for path, data in files.items():
            write_whole(path, data)
        return
    waiting: dict[Path, str] = {}
    path = next(iter(files))
    try:
        for path, data in files.items():
            if progress is not None:
                progress(len(waiting), len(files))
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, waiting[path] = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            os.chmod(waiting[path], 0o644)
        os.sync()  # before any of them has its name
        for path in files:
            os.replace(waiting[path], path)
            del waiting[path]
        for folder in {path.parent for path in files}:
            flush_folder(folder)
    except OSError as error:
        raise WorkspaceError(f"cannot write {path}: {error.strerror}; no file is half written") from None
    finally:
        for temporary in waiting.values():
            with suppress(OSError):
                os.unlink(temporary)


State = Literal[
    "new",
    "updated",
    "unchanged",
    "conflict",
    "deleted",
    "gone",
    "pruned",
    "taken",
]
"""`deleted`: by the user, and not restored. `gone`: no longer upstream; the file stays. `taken`: no import made the existing
file, so it is not overwritten."""
WRITTEN: tuple[State, ...] = ("new", "updated", "pruned")


class ImportOptions(NamedTuple):
    """The user's decisions about conflicts and deleted files."""

    prefer: Prefer | None = None
    """The side to write where both changed a value; None: neither, and the conflict is reported."""
    prunes: bool = False
    """Files whose tool is gone upstream are deleted, unless they were edited."""
    again: bool = False
    """Files that the user deleted are restored."""


UNDECIDED = ImportOptions()


class FilePlan(NamedTuple):
    """The planned change of one file."""

    file: str
    state: State
    before: str | None
    """The present text; None for no file."""
    after: str | None
    """The text to write; None for no file."""
    base: str | None
    """The text that the next import compares with; None when the import no longer owns the file."""
    conflicts: tuple[Conflict, ...] = ()
    kept: tuple[ValuePath, ...] = ()
    """Changes of the user that stay."""
    taken: tuple[ValuePath, ...] = ()
    """Changes from upstream."""
    why: str = ""


class ImportPlan(NamedTuple):
    """The planned changes of an import."""

    record: ImportRecord
    files: tuple[FilePlan, ...]

    def having(self, *states: State) -> list[FilePlan]:
        """Returns the files in any of these states."""
        return [plan for plan in self.files if plan.state in states]


def plan_import(
    root: Path,
    record: ImportRecord,
    last: StoredImport | None,
    files: Mapping[str, str],
    wishes: ImportOptions = UNDECIDED,
) -> ImportPlan:
    """Compares new definitions with the files and with the last import. Raises WorkspaceError."""
    bases = last.bases if last is not None else {}
    others = {file: name for file, name in map_owners(root).items() if name != record.name}
    plans = [
        _plan_file(root, file, bases.get(file), files[file], wishes, others.get(file, "")) for file in sorted(files)
    ]
    plans += [_plan_gone_file(root, file, bases[file], wishes) for file in sorted(bases.keys() - files.keys())]
    return ImportPlan(record, tuple(plans))


def carry_out(root: Path, plan: ImportPlan, progress: Progress | None = None) -> None:
    """Writes a plan. Raises WorkspaceError, also for a file that was changed meanwhile."""
    written = plan.having(*WRITTEN)
    begun = {
        one.file: PendingFile(one.after, one.base) for one in written if one.after is not None and one.base is not None
    }
    # First: after a kill, the next import knows from it which files were already written.
    begin_import(root, plan.record, begun)
    for one in written:
        # The user may have been asked between planning and now.
        if _read_text(root, one.file) != one.before:
            raise WorkspaceError(f"{one.file} was changed by someone else meanwhile; import again")
    write_together(
        {demand_inside(root, one.file): one.after.encode() for one in written if one.after is not None}, progress
    )
    for one in written:
        if one.after is None:
            _delete_file(root, one.file)
    bases = {one.file: one.base for one in plan.files if one.base is not None}
    save_import(root, StoredImport(record=plan.record, bases=bases))


def _plan_file(root: Path, file: str, base: str | None, theirs: str, wishes: ImportOptions, other: str) -> FilePlan:
    mine = _read_text(root, file)
    if base is None and mine is not None and (mine != theirs or other):
        why = f"the import {other!r} made it" if other else "no import made it"
        return FilePlan(file, "taken", mine, mine, None, why=f"{why}; move it, or choose another --out")
    if mine is None and base is not None:
        if not wishes.again:
            return FilePlan(file, "deleted", None, None, theirs)
        base = None
    result = merge_file(base if mine is not None else None, mine, theirs, wishes.prefer or "mine")
    if result.conflicts and wishes.prefer is None:
        return FilePlan(file, "conflict", mine, mine, base, result.conflicts, result.kept, result.taken)
    state: State = "new" if mine is None else "unchanged" if result.text == mine else "updated"
    return FilePlan(file, state, mine, result.text, theirs, result.conflicts, result.kept, result.taken)


def _plan_gone_file(root: Path, file: str, base: str, wishes: ImportOptions) -> FilePlan:
    mine = _read_text(root, file)
    if mine is None:
        return FilePlan(file, "unchanged", None, None, None)
    if not wishes.prunes:
        return FilePlan(file, "gone", mine, mine, base)
    if mine != base and wishes.prefer != "theirs":
        return FilePlan(file, "gone", mine, mine, base, why="you changed it, so it stays; --theirs deletes it")
    return FilePlan(file, "pruned", mine, None, None)


def _read_text(root: Path, file: str) -> str | None:
    path = demand_inside(root, file)
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise WorkspaceError(f"{file} is not UTF-8 text; fix or move it, then import again") from None
    except OSError as error:
        raise WorkspaceError(f"cannot read {file}: {error.strerror}") from None


def _delete_file(root: Path, file: str) -> None:
    try:
        demand_inside(root, file).unlink()
    except OSError as error:
        raise WorkspaceError(f"cannot delete {file}: {error.strerror}") from None
