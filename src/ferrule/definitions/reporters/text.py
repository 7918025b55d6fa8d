"""For people: each diagnostic with its source line and carets, then one closing line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from ferrule.contracts.reporter import ReportContext
from ferrule.definitions.reporters.excerpt import cut_excerpt, sanitize
from ferrule.model.diagnostic import Diagnostic, Report, Severity, Summary

_RESET, _BOLD, _DIM = "\x1b[0m", "\x1b[1m", "\x1b[2m"
_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.INFO: "\x1b[1;36m"}
_HELP, _GOOD = "\x1b[1;32m", "\x1b[32m"
Paint = Callable[[str, str], str]


class TextReporter:
    """One block per diagnostic, as compilers write them."""

    def write(self, report: Report, context: ReportContext) -> Iterator[str]:
        """Yields the blocks, separated by empty lines, and the summary."""
        paint = _paint if context.has_colour else _skip_paint
        # Diagnostics come sorted by file, so a few cached files are enough.
        lines_of = lru_cache(maxsize=4)(lambda file: _split_lines(context.text_of(file)))
        for diagnostic in report.diagnostics:
            yield from _format_block(diagnostic, lines_of(diagnostic.file), context.width, paint)
            yield "\n"
        yield _format_summary(report.summary, paint) + "\n"


def _paint(text: str, colour: str) -> str:
    return f"{colour}{text}{_RESET}"


def _skip_paint(text: str, colour: str) -> str:
    return text


def _split_lines(text: str | None) -> list[str]:
    return [] if text is None else text.split("\n")


def _format_block(diagnostic: Diagnostic, lines: list[str], width: int, paint: Paint) -> Iterator[str]:
    colour = _COLOURS[diagnostic.severity]
    place = paint(f"{sanitize(diagnostic.file)}:{diagnostic.line}:{diagnostic.column}:", _BOLD)
    label = paint(f"{diagnostic.severity.value} {diagnostic.rule}", colour)
    yield f"{place} {label} {sanitize(diagnostic.message)}\n"
    if 0 < diagnostic.line <= len(lines):
        line = lines[diagnostic.line - 1]
        end = diagnostic.end_column if diagnostic.end_line == diagnostic.line else len(line) + 1
        shown = cut_excerpt(line, diagnostic.column, end, width)
        number = str(diagnostic.line).rjust(4)
        bar = paint("|", _DIM)
        yield f"{paint(number, _DIM)} {bar} {shown.text}".rstrip() + "\n"
        yield f"{' ' * len(number)} {bar} {' ' * shown.indent}{paint('^' * shown.carets, colour)}\n"
    if diagnostic.hint is not None:
        yield f"  {paint('help:', _HELP)} {sanitize(diagnostic.hint)}\n"


def _format_summary(summary: Summary, paint: Paint) -> str:
    if not summary.files:
        return "no definitions found"
    scope = f"{_format_count(summary.tools, 'tool')} in {_format_count(summary.files, 'file')}"
    if not (summary.errors or summary.warnings or summary.infos):
        return paint(f"{scope}: no problems", _GOOD)
    parts = []
    if summary.errors:
        parts.append(paint(_format_count(summary.errors, "error"), _COLOURS[Severity.ERROR]))
    if summary.warnings:
        parts.append(paint(_format_count(summary.warnings, "warning"), _COLOURS[Severity.WARNING]))
    if summary.infos:
        parts.append(paint(_format_count(summary.infos, "info"), _COLOURS[Severity.INFO]))
    tools = _format_count(summary.tools, "tool")
    return f"{', '.join(parts)} in {_format_count(summary.files, 'file')} ({tools}) in {summary.seconds:.2f} s"


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


REPORTER = TextReporter()
