"""Rules about several AML tool files at once; joined with those about agents and roles in `library.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import LibraryFinding, LibraryRule, RuleSettings
from ferrule.definitions.rules.aml.misnamed_definition import stem_of
from ferrule.definitions.rules.aml.misnamed_file import SUFFIX, is_misnamed
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.outline import Library


class SharedToolId:
    """A misnamed tool file is an error when another file has the same id, because nothing tells which one is meant.

    Bad:  `tools/send-email.tool.md` and `tools/copy.tool.md`, both with `tool_id: send-email`
    Good: one file per id, named for it
    """

    code: ClassVar[str] = "AML-1"
    name: ClassVar[str] = "misnamed-tool-file"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        """A finding on each misnamed file of an id that several files have."""
        for tool_id, outlines in library.tools.items():
            if len(outlines) < 2:
                continue
            tools = [outline for outline in outlines if outline.dialect == "aml"]
            if len({tool.file for tool in tools}) < 2:
                continue
            owner = next((tool for tool in tools if not is_misnamed(tool.file, tool_id)), tools[0])
            for tool in tools:
                if is_misnamed(tool.file, tool_id):
                    other = owner if owner is not tool else tools[1]
                    yield LibraryFinding(tool, _shared(tool.file, tool_id, other.file))


def _shared(file: str, tool_id: str, other: str) -> Finding:
    message = f"`tool_id` is {tool_id!r}, as in {other}, but this file is named {stem_of(file, SUFFIX)!r}"
    return Finding(SharedToolId.code, ("tool_id",), message, hint="give this tool an id of its own, or remove the file")


TOOL_LIBRARY_RULES: tuple[LibraryRule, ...] = (SharedToolId(),)
