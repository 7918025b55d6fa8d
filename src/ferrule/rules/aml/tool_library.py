"""Rules about several AML tool files at once; joined with those about agents and roles in `library.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import LibraryFinding, LibraryRule, RuleSettings
from ferrule.model.diagnostic import Severity
from ferrule.model.outline import Library
from ferrule.rules.aml.misnamed_file import is_misnamed, misnamed


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
            for tool in tools:
                if is_misnamed(tool.file, tool_id):
                    yield LibraryFinding(tool, misnamed(tool.file, tool_id, Severity.ERROR))


TOOL_LIBRARY_RULES: tuple[LibraryRule, ...] = (SharedToolId(),)
