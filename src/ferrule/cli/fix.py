"""`ferrule check --fix`: shows the fixes, asks, writes them, and checks again. `definitions/compiler` decides what is safe."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

import click

from ferrule.cli.check import CheckOptions, check, check_with_progress, exit_code
from ferrule.cli.show.output import has_colour, write_report
from ferrule.contracts.fix import Fixers
from ferrule.contracts.registry import Registry
from ferrule.definitions.compiler.check import check_file, merge
from ferrule.definitions.compiler.discover import load
from ferrule.definitions.compiler.filter import DiagnosticFilter
from ferrule.definitions.compiler.fix import FixedText, fix_text
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.definitions.rules.builtin import FIXERS
from ferrule.errors import WorkspaceError
from ferrule.model.diagnostic import Diagnostic, FileReport, Report
from ferrule.model.document import Source
from ferrule.workspace.parts import dialects, list_rule_pages, load_parts
from ferrule.workspace.workspace import Workspace

_fixers: Registry[Fixers] = Registry("dialect with fixes", FIXERS)
_COLOURS = {"-": "\x1b[31m", "+": "\x1b[32m", "@": "\x1b[36m"}


class FixPlan(NamedTuple):
    """One file to change."""

    file: str
    """As shown to people; also where it is, seen from here."""
    original: bytes
    mended: FixedText


def fixers() -> dict[str, Fixers]:
    """Returns the fixers of each dialect that has some."""
    return {name: _fixers.get(name) for name in _fixers.names()}


def fixable_rules() -> frozenset[str]:
    """Returns every rule with a fix."""
    return frozenset(rule for fixers in _fixers for rule in fixers.rules)


def fix_workspace(workspace: Workspace, request: CheckOptions, *, only_diff: bool, is_sure: bool) -> int:
    """Fixes a workspace and checks it again; returns the exit code of the last check."""
    report = check_with_progress(workspace, request)
    plans = list(_plan_fixes(workspace, request, report))
    stream = sys.stdout if only_diff else sys.stderr
    for plan in plans:
        stream.writelines(_diff(plan, has_colour(stream)))
    stream.flush()
    if not plans or only_diff:
        sys.stderr.write(_count(plans, "can be mended") + "\n")
        if not only_diff:
            write_report(report, format=request.format, output=request.output, is_strict=request.is_strict)
        return exit_code(report, request)
    if not is_sure and not _ask_for_consent(plans):
        sys.stderr.write("nothing was changed\n")
        return exit_code(report, request)
    for plan in plans:
        _write(plan)
    sys.stderr.write(_count(plans, "mended") + "\n\n")
    return check(workspace, request)


def _plan_fixes(workspace: Workspace, request: CheckOptions, report: Report) -> Iterator[FixPlan]:
    fixable = fixable_rules()
    judge = _judge(workspace, request)
    for file in dict.fromkeys(found.file for found in report.diagnostics if found.rule in fixable):
        relative = os.path.relpath(os.path.abspath(file), workspace.root).replace(os.sep, "/")
        source = load(os.path.abspath(file), relative)
        dialect = judge.report_of(source).dialect
        if dialect is None or dialect not in _fixers.names():
            continue
        mended = fix_text(source, dialects.get(dialect), _fixers.get(dialect), judge.diagnostics_of)
        if mended is not None:
            yield FixPlan(file, source.data, mended)


class FixJudge(NamedTuple):
    """Checks a changed text before it is written, by the same rules and the same filter as the check."""

    report_of: Callable[[Source], FileReport]
    diagnostics_of: Callable[[Source], list[Diagnostic]]


def _judge(workspace: Workspace, request: CheckOptions) -> FixJudge:
    settings = workspace.rule_settings(request.options["now"], request.options["compat"])
    wishes = workspace.settings.check
    select = (*wishes.select, *request.options["select"])
    ignore = (*wishes.ignore, *request.options["ignore"])
    chosen = DiagnosticFilter.build(select, ignore, wishes.suppress, list_rule_pages)

    def report_of(source: Source) -> FileReport:
        return check_file(source, load_parts(), settings)

    def diagnostics_of(source: Source) -> list[Diagnostic]:
        return chosen.filter_file(source.file, merge(report_of(source), [], chosen.is_active))

    return FixJudge(report_of, diagnostics_of)


def _diff(plan: FixPlan, in_colour: bool) -> Iterator[str]:
    before, after = (text.split("\n") for text in (plan.mended.before, plan.mended.after))
    name = sanitize(plan.file)
    for line in unified_diff(before, after, name, name, lineterm=""):
        text = sanitize(line.rstrip("\r"))
        colour = _COLOURS.get(line[:1]) if in_colour else None
        yield f"{colour}{text}\x1b[0m\n" if colour else f"{text}\n"


def _ask_for_consent(plans: list[FixPlan]) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise WorkspaceError("--fix asks before it changes files and nobody is here to answer; add --yes, or --diff")
    return click.confirm(f"Change {_files(plans)}?", err=True)


def _count(plans: list[FixPlan], verb: str) -> str:
    count = sum(len(plan.mended.rules) for plan in plans)
    if not count:
        return f"nothing {verb}"
    return f"{count} problem{'' if count == 1 else 's'} in {_files(plans)} {verb}"


def _files(plans: list[FixPlan]) -> str:
    return f"{len(plans)} file{'' if len(plans) == 1 else 's'}"


def _write(plan: FixPlan) -> None:
    """Replaces a file, all or nothing; leaves a file alone that changed meanwhile."""
    # The file behind a symbolic link is replaced, and the link stays.
    target = Path(os.path.realpath(plan.file))
    try:
        if target.read_bytes() != plan.original:
            raise WorkspaceError(f"{plan.file} was changed by someone else meanwhile; run the command again")
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            try:
                file.write(plan.mended.data)
                file.flush()
                os.fsync(file.fileno())
                os.chmod(file.name, target.stat().st_mode)
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise WorkspaceError(f"cannot write {plan.file}: {error.strerror}") from None
