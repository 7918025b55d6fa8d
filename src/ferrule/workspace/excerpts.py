"""The lines of a definition around a place, for people: cut where they are long, tricks of writing made visible, secrets masked.

Definitions may hold anything, and a secret that somebody wrote into one by mistake is still a secret: where a rule found one, and
where a line looks as if it held one, the value is not given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

import msgspec

from ferrule.definitions.reporters.excerpt import ELLIPSIS, make_visible
from ferrule.model.credentials import is_literal_secret
from ferrule.model.diagnostic import Diagnostic

SECRET_RULES = frozenset({"AML-71", "OXP-16", "ADL-37"})
"""Rules that find secret values written out."""
MASK = "[REDACTED]"
_BEFORE, _AFTER = 3, 2
_WIDTH = 200
_LONGEST_MARK = 120
_PAIR = re.compile(r"""^(?P<start>\s*(?:-\s+)?["']?(?P<name>[\w.-]+)["']?\s*[:=]\s*)(?P<rest>\S.*)$""")
_QUOTED = re.compile(r"""(?P<start>["'](?P<name>[\w.-]+)["']\s*:\s*["'])(?P<value>(?:[^"'\\]|\\.)*)""")
_ANYWHERE = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30}://)[^/?#\s:@\"']*:[^/?#\s@\"']+@"
    r"|\b(?:sk-[\w-]{8,}|ghp_\w{8,}|xoxb-[\w-]{8,}|AKIA[0-9A-Z]{8,}|eyJ[\w-]{6,}\.[\w.-]+)"
)


class SourceLine(msgspec.Struct, frozen=True):
    """One line of a file."""

    number: int
    text: str
    start: int | None = None
    """Where what is wrong begins in `text`; None for a line around it."""
    end: int | None = None
    """Just past its last character."""


class Masked(NamedTuple):
    """A file's lines without what is secret."""

    lines: list[str]
    touched: frozenset[int]
    """Numbers of the lines, from 1, that were masked because of a finding."""


def masked_lines(text: str, secret: Iterable[Diagnostic], told: Callable[[str], str] = str) -> Masked:
    """Returns the lines of a file; `secret`: findings of secret values in it. `told` takes out secrets that are known."""
    lines = text.split("\n")
    touched: set[int] = set()
    for found in secret:
        touched.update(_masked(lines, found))
    shown = [line if number in touched else _guessed(told(line)) for number, line in enumerate(lines, start=1)]
    return Masked(shown, frozenset(touched))


def _masked(lines: list[str], found: Diagnostic) -> Collection[int]:
    """Takes out the rest of the line a finding is about, and what is written below it: a value may go on there."""
    if not 0 < found.line <= len(lines):
        return ()
    first = lines[found.line - 1]
    key = re.match(r"""\s*(?:-\s+)?["']?[\w.-]+["']?\s*:\s*""", first)
    kept = key.end() if key is not None else min(max(found.column - 1, 0), len(first))
    depth = len(first) - len(first.lstrip())
    lines[found.line - 1] = first[:kept] + MASK
    touched = {found.line}
    for number in range(found.line + 1, len(lines) + 1):
        line = lines[number - 1]
        is_below = not line.strip() or len(line) - len(line.lstrip()) > depth
        if number > max(found.end_line, found.line) and not is_below:
            break
        if line.strip():
            lines[number - 1] = line[: len(line) - len(line.lstrip())] + MASK
        touched.add(number)
    return touched


def _guessed(line: str) -> str:
    """Returns a line without what looks like a credential."""
    line = _ANYWHERE.sub(lambda found: f"{found['scheme'] or ''}{MASK}{'@' if found['scheme'] else ''}", line)
    line = _QUOTED.sub(
        lambda found: f"{found['start']}{MASK}" if is_literal_secret(found["name"], found["value"]) else found[0], line
    )
    pair = _PAIR.match(line)
    if pair is None:
        return line
    value = pair["rest"].rstrip().removesuffix(",").rstrip() or pair["rest"]
    if is_literal_secret(pair["name"], value.strip("\"'")) and value[0] not in "{[|>&*":
        return f"{pair['start']}{MASK}{pair['rest'][len(value) :]}"
    return line


def excerpt_of(source: Masked, found: Diagnostic) -> list[SourceLine]:
    """Returns the line a diagnostic is about, marked, and a few around it."""
    if not 0 < found.line <= len(source.lines):
        return []
    first, last = max(1, found.line - _BEFORE), min(len(source.lines), found.line + _AFTER)
    return [
        _marked(number, source.lines[number - 1], found, source.touched)
        if number == found.line
        else SourceLine(number, _shown(source.lines[number - 1], 0)[0])
        for number in range(first, last + 1)
    ]


def _marked(number: int, line: str, found: Diagnostic, touched: frozenset[int]) -> SourceLine:
    if number in touched:
        start, end = max(0, line.find(MASK)), len(line)
    else:
        start = min(max(found.column - 1, 0), len(line))
        end = found.end_column - 1 if found.end_line == found.line else len(line)
        end = min(max(end, start), len(line), start + _LONGEST_MARK)
    text, offset = _shown(line, start)
    before = len(_visible(line[offset:start]))
    from_ = before + (1 if offset else 0)
    return SourceLine(number, text, from_, max(from_, min(len(text), from_ + len(_visible(line[start:end])))))


def _shown(line: str, around: int) -> tuple[str, int]:
    """As much of a line as fits, and where in it that begins."""
    line = line.rstrip("\r")
    offset = 0 if len(line) <= _WIDTH else max(0, min(around - _WIDTH // 4, len(line) - _WIDTH))
    cut = line[offset : offset + _WIDTH]
    after = ELLIPSIS if offset + _WIDTH < len(line) else ""
    return f"{ELLIPSIS if offset else ''}{_visible(cut)}{after}", offset


def _visible(text: str) -> str:
    return text if text.isprintable() else "".join(map(make_visible, text))
