"""`ferrule convert`: definitions of any format in the words of another, with a report of what it cannot say."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path

import click
import msgspec

from ferrule.cli import COULD_NOT_RUN, OK, PROBLEMS_FOUND
from ferrule.cli.show.conversion_report import ConversionReport, ConversionSummary, entry_of, report_lines
from ferrule.cli.show.output import json_text, write_report
from ferrule.cli.written_files import write_files
from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import WorkspaceError
from ferrule.infra.atomic_files import write_whole
from ferrule.model.diagnostic import Diagnostic, Finding, Report, Severity, Summary
from ferrule.model.loss import Loss
from ferrule.workspace.convert import NAMES_FILE, TARGETS
from ferrule.workspace.convert.convert import ConversionResult, convert
from ferrule.workspace.convert.sources import HARMLESS, LoadedTools, LocatedTool, load_tools

_EPILOG = """\b
Examples:
  ferrule convert tools/*.tool.md --to openai > tools.json
  ferrule convert tools/ --to anthropic --strict --report json 2> report.json > tools.json
  ferrule convert tools.json --to aml --out tools --namespace shop
  ferrule convert tools/ --to openapi --fail-on-loss > openapi.json
  ferrule convert agents/helper.agent.md --to mcp

Exit code: 0 when everything was converted, 1 when something could not be (or got lost, with --fail-on-loss), 2 when
the conversion could not run.
"""

_LISTS = frozenset(FORMATS.names()) - {"openapi"}
_UNSAID = frozenset({"namespace", "tool_id", "tool_kind"})


@click.command(epilog=_EPILOG)
@click.argument("files", nargs=-1, type=click.Path(), metavar="FILE...")
@click.option("--to", "target", type=click.Choice(list(TARGETS), case_sensitive=False), help="The format to write.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write into this folder; by default to standard output.",
)
@click.option(
    "--report",
    "report_as",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the loss report.",
)
@click.option("--fail-on-loss", is_flag=True, help="Exit with 1 when the result cannot be read back without loss.")
@click.option("--strict", is_flag=True, help="Strict schemas, where the provider supports them.")
@click.option("--plain", is_flag=True, help="Write none of Ferrule's own keys; what they carry is lost.")
@click.option("--namespace", default="", metavar="NAME", help="The version of tools from formats without one.")
@click.option(
    "--names",
    "names_file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The file of changed names, read and written, so that a conversion can be reversed.",
)
@click.option("--force", is_flag=True, help="Overwrite files that were not written by this command.")
@click.option("--list", "is_list", is_flag=True, help="List the formats and exit.")
def command(
    files: tuple[str, ...],
    target: str | None,
    out: str | None,
    report_as: str,
    fail_on_loss: bool,
    strict: bool,
    plain: bool,
    namespace: str,
    names_file: str | None,
    force: bool,
    is_list: bool,
) -> int:
    """Write the tools of FILEs (or of all files of a folder) in the words of another format.

    Reads AML, ADL, OXP and Agent Tool definitions, MCP tool lists, OpenAPI documents and the function lists of providers.
    Nothing is lost silently: what the target cannot say is carried under a key of Ferrule's own where the target takes
    one, and told in the report, with its place and what was put instead. The report goes to standard error, or with
    --out to standard output.
    """  # fmt: skip
    if is_list:
        return _list_targets()
    if target is None or not files:
        raise click.UsageError(
            "say what to convert and to what: ferrule convert FILE... --to DIALECT ('--list' tells which)"
        )
    kept = _restore_names(names_file)
    loaded = load_tools([Path(file) for file in files], namespace=namespace, names=kept)
    if not loaded.tools:
        return _refuse_nothing(loaded, files, report_as, target, is_aside=out is None)
    made = convert(loaded.tools, target, WriteOptions(is_strict=strict, is_plain=plain))
    report = _report(target, loaded, made)
    if out is None and len(made.files) > 1:
        raise click.UsageError(
            f"{target} is a file for each tool, and there are {len(made.files)}; name a folder with --out"
        )
    renamed = (json_text(dict(sorted({**kept, **made.names}.items()))) + "\n").encode()
    _deliver({**made.files, NAMES_FILE: renamed} if made.names and out is not None else made.files, out, force)
    if names_file is not None and made.names:
        write_whole(Path(names_file), renamed)
    _print_report(report, loaded, report_as, is_aside=out is None)
    if out is not None and report_as == "text" and made.files:
        click.echo(f"written: {_find_target(out, list(made.files))}")
    failed = report.left_out or report.summary.errors or (fail_on_loss and report.summary.final)
    return PROBLEMS_FOUND if failed else OK


def _refuse_nothing(loaded: LoadedTools, files: Sequence[str], report_as: str, target: str, *, is_aside: bool) -> int:
    """Reports that no tool could be read, and writes nothing."""
    report = _report(target, loaded, ConversionResult({}, [], [], {}))
    if report_as == "json" or report.diagnostics:
        _print_report(report, loaded, report_as, is_aside=is_aside)
    if report.summary.errors:
        return PROBLEMS_FOUND
    hint = "'ferrule check' tells what is there"
    if any(file.endswith(".agent.md") for file in files):
        hint = "an agent is one where its file says `orchestration: {can_be_invoked_as_tool: true}`"
    click.echo(f"ferrule: there is no tool in {', '.join(files[:3])}; {hint}", err=True)
    return COULD_NOT_RUN


def _find_target(folder: str, files: Sequence[str]) -> str:
    return sanitize(os.path.join(folder, files[0]) if len(files) == 1 else f"{len(files)} files in {folder}")


def _list_targets() -> int:
    width = max(len(name) for name in TARGETS)
    for name, title in TARGETS.items():
        click.echo(f"{name:<{width}}  {title}")
    return OK


def _restore_names(file: str | None) -> dict[str, str]:
    """Returns the tools' own names by the changed ones, from the file of an earlier conversion."""
    if file is None or not Path(file).exists():
        return {}
    try:
        return msgspec.json.decode(Path(file).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        raise WorkspaceError(
            f"{file} is no list of changed names: a JSON object of texts; delete it to begin anew"
        ) from None


def _report(target: str, loaded: LoadedTools, made: ConversionResult) -> ConversionReport:
    places = {sourced.tool.tool_id: sourced for sourced in loaded.tools}
    written = next(iter(made.files), "")
    left_out = tuple(_locate_reason(finding, places, written) for finding in made.left_out)
    demands = tuple(_locate_reason(finding, places, written) for finding in made.findings)
    losses = tuple(entry_of(loss) for loss in made.losses if not _is_made_up(loss, places))
    diagnostics = tuple(loaded.diagnostics.diagnostics)
    summary = ConversionSummary(
        tools=len(loaded.tools) - len({diagnostic.path for diagnostic in left_out}),
        left_out=len(left_out),
        errors=sum(one.severity is Severity.ERROR and one.rule not in HARMLESS for one in diagnostics),
        losses=len(losses),
        final=sum(loss.is_final for loss in losses),
    )
    return ConversionReport(
        target, tuple(made.files), losses, left_out, demands, dict(made.names), diagnostics, summary
    )


def _is_made_up(loss: Loss, places: Mapping[str, LocatedTool]) -> bool:
    """True for a namespace, or an id made of it, that comes from the name of the file and not from the list."""
    sourced = places.get(loss.tool_id)
    if sourced is None or sourced.tool.dialect not in _LISTS or loss.instead != "dropped":
        return False
    return loss.field in _UNSAID and sourced.tool.namespace == Path(sourced.file).name.partition(".")[0]


def _locate_reason(finding: Finding, places: Mapping[str, LocatedTool], written: str) -> Diagnostic:
    """Locates the reason why a tool is left out where the tool is defined; a reason for all of them at `written`."""
    tool_id = str(finding.path[0]) if finding.path else ""
    sourced = places.get(tool_id)
    line = sourced.line if sourced is not None else 0
    return Diagnostic(
        rule=finding.rule,
        severity=finding.severity,
        path=tool_id,
        file=sourced.file if sourced is not None else written,
        line=max(line, 1),
        column=1,
        end_line=max(line, 1),
        end_column=1,
        message=finding.message,
        hint=finding.hint,
    )


def _deliver(files: Mapping[str, bytes], out: str | None, force: bool) -> None:
    if out is not None:
        write_files(Path(out), files, is_forced=force)
        return
    sys.stdout.flush()
    for data in files.values():
        sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _print_report(report: ConversionReport, loaded: LoadedTools, report_as: str, *, is_aside: bool) -> None:
    """Prints the report to the stream that the result does not use."""
    if report_as == "json":
        click.echo(json_text(msgspec.to_builtins(report)), err=is_aside)
        return
    found = (*report.diagnostics, *report.left_out, *report.demands)
    if found:
        with redirect_stdout(sys.stderr if is_aside else sys.stdout):
            write_report(_count(found, loaded))
    for line in report_lines(report):
        click.echo(line, err=is_aside)


def _count(found: Sequence[Diagnostic], loaded: LoadedTools) -> Report:
    counts = {severity: sum(one.severity is severity for one in found) for severity in Severity}
    files = {one.file for one in found} | {sourced.file for sourced in loaded.tools}
    numbers = (counts[Severity.ERROR], counts[Severity.WARNING], counts[Severity.INFO])
    return Report(tuple(found), Summary(len(files), len(loaded.tools), *numbers, 0.0))
