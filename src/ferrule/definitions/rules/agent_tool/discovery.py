"""AT-7, AT-8 and AT-20: search hints, titles and kinds."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.agent_tool.records import find_record
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import is_blank


class UnsearchableHint(Rule):
    """`search_hint` is a phrase of 3 to 10 words.

    Why: search matches it; fewer words match nothing, more match everything.
    Bad:  "search_hint": "issues"
    Good: "search_hint": "search repository issues"
    """

    code = "AT-7"
    name = "unsearchable-hint"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields the hint of the declaration, and of the interface."""
        paths = [("search_hint",)]
        if subject.kind == "agent_tool.declaration" and find_record(subject, "interface") is not None:
            paths.append(("tool_interface", "search_hint"))  # type: ignore[arg-type]  # paths differ in length
        for path in paths:
            hint = subject.get(*path)
            if isinstance(hint, str) and not 3 <= (count := len(hint.split())) <= 10:
                message = f"`search_hint` has {count} words; 3 to 10 are found best"
                yield Finding(self.code, path, message, Severity.WARNING)


class UntitledTool(Rule):
    """A declaration has a title for people.

    Why: the name is for machines; the title is what an approver reads.
    Bad:  "name": "srch_docs_v2" alone
    Good: "title": "Search the documentation"
    """

    code = "AT-8"
    name = "untitled-tool"
    severity = Severity.INFO

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields at most one note."""
        title = subject.value.get("title")
        if is_blank(title) and not subject.is_reported(("title",)):
            message, hint = "the tool has no title for people", "add a `title` of a few words"
            yield Finding(self.code, ("title",), message, Severity.INFO, hint)


class CustomKind(Rule):
    """`custom` is a way out for compatibility, not a kind to choose.

    Why: nothing is known of a custom tool, so it gets the strictest treatment.
    Bad:  "tool_kind": "custom"
    Good: "tool_kind": "function"
    """

    code = "AT-20"
    name = "custom-kind"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields at most one warning."""
        if subject.value.get("tool_kind") == "custom":
            message = "`custom` tells nothing about the tool"
            yield Finding(self.code, ("tool_kind",), message, Severity.WARNING, "choose the kind that runs it")
