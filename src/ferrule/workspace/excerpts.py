"""Returns the lines around a finding, for people: long lines cut, invisible characters made visible, secrets masked.

Definitions may contain a secret by mistake. A value is masked where a rule found a secret, and where a line looks like one.
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
    """The offset in `text` at which the finding begins; None for a line around it."""
    end: int | None = None
    """The offset after its last character."""


class MaskedSource(NamedTuple):
    """A file's lines with secrets masked."""

    lines: list[str]
    touched: frozenset[int]
    """Numbers of the lines, from 1, that were masked because of a finding."""


def mask_lines(text: str, secret: Iterable[Diagnostic], told: Callable[[str], str] = str) -> MaskedSource:
    """Returns the masked lines of a file. `secret`: findings of secret values. `told`: redacts known secrets."""
    lines = text.split("\n")
    touched: set[int] = set()
    for found in secret:
        touched.update(_mask_finding(lines, found))
    shown = [line if number in touched else _mask_line(told(line)) for number, line in enumerate(lines, start=1)]
    return MaskedSource(shown, frozenset(touched))


def _mask_finding(lines: list[str], found: Diagnostic) -> Collection[int]:
    """Masks the rest of the finding's line and the lines below it, where the value may continue."""
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


def _mask_line(line: str) -> str:
    """Masks apparent credentials in a line."""
    line = _ANYWHERE.sub(lambda found: f"{found['scheme'] or ''}{MASK}{'@' if found['scheme'] else ''}", line)
    line = _QUOTED.sub(
        lambda found: f"{found['start']}{MASK}" if is_literal_secret(found["name"], found["value"]) else found[0], line
    )
    pair = _PAIR.match(line)
    if pair is None:
        return line
    value = pair["rest"].rstrip().removesuffix(",").rstrip() or pair["rest"]
    # The last test: such a sign opens a collection, a block or an anchor, and is no text.
    if is_literal_secret(pair["name"], value.strip("\"'")) and value[0] not in "{[|>&*":
        return f"{pair['start']}{MASK}{pair['rest'][len(value) :]}"
    return line


def build_excerpt(source: MaskedSource, found: Diagnostic) -> list[SourceLine]:
    """Returns the finding's line, marked, and a few around it."""
    if not 0 < found.line <= len(source.lines):
        return []
    first, last = max(1, found.line - _BEFORE), min(len(source.lines), found.line + _AFTER)
    return [
        _build_marked_line(number, source.lines[number - 1], found, source.touched)
        if number == found.line
        else SourceLine(number, _cut_line(source.lines[number - 1], 0)[0])
        for number in range(first, last + 1)
    ]


def _build_marked_line(number: int, line: str, found: Diagnostic, touched: frozenset[int]) -> SourceLine:
    if number in touched:
        start, end = max(0, line.find(MASK)), len(line)
    else:
        start = min(max(found.column - 1, 0), len(line))
        end = found.end_column - 1 if found.end_line == found.line else len(line)
        end = min(max(end, start), len(line), start + _LONGEST_MARK)
    text, offset = _cut_line(line, start)
    before = len(_show_invisible(line[offset:start]))
    from_ = before + (1 if offset else 0)
    return SourceLine(number, text, from_, max(from_, min(len(text), from_ + len(_show_invisible(line[start:end])))))


def _cut_line(line: str, around: int) -> tuple[str, int]:
    """Returns the part of a line that fits, and its offset."""
    line = line.rstrip("\r")
    offset = 0 if len(line) <= _WIDTH else max(0, min(around - _WIDTH // 4, len(line) - _WIDTH))
    cut = line[offset : offset + _WIDTH]
    after = ELLIPSIS if offset + _WIDTH < len(line) else ""
    return f"{ELLIPSIS if offset else ''}{_show_invisible(cut)}{after}", offset


def _show_invisible(text: str) -> str:
    return text if text.isprintable() else "".join(map(make_visible, text))
