"""Plans what an import would do to the files of a workspace before anything is written, then does it file by file.

A file is written whole or not at all, with the disk asked once for all of them. One with a conflict that nobody decided is
left as it is, and its base stays what was imported before, so that the conflict is there again next time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from ferrule.app.imports.merging import Conflict, Prefer, merged
from ferrule.app.imports.store import Begun, ImportRecord, Kept, begin, demand_inside, keep, owners
from ferrule.errors import WorkspaceError
from ferrule.infra.atomic_files import flush_folder, write_whole
from ferrule.model.value import Path as ValuePath
from ferrule.workspace.workspace import Progress

_FEW = 8
"""So many are written one by one: asking the disk for everything takes as long as that."""


def write_together(files: Mapping[Path, bytes], progress: Progress | None = None) -> None:
    """Write files, each whole or not at all. Raises WorkspaceError; those that were not reached yet are as they were."""
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
"""`deleted`: by the user, and it stays so. `gone`: upstream has it no more; the file stays. `taken`: no import made the file that
is there, so it is not written over."""
WRITTEN: tuple[State, ...] = ("new", "updated", "pruned")


class Wishes(NamedTuple):
    """What the user decided beforehand."""

    prefer: Prefer | None = None
    """Whose side counts where both changed something; None: nobody's, and it is told."""
    prunes: bool = False
    """Files of what is gone upstream go, too, unless they were edited."""
    again: bool = False
    """Files that the user deleted come back."""


UNDECIDED = Wishes()


class FilePlan(NamedTuple):
    """What becomes of one file."""

    file: str
    state: State
    before: str | None
    """What is there; None for nothing."""
    after: str | None
    """What will be there; None for nothing."""
    base: str | None
    """The text to tell edits from next time; None when the import has nothing to do with the file any more."""
    conflicts: tuple[Conflict, ...] = ()
    kept: tuple[ValuePath, ...] = ()
    """What the user changed, and stays."""
    taken: tuple[ValuePath, ...] = ()
    """What comes from upstream."""
    why: str = ""


class Plan(NamedTuple):
    """What an import would do."""

    record: ImportRecord
    files: tuple[FilePlan, ...]

    def of(self, *states: State) -> list[FilePlan]:
        """The files that something becomes of."""
        return [plan for plan in self.files if plan.state in states]


def planned(
    root: Path, record: ImportRecord, last: Kept | None, files: Mapping[str, str], wishes: Wishes = UNDECIDED
) -> Plan:
    """What importing these files would do. Raises WorkspaceError."""
    bases = last.bases if last is not None else {}
    others = {file: name for file, name in owners(root).items() if name != record.name}
    plans = [_planned(root, file, bases.get(file), files[file], wishes, others.get(file, "")) for file in sorted(files)]
    plans += [_missing(root, file, bases[file], wishes) for file in sorted(bases.keys() - files.keys())]
    return Plan(record, tuple(plans))


def carried_out(root: Path, plan: Plan, progress: Progress | None = None) -> None:
    """Write what was planned. A file that somebody changed meanwhile stops it. Raises WorkspaceError."""
    written = plan.of(*WRITTEN)
    begun = {one.file: Begun(one.after, one.base) for one in written if one.after is not None and one.base is not None}
    begin(root, plan.record, begun)
    for one in written:
        if _text(root, one.file) != one.before:
            raise WorkspaceError(f"{one.file} was changed by someone else meanwhile; import again")
    write_together(
        {demand_inside(root, one.file): one.after.encode() for one in written if one.after is not None}, progress
    )
    for one in written:
        if one.after is None:
            _take_away(root, one.file)
    bases = {one.file: one.base for one in plan.files if one.base is not None}
    keep(root, Kept(record=plan.record, bases=bases))


def _planned(root: Path, file: str, base: str | None, theirs: str, wishes: Wishes, other: str) -> FilePlan:
    mine = _text(root, file)
    if base is None and mine is not None and (mine != theirs or other):
        why = f"the import {other!r} made it" if other else "no import made it"
        return FilePlan(file, "taken", mine, mine, None, why=f"{why}; move it, or choose another --out")
    if mine is None and base is not None:
        if not wishes.again:
            return FilePlan(file, "deleted", None, None, theirs)
        base = None
    result = merged(base if mine is not None else None, mine, theirs, wishes.prefer or "mine")
    if result.conflicts and wishes.prefer is None:
        return FilePlan(file, "conflict", mine, mine, base, result.conflicts, result.kept, result.taken)
    state: State = "new" if mine is None else "unchanged" if result.text == mine else "updated"
    return FilePlan(file, state, mine, result.text, theirs, result.conflicts, result.kept, result.taken)


def _missing(root: Path, file: str, base: str, wishes: Wishes) -> FilePlan:
    mine = _text(root, file)
    if mine is None:
        return FilePlan(file, "unchanged", None, None, None)
    if not wishes.prunes:
        return FilePlan(file, "gone", mine, mine, base)
    if mine != base and wishes.prefer != "theirs":
        return FilePlan(file, "gone", mine, mine, base, why="you changed it, so it stays; --theirs takes it away")
    return FilePlan(file, "pruned", mine, None, None)


def _text(root: Path, file: str) -> str | None:
    path = demand_inside(root, file)
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise WorkspaceError(f"{file} is no UTF-8 text; mend it or move it, then import again") from None
    except OSError as error:
        raise WorkspaceError(f"cannot read {file}: {error.strerror}") from None


def _take_away(root: Path, file: str) -> None:
    try:
        demand_inside(root, file).unlink()
    except OSError as error:
        raise WorkspaceError(f"cannot take {file} away: {error.strerror}") from None
