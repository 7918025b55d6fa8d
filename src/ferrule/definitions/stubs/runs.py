"""The record of a folder of stubs: `.ferrule-gen.json`, which lies beside the stubs and belongs into version control.

It holds a run for each language and kind: what was asked for, so that the same can be asked for again, and each file with the
digest of its text, so that a person's edit is seen. It has neither times nor absolute paths in it, and its keys are sorted.
"""

from __future__ import annotations

import hashlib

import msgspec

from ferrule.contracts.language import Standing, StubKind
from ferrule.errors import WorkspaceError

RECORD_FILE = ".ferrule-gen.json"
_FORMAT = 1


class StubRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request for stubs."""

    language: str
    kind: StubKind = "implementation"
    flavour: str = ""
    is_project: bool = False
    tools: tuple[str, ...] = ()
    """Ids, names and patterns; none means every tool."""
    agent: str = ""
    files: tuple[str, ...] = ()
    """The definition files that were named, from the workspace."""
    workspace: str = ""
    """The way from the output folder to the workspace; empty where they have no folder in common."""

    @property
    def key(self) -> str:
        """Under which its run is kept."""
        return f"{self.language}/{self.kind}"


class FileNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The record of a file that was written."""

    standing: Standing
    sha256: str = ""
    """Of a generated text as it was written, with line ends as `\\n`."""
    tool: str = ""
    digest: str = ""
    """Of the tool's definition, for a generated file."""
    contract: str = ""
    """Of a person's file: eight digits of what its tool took, gave and was given at the last run."""
    is_orphan: bool = False
    """True once nothing that is generated needs the file any more."""


class ToolNames(msgspec.Struct, frozen=True, array_like=True):
    """The names of a tool in stubs."""

    stem: str
    """Of its files."""
    type_name: str


class StubRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The stubs of one language and kind."""

    wish: StubRequest
    files: dict[str, FileNote] = {}
    names: dict[str, ToolNames] = {}
    """What each tool is called, by its id: it stays so whatever other tools come and go."""
    pending: dict[str, str] = {}
    """Files that were about to be written, with their digests: there only where a run was cut off."""


class StubRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was generated into one folder."""

    format: int = _FORMAT
    runs: dict[str, StubRun] = {}

    def with_run(self, run: StubRun) -> StubRecord:
        """Returns the same with one run as it is now."""
        runs = {**self.runs, run.wish.key: run}
        return StubRecord(runs=dict(sorted(runs.items())))

    def others(self, key: str) -> dict[str, tuple[str, FileNote]]:
        """Returns the files of the other runs: whose each is, and what is known of it."""
        return {
            path: (other, note)
            for other, run in self.runs.items()
            if other != key
            for path, note in run.files.items()
            if not note.is_orphan
        }


def decode_record(data: bytes | None, place: str) -> StubRecord:
    """Returns the record of a folder; an empty one where there is none. Raises WorkspaceError for what is no record of ours."""
    if data is None:
        return StubRecord()
    try:
        found = msgspec.json.decode(data, type=StubRecord)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise WorkspaceError(
            f"{place} cannot be read; take it from version control, or delete it: files with our header are known without it"
        ) from None
    if found.format != _FORMAT:
        raise WorkspaceError(f"{place} was written by another version of Ferrule (format {found.format}); use that one")
    return found


def encode_record(record: StubRecord) -> bytes:
    """Returns the text of the record's file: many lines, so that two people who generate on two branches can merge what
    they have."""
    return msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=1) + b"\n"


def hash_text(data: bytes) -> str:
    """Returns the digest of a text, whatever line ends a checkout gave it."""
    return hashlib.sha256(normalize_line_ends(data)).hexdigest()


def normalize_line_ends(data: bytes) -> bytes:
    """Returns a text with `\\n` at the ends of its lines."""
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data
