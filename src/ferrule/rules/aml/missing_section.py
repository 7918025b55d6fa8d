"""Agent files without the prose the model is to follow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.model.diagnostic import Finding, Severity

REQUIRED = ("Purpose", "System behavior", "Rules")
_LIST_MARKS = re.compile(r"(?:[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*")
_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_TELLING = frozenset("#`~=-*+0123456789")
"""What a line that matters here begins with."""


class MissingSection:
    """An agent file has the first-level sections Purpose, System behavior and Rules.

    Why: they are compiled into the agent's instructions; without them the model is left to guess what it is for.
    Bad:  a body that begins with prose, or has `## Purpose`
    Good: `# Purpose`, `# System behavior`, `# Rules`
    """

    code: ClassVar[str] = "AML-89"
    name: ClassVar[str] = "incomplete-agent"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding per section that the body lacks."""
        present = set(headings(subject.document.body))
        for section in REQUIRED:
            if section.casefold() not in present:
                message = f"the section `# {section}` is missing from the body"
                yield Finding(self.code, ("body", section), message, hint=f"add a heading `# {section}` and its text")


def headings(body: str) -> Iterator[str]:
    """The first-level headings of a Markdown text, folded for comparing. What stands in fenced code is no heading."""
    closing: tuple[str, int] | None = None
    before = ""
    for line in body.split("\n"):
        text = line.strip()
        if closing is not None:
            if _closes(line, text, closing):
                closing = None
            continue
        if text and text[0] in _TELLING:
            closing = _opened(line)
            if closing is None:
                yield from _heading(line.rstrip("\r"), before)
        before = text


def _heading(line: str, before: str) -> Iterator[str]:
    text = line.lstrip(" ")
    if len(line) - len(text) > 3:
        return
    if text.startswith(("# ", "#\t")):
        title = text[1:].strip()
        unmarked = title.rstrip("#")
        if unmarked != title and (not unmarked or unmarked[-1] in " \t"):  # closing marks are no part of the title
            title = unmarked
        yield _folded(title)
    elif before and text.startswith("=") and not text.strip("= \t"):
        yield _folded(before)


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()


def _opened(line: str) -> tuple[str, int] | None:
    """The fence a line opens and the column it stands in. Inside a list a fence may be indented, or follow the mark."""
    marks = _LIST_MARKS.match(line)
    start = marks.end() if marks else 0
    rest = line[start:].rstrip("\r")
    text = rest.lstrip(" ")
    indent = len(rest) - len(text)
    fence = _FENCE.match(text) if indent <= 3 else None
    return None if fence is None else (fence[1], start + indent)


def _closes(line: str, text: str, closing: tuple[str, int]) -> bool:
    fence, column = closing
    if len(text) < len(fence) or text.strip(fence[0]):
        return False
    return len(line) - len(line.lstrip()) <= column + 3
