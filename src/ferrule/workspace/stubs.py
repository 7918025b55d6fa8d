"""Stubs of a workspace's tools: the catalog in, files on disk out. Joins `definitions/stubs/` with its languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from ferrule.contracts.language import Language, NextStep, SourceFile, StubPlan
from ferrule.definitions.stubs.folder import OutputFolder
from ferrule.definitions.stubs.ignore_files import IGNORE_FILE, IGNORE_FILES, Ignored, added_to
from ferrule.definitions.stubs.ownership import WRITTEN, Judged, Lying, judge, orphans, refuse_bad_paths
from ferrule.definitions.stubs.plan import Choice, plan
from ferrule.definitions.stubs.project import project_of
from ferrule.definitions.stubs.runs import RECORD_FILE, FileNote, Names, Record, Run, Wish, decoded, encoded, sha256_of
from ferrule.errors import WorkspaceError
from ferrule.model.tool import Record as Kept
from ferrule.model.tool import Tool

NO_NAMES: Mapping[str, Names] = {}
Progress = Callable[[int, int], None]
Side = Literal["input", "output", ""]


class Material(NamedTuple):
    """What stubs are made of."""

    tools: Sequence[Tool]
    """In the order of their definitions."""
    name: str
    """Of the workspace, for tools that no agent file names."""
    manifests: Sequence[Kept] = ()
    """The agent files around the tools (ADL)."""
    called: Mapping[str, str] = {}
    """What a caller calls a tool by, by its id, where that is not its name."""
    unread: frozenset[str] = frozenset()
    """Ids of tools whose definitions have errors: their stubs stay as they are."""
    is_whole: bool = True
    """False where some file could not be read at all: nobody knows then which tools are gone."""


class Looser(NamedTuple):
    """Where a type is looser than its schema."""

    tool_id: str
    side: Side
    """Which schema the pointer is into; empty where the language did not say."""
    pointer: str
    message: str


class Made(NamedTuple):
    """The stubs of a wish, not written yet."""

    plan: StubPlan
    files: tuple[SourceFile, ...]
    notes: tuple[Looser, ...]
    steps: tuple[NextStep, ...] = ()


class Outcome(NamedTuple):
    """What a run found, and did unless it only looked."""

    wish: Wish
    made: Made
    judged: tuple[Judged, ...]
    orphans: tuple[str, ...]
    """Files that nothing needs any more: told, never deleted."""
    listed: tuple[str, ...]
    """Files that were added to the ignore file."""
    before: Wish | None = None
    """What was asked for before; None for the first run."""


def make(
    material: Material,
    wish: Wish,
    language: Language,
    progress: Progress = lambda done, total: None,
    *,
    place: str = "",
    kept: Mapping[str, Names] = NO_NAMES,
    module: str = "",
) -> Made:
    """The stubs of some tools. `place`: as in a plan. `kept`: what tools were called before. `module`: what the folder says it is
    (`module_in`). Raises WorkspaceError for a flavour that the language does not have."""
    if wish.flavour and wish.flavour not in language.flavours:
        known = ", ".join(language.flavours)
        advice = f"choose one of {known} with --flavour" if known else "leave --flavour out"
        raise WorkspaceError(f"{language.title} has no flavour {wish.flavour!r}; {advice}")
    project = project_of(material.tools, material.manifests, name=material.name, language=wish.language, kind=wish.kind)
    project = msgspec.structs.replace(project, module=module or project.module)
    choice = Choice(wish.kind, wish.is_project, wish.flavour, kept)
    planned = plan(material.tools, project, language, choice, names=material.called, progress=progress)
    planned = msgspec.structs.replace(planned, place=place)
    written = language.write(planned)
    refuse_bad_paths(written.files)
    own = (Looser(each.tool_id, "", each.note.pointer, each.note.message) for each in written.notes)
    return Made(planned, written.files, (*_tree_notes(planned), *own), written.steps)


def _tree_notes(planned: StubPlan) -> Iterator[Looser]:
    sides: tuple[Side, Side] = ("input", "output")
    for tool in planned.tools:
        for side, tree in zip(sides, (tool.input, tool.output), strict=True):
            for note in tree.notes if tree is not None else ():
                yield Looser(tool.tool_id, side, note.pointer, note.message)


def module_in(folder: Path, language: Language) -> str:
    """The module or package that a folder is by now; empty where nobody can tell."""
    find: Callable[[Callable[[str], bytes | None]], str] | None = getattr(language, "module_in", None)
    return find(OutputFolder(folder).read) if find is not None else ""


def record_of(folder: Path) -> Record:
    """What was generated into a folder before."""
    return decoded(OutputFolder(folder).read(RECORD_FILE), str(folder / RECORD_FILE))


def look(made: Made, material: Material, wish: Wish, folder: Path) -> Outcome:
    """What writing would do. Nothing is written."""
    return _Writing(made, material, wish, OutputFolder(folder), is_forced=False).outcome


def write(made: Made, material: Material, wish: Wish, folder: Path, *, is_forced: bool = False) -> Outcome:
    """Bring a folder up to date: generated files that nobody touched, and persons' files that are not there yet.

    `is_forced`: also generated files that somebody touched. Raises WorkspaceError before anything is written where a file would
    go outside the folder, or belongs to stubs of another kind.
    """
    place = OutputFolder(folder)
    with place.held():
        writing = _Writing(made, material, wish, place, is_forced=is_forced)
        place.write(writing.writes())
    return writing.outcome


class _Writing:
    """One run over one folder."""

    def __init__(self, made: Made, material: Material, wish: Wish, folder: OutputFolder, *, is_forced: bool) -> None:
        self._folder = folder
        self._made = made
        self._unread = material.unread
        self._is_whole = material.is_whole
        self._record_data = folder.read(RECORD_FILE)
        self._record = decoded(self._record_data, str(folder.path / RECORD_FILE))
        self._before = self._record.runs.get(wish.key)
        self._ignore_data = folder.read(IGNORE_FILE)
        texts = (folder.read(name) or b"" for name in IGNORE_FILES)
        ignored = Ignored(text.decode(errors="replace") for text in texts)
        self._refuse_taken(wish.key)
        contracts = {tool.tool_id: tool.contract for tool in made.plan.tools}
        others = {path: note.sha256 for path, (_, note) in self._record.others(wish.key).items()}
        lying = Lying(folder.read, self._before, others, ignored, contracts, is_forced)
        judged = judge(made.files, lying)
        yours = (each for each in judged if each.file.standing == "yours" and each.state != "removed")
        self.outcome = Outcome(
            wish,
            made,
            tuple(judged),
            tuple(path for path in self._unneeded() if folder.read(path) is not None),
            tuple(each.file.path for each in yours if not ignored.covers(each.file.path)),
            self._before.wish if self._before is not None else None,
        )

    def _refuse_taken(self, key: str) -> None:
        """Two kinds of stubs in one folder may share a file only where both want it the same."""
        others = self._record.others(key)
        known = self._before.files if self._before is not None else {}
        for file in self._made.files:
            if file.path in others and file.path not in known:
                whose, note = others[file.path]
                if note.standing != file.standing or (note.sha256 and note.sha256 != sha256_of(file.text.encode())):
                    raise WorkspaceError(
                        f"{file.path} in {self._folder.path} belongs to the stubs {whose}, and {key} needs another one there;"
                        " nothing was written: choose another folder for one of them"
                    )

    def _unneeded(self) -> Iterator[str]:
        return orphans(self._before, self._made.files, self._is_left_alone)

    def _is_left_alone(self, tool_id: str) -> bool:
        return not self._is_whole or tool_id in self._unread

    def writes(self) -> list[tuple[str, bytes]]:
        """The files to write, in order: what is about to change is on record first, so that a run which is cut off is known."""
        texts = [(each.file.path, each.file.text.encode()) for each in self.outcome.judged if each.state in WRITTEN]
        last: list[tuple[str, bytes]] = []
        if self.outcome.listed:
            before = None if self._ignore_data is None else self._ignore_data.decode(errors="surrogateescape")
            added = added_to(before, self.outcome.listed).encode(errors="surrogateescape")
            last.append((IGNORE_FILE, added))
        notes = self._notes()
        run = Run(wish=self.outcome.wish, files=notes, names=self._names(notes))
        final = encoded(self._record.with_run(run))
        if final != self._record_data:
            last.append((RECORD_FILE, final))
        if not texts:
            return last
        pending = {path: sha256_of(data) for path, data in texts}
        began = self._before or Run(wish=self.outcome.wish)
        begun = encoded(self._record.with_run(msgspec.structs.replace(began, pending=pending)))
        return [(RECORD_FILE, begun), *texts, *(last or [(RECORD_FILE, final)])]

    def _names(self, notes: Mapping[str, FileNote]) -> dict[str, Names]:
        """What tools are called; also those that are gone and whose files are still there."""
        before = self._before.names if self._before is not None else {}
        there = {note.tool for note in notes.values()}
        tools = self._made.plan.tools
        versions = Counter(tool.tool_id for tool in tools)
        now = {tool.tool_id: Names(tool.stem, tool.type_name) for tool in tools if versions[tool.tool_id] < 2}
        return {tool_id: names for tool_id, names in (before | now).items() if tool_id in there or tool_id in now}

    def _notes(self) -> dict[str, FileNote]:
        before = self._before.files if self._before is not None else {}
        orphaned = set(self.outcome.orphans)
        notes = {
            path: msgspec.structs.replace(note, is_orphan=path in orphaned)
            for path, note in before.items()
            if path in orphaned or (note.tool and self._is_left_alone(note.tool))
        }
        digests = {tool.tool_id: tool.digest for tool in self._made.plan.tools}
        for each in self.outcome.judged:
            note = _note(each, before.get(each.file.path), digests)
            if note is not None:
                notes[each.file.path] = note
        return notes


def _note(each: Judged, before: FileNote | None, digests: Mapping[str, str]) -> FileNote | None:
    file = each.file
    if file.standing == "yours":
        is_there = each.state != "removed"
        return FileNote(standing="yours", tool=file.tool_id, contract=each.contract) if is_there else None
    if each.state not in WRITTEN and each.state != "unchanged":
        return before
    return FileNote(
        standing="generated",
        sha256=sha256_of(file.text.encode()),
        tool=file.tool_id,
        digest=digests.get(file.tool_id, ""),
    )
