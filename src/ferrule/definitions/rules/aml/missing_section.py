"""Agent files without the prose the model is to follow."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.content.sections import list_headings
from ferrule.model.diagnostic import Finding, Severity

REQUIRED = ("Purpose", "System behavior", "Rules")
_FOLDED = tuple((section, section.casefold()) for section in REQUIRED)


class MissingSection(Rule):
    """An agent file has the first-level sections Purpose, System behavior and Rules.

    Why: they are compiled into the agent's instructions; without them the model is left to guess what it is for.
    Bad:  a body that begins with prose, or has `## Purpose`
    Good: `# Purpose`, `# System behavior`, `# Rules`
    """

    code = "AML-89"
    name = "incomplete-agent"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields one finding per section that the body lacks."""
        present = list_headings(subject.document.body)
        for section, folded in _FOLDED:
            if folded not in present:
                message = f"the section `# {section}` is missing from the body"
                yield Finding(self.code, ("body", section), message, hint=f"add a heading `# {section}` and its text")
