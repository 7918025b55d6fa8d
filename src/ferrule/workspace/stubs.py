"""Stubs of a workspace's tools: the catalog in, files on disk out. Joins `definitions/stubs/` with its languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from ferrule.contracts.language import Language, NextStep, SourceFile, StubPlan
from ferrule.definitions.stubs.folder import OutputFolder
from ferrule.definitions.stubs.ignore_files import IGNORE_FILE, IGNORE_FILES, IgnorePatterns, add_paths
from ferrule.definitions.stubs.ownership import (
    WRITTEN,
    FolderState,
    JudgedFile,
    judge_files,
    list_orphans,
    refuse_bad_paths,
)
from ferrule.definitions.stubs.plan import StubChoice, plan_stubs
from ferrule.definitions.stubs.project import make_project
from ferrule.definitions.stubs.runs import (
    RECORD_FILE,
    FileNote,
    StubRecord,
    StubRequest,
    StubRun,
    ToolNames,
    decode_record,
    encode_record,
    hash_text,
)
from ferrule.errors import WorkspaceError
from ferrule.model.tool import Record as Kept
from ferrule.model.tool import Tool

NO_NAMES: Mapping[str, ToolNames] = {}
Progress = Callable[[int, int], None]
Side = Literal["input", "output", ""]


class Material(NamedTuple):
    """The tools and agent files that stubs are made of."""

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


class LooseType(NamedTuple):
    """Where a type is looser than its schema."""

    tool_id: str
    side: Side
    """Which schema the pointer is into; empty where the language did not say."""
    pointer: str
    message: str


class GeneratedStubs(NamedTuple):
    """The stubs of a wish, not written yet."""

    plan: StubPlan
    files: tuple[SourceFile, ...]
    notes: tuple[LooseType, ...]
    steps: tuple[NextStep, ...] = ()


class StubsOutcome(NamedTuple):
    """The outcome of a run: its files, and what happened or would happen to each."""

    wish: StubRequest
    made: GeneratedStubs
    judged: tuple[JudgedFile, ...]
    orphans: tuple[str, ...]
    """Files that nothing needs any more: told, never deleted."""
    listed: tuple[str, ...]
    """Files that were added to the ignore file."""
    before: StubRequest | None = None
    """What was asked for before; None for the first run."""


def generate(
    material: Material,
    wish: StubRequest,
    language: Language,
    progress: Progress = lambda done, total: None,
    *,
    place: str = "",
    kept: Mapping[str, ToolNames] = NO_NAMES,
    module: str = "",
) -> GeneratedStubs:
    """Returns the stubs of some tools. `place`: as in a plan. `kept`: what tools were called before. `module`: what the
    folder says it is (`module_in`). Raises WorkspaceError for a flavour that the language does not have."""
    if wish.flavour and wish.flavour not in language.flavours:
        known = ", ".join(language.flavours)
        advice = f"choose one of {known} with --flavour" if known else "leave --flavour out"
        raise WorkspaceError(f"{language.title} has no flavour {wish.flavour!r}; {advice}")
    project = make_project(
        material.tools, material.manifests, name=material.name, language=wish.language, kind=wish.kind
    )
    project = msgspec.structs.replace(project, module=module or project.module)
    choice = StubChoice(wish.kind, wish.is_project, wish.flavour, kept)
    planned = plan_stubs(material.tools, project, language, choice, names=material.called, progress=progress)
    planned = msgspec.structs.replace(planned, place=place)
    written = language.write(planned)
    refuse_bad_paths(written.files)
    own = (LooseType(each.tool_id, "", each.note.pointer, each.note.message) for each in written.notes)
    return GeneratedStubs(planned, written.files, (*_list_tree_notes(planned), *own), written.steps)


def _list_tree_notes(planned: StubPlan) -> Iterator[LooseType]:
    sides: tuple[Side, Side] = ("input", "output")
    for tool in planned.tools:
        for side, tree in zip(sides, (tool.input, tool.output), strict=True):
            for note in tree.notes if tree is not None else ():
                yield LooseType(tool.tool_id, side, note.pointer, note.message)


def find_module(folder: Path, language: Language) -> str:
    """Returns the module or package that a folder is by now; empty where nobody can tell."""
    find: Callable[[Callable[[str], bytes | None]], str] | None = getattr(language, "module_in", None)
    return find(OutputFolder(folder).read) if find is not None else ""


def read_record(folder: Path) -> StubRecord:
    """Reads the record of earlier runs in a folder."""
    return decode_record(OutputFolder(folder).read(RECORD_FILE), str(folder / RECORD_FILE))


def preview_stubs(made: GeneratedStubs, material: Material, wish: StubRequest, folder: Path) -> StubsOutcome:
    """Returns what writing would do. Nothing is written."""
    return _Writing(made, material, wish, OutputFolder(folder), is_forced=False).outcome


def write_stubs(
    made: GeneratedStubs, material: Material, wish: StubRequest, folder: Path, *, is_forced: bool = False
) -> StubsOutcome:
    """Brings a folder up to date: generated files that nobody touched, and persons' files that are not there yet.

    `is_forced`: also generated files that somebody touched. Raises WorkspaceError before anything is written where a file would
    go outside the folder, or belongs to stubs of another kind.
    """
    place = OutputFolder(folder)
    with place.lock():
        writing = _Writing(made, material, wish, place, is_forced=is_forced)
        place.write(writing.list_writes())
    return writing.outcome


class _Writing:
    """One run over one folder."""

    def __init__(
        self, made: GeneratedStubs, material: Material, wish: StubRequest, folder: OutputFolder, *, is_forced: bool
    ) -> None:
        self._folder = folder
        self._made = made
        self._unread = material.unread
        self._is_whole = material.is_whole
        self._record_data = folder.read(RECORD_FILE)
        self._record = decode_record(self._record_data, str(folder.path / RECORD_FILE))
        self._before = self._record.runs.get(wish.key)
        self._ignore_data = folder.read(IGNORE_FILE)
        texts = (folder.read(name) or b"" for name in IGNORE_FILES)
        ignored = IgnorePatterns(text.decode(errors="replace") for text in texts)
        self._refuse_conflicts(wish.key)
        contracts = {tool.tool_id: tool.contract for tool in made.plan.tools}
        others = {path: note.sha256 for path, (_, note) in self._record.others(wish.key).items()}
        lying = FolderState(folder.read, self._before, others, ignored, contracts, is_forced)
        judged = judge_files(made.files, lying)
        yours = (each for each in judged if each.file.standing == "yours" and each.state != "removed")
        self.outcome = StubsOutcome(
            wish,
            made,
            tuple(judged),
            tuple(path for path in self._list_orphans() if folder.read(path) is not None),
            tuple(each.file.path for each in yours if not ignored.covers(each.file.path)),
            self._before.wish if self._before is not None else None,
        )

    def _refuse_conflicts(self, key: str) -> None:
        """Raises WorkspaceError for stubs of another language here, and for a file that another kind wants otherwise."""
        others = self._record.others(key)
        language, _, _ = key.partition("/")
        for path, (whose, _) in others.items():
            if not whose.startswith(f"{language}/") and self._folder.read(path) is not None:
                raise WorkspaceError(
                    f"{self._folder.path} holds the stubs {whose}, such as {path}; nothing was written: choose another folder"
                    f" for {language}"
                )
        known = self._before.files if self._before is not None else {}
        for file in self._made.files:
            if file.path in others and file.path not in known:
                whose, note = others[file.path]
                if note.standing != file.standing or (note.sha256 and note.sha256 != hash_text(file.text.encode())):
                    raise WorkspaceError(
                        f"{file.path} in {self._folder.path} belongs to the stubs {whose}, and {key} needs another one there;"
                        " nothing was written: choose another folder for one of them"
                    )

    def _list_orphans(self) -> Iterator[str]:
        return list_orphans(self._before, self._made.files, self._is_left_alone)

    def _is_left_alone(self, tool_id: str) -> bool:
        return not self._is_whole or tool_id in self._unread

    def list_writes(self) -> list[tuple[str, bytes]]:
        """Returns the files to write, in order: what is about to change is on record first, so that a run which is cut off
        is known."""
        texts = [(each.file.path, each.file.text.encode()) for each in self.outcome.judged if each.state in WRITTEN]
        last: list[tuple[str, bytes]] = []
        if self.outcome.listed:
            before = None if self._ignore_data is None else self._ignore_data.decode(errors="surrogateescape")
            added = add_paths(before, self.outcome.listed).encode(errors="surrogateescape")
            last.append((IGNORE_FILE, added))
        notes = self._collect_notes()
        run = StubRun(wish=self.outcome.wish, files=notes, names=self._collect_names(notes))
        final = encode_record(self._record.with_run(run))
        if final != self._record_data:
            last.append((RECORD_FILE, final))
        if not texts:
            return last
        # A cut-off run leaves files that differ from the old record; `pending` tells them from a person's edits.
        pending = {path: hash_text(data) for path, data in texts}
        began = self._before or StubRun(wish=self.outcome.wish)
        begun = encode_record(self._record.with_run(msgspec.structs.replace(began, pending=pending)))
        return [(RECORD_FILE, begun), *texts, *(last or [(RECORD_FILE, final)])]

    def _collect_names(self, notes: Mapping[str, FileNote]) -> dict[str, ToolNames]:
        """Collects the names of tools, also of those that are gone and whose files are still there."""
        before = self._before.names if self._before is not None else {}
        there = {note.tool for note in notes.values()}
        tools = self._made.plan.tools
        # The record has one entry for each id, and two versions of a tool have two sets of names.
        versions = Counter(tool.tool_id for tool in tools)
        now = {tool.tool_id: ToolNames(tool.stem, tool.type_name) for tool in tools if versions[tool.tool_id] < 2}
        return {tool_id: names for tool_id, names in (before | now).items() if tool_id in there or tool_id in now}

    def _collect_notes(self) -> dict[str, FileNote]:
        before = self._before.files if self._before is not None else {}
        orphaned = set(self.outcome.orphans)
        notes = {
            path: msgspec.structs.replace(note, is_orphan=path in orphaned)
            for path, note in before.items()
            if path in orphaned or (note.tool and self._is_left_alone(note.tool))
        }
        digests = {tool.tool_id: tool.digest for tool in self._made.plan.tools}
        for each in self.outcome.judged:
            note = _make_note(each, before.get(each.file.path), digests)
            if note is not None:
                notes[each.file.path] = note
        return notes


def _make_note(each: JudgedFile, before: FileNote | None, digests: Mapping[str, str]) -> FileNote | None:
    file = each.file
    if file.standing == "yours":
        is_there = each.state != "removed"
        return FileNote(standing="yours", tool=file.tool_id, contract=each.contract) if is_there else None
    # The old note stays: its hash is what shows again next time that a person edited the file.
    if each.state not in WRITTEN and each.state != "unchanged":
        return before
    return FileNote(
        standing="generated",
        sha256=hash_text(file.text.encode()),
        tool=file.tool_id,
        digest=digests.get(file.tool_id, ""),
    )
