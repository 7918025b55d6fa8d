"""Tool files whose name does not tell which tool is inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.aml.misnamed_definition import stem_of
from ferrule.model.diagnostic import Finding, Severity

SUFFIX = ".tool.md"


class MisnamedFile:
    """A tool's file is named for its id: `tools/<tool_id>.tool.md`.

    Why: people look a tool up by the name agents use; a second file with the same id makes the misnamed one an error.
    Bad:  `tools/mail.tool.md` with `tool_id: send-email`
    Good: `tools/send-email.tool.md` with `tool_id: send-email`
    """

    code: ClassVar[str] = "AML-1"
    name: ClassVar[str] = "misnamed-tool-file"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """A finding at `tool_id` when the file is named differently."""
        tool_id, file = subject.get("tool_id"), subject.document.source.file
        if isinstance(tool_id, str) and is_misnamed(file, tool_id):
            message = f"`tool_id` is {tool_id!r} but the file is named {stem_of(file, SUFFIX)!r}"
            hint = f"rename the file to {tool_id + SUFFIX!r}"
            yield Finding(self.code, ("tool_id",), message, self.severity, hint)


def is_misnamed(file: str, tool_id: str) -> bool:
    """True when the last part of a path is not the tool's."""
    return stem_of(file, SUFFIX) != tool_id
