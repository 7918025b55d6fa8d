"""`ferrule check`: the compiler's front end. Exit 0 no errors, 1 errors found, 2 could not run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from ferrule.cli.show.output import ProgressBar, now_option, report_options, write_report
from ferrule.model.diagnostic import Report
from ferrule.workspace.workspace import Workspace, group_by_workspace, join_reports


class CheckOptions(NamedTuple):
    """The options of a check."""

    paths: tuple[str, ...]
    format: str
    output: str | None
    is_strict: bool
    options: dict[str, Any]
    """Handed on to `Workspace.check`."""


@click.command(
    epilog="Exit code: 0 when there are no errors, 1 when there are (or warnings, with --strict), 2 when the check "
    "could not run."
)
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]...")
@report_options
@click.option("--select", multiple=True, metavar="RULES", help="Check only these rules: AML-9,OXP (codes or prefixes).")
@click.option("--ignore", multiple=True, metavar="RULES", help="Skip these rules.")
@click.option("--strict", is_flag=True, help="Fail on warnings, too.")
@now_option
@click.option("--compat", is_flag=True, help="Accept later OXP drafts, with a warning.")
@click.option("--fix", is_flag=True, help="Fix what is safe to fix, after showing the changes.")
@click.option("--diff", "only_diff", is_flag=True, help="With --fix: only show the changes.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes.")
@click.option("--no-cache", is_flag=True, help="Read every file again, even unchanged ones.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to use; all cores by default.")
def command(
    paths: tuple[str, ...],
    format: str,
    output: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool,
    now: str | None,
    compat: bool,
    fix: bool,
    only_diff: bool,
    yes: bool,
    watch: bool,
    no_cache: bool,
    jobs: int | None,
) -> int:
    """Find the mistakes in the definitions of a workspace, or of the given files and folders."""
    if (only_diff or yes) and not fix:
        raise click.UsageError("--diff and --yes go with --fix")
    if fix and watch:
        raise click.UsageError("--fix and --watch do not go together: one would trigger the other")
    options: dict[str, Any] = {
        "now": now,
        "compat": True if compat else None,
        "select": _codes(select),
        "ignore": _codes(ignore),
        "use_cache": not no_cache,
        "jobs": jobs,
    }
    workspace = Workspace.open(paths[0] if paths else ".")
    request = CheckOptions(paths, format, output, strict or workspace.settings.check.strict, options)
    if watch:
        from ferrule.cli.watch import watch as watch_files

        return watch_files(workspace, lambda: _check_afresh(request, strict), output)
    if fix:
        from ferrule.cli.fix import fix_workspace

        return fix_workspace(workspace, request, only_diff=only_diff, is_sure=yes)
    return check(workspace, request)


def _check_afresh(request: CheckOptions, is_strict: bool) -> int:
    """Checks once, with the present settings."""
    workspace = Workspace.open(request.paths[0] if request.paths else ".")
    return check(workspace, request._replace(is_strict=is_strict or workspace.settings.check.strict))


def check(workspace: Workspace, request: CheckOptions) -> int:
    """Checks once, prints the report, and returns the exit code."""
    report = check_with_progress(workspace, request)
    write_report(report, format=request.format, output=request.output, is_strict=request.is_strict)
    return exit_code(report, request)


def check_with_progress(workspace: Workspace, request: CheckOptions) -> Report:
    """Checks once, with a progress bar if it takes long."""
    with ProgressBar() as progress:
        if len(request.paths) < 2:
            _refuse_settings(workspace, request.paths)
            return workspace.check(request.paths, progress=progress, **request.options)
        groups = group_by_workspace(request.paths)
        for each, paths in groups:
            _refuse_settings(each, paths)
        return join_reports([each.check(paths, progress=progress, **request.options) for each, paths in groups])


def _refuse_settings(workspace: Workspace, paths: Sequence[str | Path]) -> None:
    workspace.demand_policy_engine(paths)
    settings = workspace.settings
    if (
        settings.hooks
        or settings.guardrails
        or settings.redaction.patterns
        or settings.mcp.servers
        or settings.oxp.servers
    ):  # the rest was judged when it was read
        from ferrule.cli.settings_check import refuse_unusable

        refuse_unusable(workspace)


def exit_code(report: Report, request: CheckOptions) -> int:
    """Returns 0 for a clean report, 1 otherwise."""
    return int(report.has_errors or (request.is_strict and report.summary.warnings > 0))


def _codes(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.strip().upper() for text in given for word in text.split(",") if word.strip())
