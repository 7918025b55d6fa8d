"""Files written for a version of AML that this platform does not accept. Shared by tools, agents and roles."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import is_blank, is_number


class UnapprovedVersion(Rule):
    """`spec_version` is a string, and one of the versions this platform accepts.

    Why: the meaning of every other field depends on it. The accepted ones are set in ferrule.toml.
    Bad:  spec_version: 1.2
    Good: spec_version: "1.2"
    """

    code = "AML-8"
    name = "unapproved-version"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields an error at a version that is written and not accepted."""
        version = subject.value.get("spec_version")
        approved = subject.settings.approved_versions
        if is_blank(version) or (isinstance(version, str) and version in approved):
            return
        if is_number(version):
            message, hint = f"`spec_version` must be a string, not the number {show(version)}", f'quote it: "{version}"'
        else:
            message = f"`spec_version` must be one of {', '.join(approved)}, not {show(version)}"
            hint = "the accepted versions are set in ferrule.toml, under [aml]"
        yield Finding(self.code, ("spec_version",), message, hint=hint)
