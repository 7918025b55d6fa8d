"""The steps that all kinds of imports share: options, showing the changes, asking, writing, and the next steps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from ferrule.app.imports.merging import Prefer
from ferrule.app.imports.outcome import ImportReport, LeftEntry, build_report, format_report, list_upstream_changes
from ferrule.app.imports.planning import WRITTEN, ImportOptions, ImportPlan, carry_out, plan_import
from ferrule.app.imports.secret_file import list_variables
from ferrule.app.imports.source import ImportIdentity
from ferrule.app.imports.store import ImportRecord, demand_inside
from ferrule.app.imports.toml_text import add_bindings
from ferrule.cli import OK, PROBLEMS_FOUND
from ferrule.cli.options import workspace_option
from ferrule.cli.show.output import ProgressBar, has_colour, json_text
from ferrule.definitions.compiler.read import read
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import WorkspaceError
from ferrule.infra.atomic_files import write_whole
from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.document import Source
from ferrule.settings import FILE_NAME
from ferrule.workspace.workspace import Workspace

_COLOURS = {"-": "\x1b[31m", "+": "\x1b[32m", "@": "\x1b[36m"}
_MOST_TOLD = 20


class ImportManner(NamedTuple):
    """The options of an import."""

    path: str
    name: str
    out: str | None
    is_dry: bool
    shows_diff: bool
    is_sure: bool
    report_as: str
    wishes: ImportOptions


class ImportSource(NamedTuple):
    """The contents of a source."""

    files: Mapping[str, str]
    choice: dict[str, Any] = {}  # noqa: RUF012  # nobody changes it
    bind: Mapping[str, str] = {}
    left: tuple[LeftEntry, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


def import_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that every import of files has; they arrive together, as `manner`."""

    def command(**given: Any) -> Any:
        if given["mine"] and given["theirs"]:
            raise click.UsageError("--mine and --theirs are two answers to one question; choose one")
        prefer: Prefer | None = "mine" if given.pop("mine") else None
        prefer = "theirs" if given.pop("theirs") else prefer
        wishes = ImportOptions(prefer, given.pop("prune"), given.pop("again"))
        manner = ImportManner(
            path=given.pop("path"),
            name=given.pop("name"),
            out=given.pop("out"),
            is_dry=given.pop("dry_run"),
            shows_diff=given.pop("diff"),
            is_sure=given.pop("yes"),
            report_as=given.pop("report_as"),
            wishes=wishes,
        )
        return function(manner=manner, **given)

    command.__doc__ = function.__doc__
    command.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]  # click's own place
    for option in reversed(_OPTIONS):
        command = option(command)
    return workspace_option(command)


_OPTIONS = (
    click.option("--name", default="", help="The name of this import, to repeat it; derived from the source by default."),
    click.option("--out", metavar="DIR", help="The folder for the definitions, in the workspace.  [default: tools]"),
    click.option("--dry-run", is_flag=True, help="Write nothing; report what would be written."),
    click.option("--diff", is_flag=True, help="Write nothing; show every line that would change."),
    click.option("--yes", is_flag=True, help="Change files without asking."),
    click.option("--mine", is_flag=True, help="In conflicts, keep what you wrote."),
    click.option("--theirs", is_flag=True, help="In conflicts, use the source's version."),
    click.option("--prune", is_flag=True, help="Delete files of tools that the source no longer has."),
    click.option("--again", is_flag=True, help="Restore files that you deleted."),
    click.option("--report", "report_as", type=click.Choice(["text", "json"]), default="text", show_default=True,
                 help="Output format of the report."),
)  # fmt: skip


def choose_folder(manner: ImportManner, known: ImportIdentity) -> str:
    """Returns the folder for the definitions: the given one, that of the last import, or `tools`."""
    last = known.last.record.out if known.last is not None else "tools"
    return (manner.out if manner.out is not None else last).replace("\\", "/").strip("/") or "."


def finish_import(
    workspace: Workspace, kind: str, known: ImportIdentity, brought: ImportSource, manner: ImportManner
) -> ImportReport:
    """Plans an import, shows it, asks, and writes it. Raises WorkspaceError."""
    root, bases = workspace.root, known.last.bases if known.last is not None else {}
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    record = ImportRecord(
        name=known.name,
        kind=kind,
        source=known.source,
        out=choose_folder(manner, known),
        imported_at=at,
        choice=brought.choice,
    )
    if not brought.files and not bases:
        plan, is_written = ImportPlan(record, ()), False
    else:
        plan = plan_import(root, record, known.last, brought.files, manner.wishes)
        settings = _bind_functions(root, plan, brought.bind)
        is_written = _write_plan(root, plan, settings, manner)
    changes = list_upstream_changes(bases, brought.files, workspace.namespace) if bases else []
    return build_report(
        plan,
        changes,
        written=is_written,
        left_out=brought.left,
        diagnostics=brought.diagnostics,
        notes=brought.notes,
        next=tuple(_print_next_steps(root, plan, brought, is_written)),
    )


