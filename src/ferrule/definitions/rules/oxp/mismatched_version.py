"""OXP-7: the version in the id and the version beside it."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity


class MismatchedVersion(Rule):
    """The version in `id` is the same as `version`.

    Why: callers pin the one in the id; two answers to "which version is this" make the pin worthless.
    Bad:  "id": "Clock.Now@1.0.0", "version": "1.1.0"
    Good: "id": "Clock.Now@1.1.0", "version": "1.1.0"
    """

    code = "OXP-7"
    name = "mismatched-version"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        tool_id, version = subject.get("id"), subject.get("version")
        if isinstance(tool_id, str) and isinstance(version, str):
            of_id = tool_id.rpartition("@")[2]
            if of_id != version:
                message = f"`version` is {version}, but the id says {of_id}"
                yield Finding(self.code, ("version",), message, hint="write the same version in both")
