"""The first-level sections of a Markdown body. Knows headings and code fences, nothing else of Markdown."""

from __future__ import annotations

import re

_FENCE = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)]|[ \t])*(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}#(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*")


def sections(body: str) -> dict[str, str]:
    """Text by heading, headings folded to one case; what stands before the first heading is under the empty name.

    Empty sections are left out; of two sections with one heading the first is kept.
    """
    found: dict[str, list[str]] = {"": []}
    lines = found[""]
    fence = ""
    for line in body.replace("\r\n", "\n").split("\n"):
        opening = _FENCE.match(line)
        if opening is not None and (not fence or _closes(fence, opening)):
            fence = "" if fence else _opened(opening)
        heading = None if fence or opening is not None else _heading(line, lines)
        if heading is None:
            lines.append(line)
        else:
            lines = []
            found.setdefault(heading, lines)
    return {heading: text for heading, part in found.items() if (text := "\n".join(part).strip())}


def _heading(line: str, above: list[str]) -> str | None:
    match = _HEADING.fullmatch(line)
    if match is not None:
        return _folded(match[1] or "")
    if above and above[-1].strip() and _UNDERLINE.fullmatch(line):
        return _folded(above.pop())
    return None


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _opened(fence: re.Match[str]) -> str:
    """The mark of the fence; none when backticks follow on the line, for then it is code within a sentence."""
    return "" if fence[1][0] == "`" and "`" in fence[2] else fence[1]


def _closes(fence: str, line: re.Match[str]) -> bool:
    return line[1][0] == fence[0] and len(line[1]) >= len(fence) and not line[2].strip()