def _bind_functions(root: Path, plan: ImportPlan, bind: Mapping[str, str]) -> tuple[str, str]:
    """Returns ferrule.toml before and after functions are bound to the new definitions."""
    file = demand_inside(root, FILE_NAME)
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    there = {
        Path(one.file).name.removesuffix(".tool.md")
        for one in plan.files
        if one.after is not None and one.state != "taken"
    }
    return before, add_bindings(before, {tool: where for tool, where in bind.items() if tool in there})


def _write_plan(root: Path, plan: ImportPlan, settings: tuple[str, str], manner: ImportManner) -> bool:
    touched = plan.having("updated", "pruned")
    if manner.shows_diff:
        for one in plan.having(*WRITTEN):
            _show(one.file, one.before or "", one.after or "")
        _show(FILE_NAME, *settings)
    if manner.is_dry or manner.shows_diff:
        return False
    if touched and not manner.is_sure and not _ask_for_consent(len(touched), plan):
        return False
    with ProgressBar() as progress:
        carry_out(root, plan, progress)
    if settings[0] != settings[1]:
        write_whole(demand_inside(root, FILE_NAME), settings[1].encode())
    return True


def _ask_for_consent(count: int, plan: ImportPlan) -> bool:
    files = f"{count} file{'' if count == 1 else 's'}"
    if sys.stdin is None or not sys.stdin.isatty():
        raise WorkspaceError(f"this changes {files}, and nobody is here to agree; add --yes, or look with --diff")
    for one in plan.having("updated", "pruned")[:_MOST_TOLD]:
        click.echo(f"  {one.state}: {sanitize(one.file)}", err=True)
    return click.confirm(f"Change {files}?", err=True)


def _show(file: str, before: str, after: str) -> None:
    is_coloured = has_colour(sys.stdout)
    for line in unified_diff(before.split("\n"), after.split("\n"), file, file, lineterm=""):
        text = sanitize(line.rstrip("\r"))
        colour = _COLOURS.get(line[:1]) if is_coloured else None
        click.echo(f"{colour}{text}\x1b[0m" if colour else text)


def _print_next_steps(root: Path, plan: ImportPlan, brought: ImportSource, is_written: bool) -> Iterator[str]:
    conflicts = plan.having("conflict")
    if conflicts:
        yield "decide the conflicts: import again with --mine or --theirs, or write in the file what upstream says"
    if conflicts or not is_written:
        return
    there = [one for one in plan.files if one.after is not None and one.state != "taken"]
    known = list_variables(root)
    wanted = dict.fromkeys(name for one in there for name in _list_variables(one.after or "") if name not in known)
    for name in wanted:
        yield f"set {name}, in the environment or in .env: a tool shows it to its server"
    if there:
        yield "ferrule check"
        yield f"ferrule call {Path(there[0].file).name.removesuffix('.tool.md')} --build"
    yield from brought.next


def _list_variables(text: str) -> Iterator[str]:
    """Returns the environment variables that a definition takes secrets from."""
    for document in read(Source("definition.tool.md", text.encode())):
        value = document.value
        transport = value.get("transport") if isinstance(value, dict) else None
        waiting: list[Any] = [transport.get("credentials")] if isinstance(transport, dict) else []
        while waiting:
            found = waiting.pop()
            if isinstance(found, dict):
                if found.get("source") == "env" and isinstance(found.get("name"), str):
                    yield found["name"]
                waiting += found.values()
            elif isinstance(found, list):
                waiting += found


def print_imports(reports: Iterable[ImportReport], manner: ImportManner) -> int:
    """Prints the outcome of imports, and returns the exit code."""
    reports = list(reports)
    if manner.report_as == "json":
        click.echo(json_text({"imports": [msgspec.to_builtins(report) for report in reports]}))
    else:
        for report in reports:
            _print_import(report)
    return PROBLEMS_FOUND if any(map(_has_failed, reports)) else OK


def _has_failed(report: ImportReport) -> bool:
    is_left = report.left_out or any(one.severity is Severity.ERROR for one in report.diagnostics)
    return bool(
        is_left or report.conflicts or any(entry.state == "taken" for entry in report.files) or not report.files
    )


def _print_import(report: ImportReport) -> None:
    shown = [one for one in report.diagnostics if one.severity is not Severity.INFO]
    for one in shown[:_MOST_TOLD]:
        place = f"{one.file}:{one.line}:{one.column}"
        click.echo(sanitize(f"{place}: {one.severity.value} {one.rule} {one.message}"), err=True)
        if one.hint:
            click.echo(sanitize(f"  help: {one.hint}"), err=True)
    if len(shown) > _MOST_TOLD:
        click.echo(f"… and {len(shown) - _MOST_TOLD} more; --report json has all of them", err=True)
    for line in format_report(report, is_long=not report.written):
        click.echo(sanitize(line))
    if report.next:
        click.echo("next:")
    for step in report.next:
        click.echo(sanitize(f"  {step}"))
