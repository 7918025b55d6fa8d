"""Output of commands: `--format`, `--output`, colours, a progress bar, JSON, and the stream of a text.

The bar goes to stderr and draws nothing unless a person is watching a terminal. JSON is indented UTF-8, and valid also for
NaN and infinities. It does not know the contents of a report.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from datetime import date
from itertools import chain
from typing import Any, TextIO

import click
import msgspec

from ferrule import __version__
from ferrule.contracts.registry import Registry
from ferrule.contracts.reporter import ReportContext, Reporter
from ferrule.definitions.compiler.discover import load
from ferrule.definitions.reporters.builtin import REPORTERS
from ferrule.errors import WorkspaceError
from ferrule.model.diagnostic import Report
from ferrule.workspace.parts import build_page_url, list_rule_pages

_reporters: Registry[Reporter] = Registry("format", REPORTERS)
_GUTTER = 8
"""Columns the text form needs beside a source line."""


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--format` and `--output` to a command, as `format` and `output`."""
    format_option = click.option(
        "--format", type=click.Choice(list(REPORTERS)), default="text", show_default=True, help="How to show it."
    )
    output_option = click.option(
        "-o", "--output", type=click.Path(dir_okay=False), help="Write it to this file instead of the terminal."
    )
    return format_option(output_option(command))


def _day(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise click.UsageError(f"--now takes a date such as 2026-01-31, not {text!r}") from None


now_option = click.option(
    "--now", metavar="DATE", callback=_day, help="The day to check dates against; today by default."
)
"""Adds `--now` to a command, as an ISO date."""


def write_report(
    report: Report,
    *,
    format: str = "text",
    output: str | None = None,
    is_strict: bool = False,
    text_of: Callable[[str], str | None] | None = None,
    before: Iterable[str] = (),
) -> None:
    """Writes a report, with the texts `before` above it. `text_of` returns a file's text for excerpts, by default from disk."""
    report, names = _printable(report)
    read = text_of or read_text
    surroundings = ReportContext(
        text_of=lambda file: read(names.get(file, file)),
        pages=list_rule_pages,
        page_address=build_page_url,
        version=__version__,
        is_strict=is_strict,
        has_colour=output is None and has_colour(sys.stdout),
        width=_width() if output is None else 100,
    )
    pieces = chain(before, _reporters.get(format).write(report, surroundings))
    if output is None:
        sys.stdout.writelines(pieces)
        sys.stdout.flush()
        return
    try:
        with open(output, "w", encoding="utf-8") as file:
            file.writelines(pieces)
    except OSError as error:
        raise WorkspaceError(f"cannot write {output!r}: {error.strerror}") from None


def has_colour(stream: TextIO) -> bool:
    """True when colours may be written to a stream: a terminal, unless NO_COLOR says no or FORCE_COLOR says yes."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def read_text(file: str) -> str | None:
    """Reads a file's text, for excerpts only: invalid UTF-8 becomes replacement characters.

    None for files that the check does not read either: pipes, devices, files that are too large.
    """
    source = load(file, file)
    return source.data.decode("utf-8-sig", errors="replace") if source.problem is None else None


def _width() -> int:
    try:
        return max(40, os.get_terminal_size(sys.stdout.fileno()).columns - _GUTTER)
    except (OSError, ValueError):  # not a terminal, or no real file at all
        return 100


def _printable(report: Report) -> tuple[Report, dict[str, str]]:
    """Returns the report with file names that every format can hold, and the real names of changed ones."""
    names: dict[str, str] = {}
    diagnostics = []
    for diagnostic in report.diagnostics:
        if not diagnostic.file.isascii():
            shown = diagnostic.file.encode("utf-8", "backslashreplace").decode()
            names[shown] = diagnostic.file
            diagnostic = msgspec.structs.replace(diagnostic, file=shown)
        diagnostics.append(diagnostic)
    return (msgspec.structs.replace(report, diagnostics=tuple(diagnostics)) if names else report), names


_FIRST_AFTER, _EVERY = 0.5, 0.1
"""Seconds: short runs stay quiet, and drawing must not slow long ones."""
_CELLS = 30


class ProgressBar:
    """A progress bar: call it with how much is done; it draws at intervals. A context manager that erases it at the end."""

    def __init__(self, noun: str = "files") -> None:
        self.noun = noun
        self._next = time.monotonic() + _FIRST_AFTER
        self._is_drawn = False
        self._is_watched = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        if not self._is_watched or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY
        self._is_drawn = True
        filled = _CELLS * done // max(total, 1)
        bar = "━" * filled + "╌" * (_CELLS - filled)
        sys.stderr.write(f"\r\x1b[2K{bar} {done:,} of {total:,} {self.noun}")
        sys.stderr.flush()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def json_text(value: object) -> str:
    """Formats a value as indented JSON; NaN and the infinities, which JSON lacks, become null."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
