"""`ferrule gen`: typed stubs of tools, to implement them or to call them, kept in step with their definitions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from ferrule.cli import OK, PROBLEMS_FOUND
from ferrule.cli.gen_choice import (
    NEVER,
    EarlierChoice,
    find_language,
    find_tools,
    is_file,
    list_languages,
    read_language,
)
from ferrule.cli.gen_places import place_notes
from ferrule.cli.options import json_option, tools_here
from ferrule.cli.show.gen_report import GenReport, GenReports, check_lines, is_refused, lines, report_of
from ferrule.cli.show.output import ProgressBar, json_text
from ferrule.contracts.language import StubKind
from ferrule.definitions.stubs.languages.builtin import LANGUAGES
from ferrule.definitions.stubs.runs import StubRecord, StubRequest, StubRun, ToolNames
from ferrule.workspace.stubs import StubsOutcome, find_module, generate, preview_stubs, read_record, write_stubs
from ferrule.workspace.workspace import Workspace

_EPILOG = """\b
Examples:
  ferrule gen go --out stubs --project          a Go project with every tool of this workspace
  ferrule gen ts agent.yaml --out .             the tools of one agent file
  ferrule gen agent.yaml --out .                the same, in the language that it names
  ferrule gen rust get_weather 'shop.*' --out . some tools, by id, name or pattern
  ferrule gen python --flavour pydantic --out . Python, with types of Pydantic
  ferrule gen go --kind client --out client     typed functions that call a running Ferrule
  ferrule gen --out stubs                       the same again, after a definition has changed
  ferrule gen --out stubs --check               for CI: is everything up to date?

Your files (tools/get_weather.go) are written once and are yours from then on: .ferrule-ignore lists them. Generated files
(they say so in their first line) follow the definitions. When what a tool takes or gives has changed, your file no longer
compiles, and says where to look.

Exit code: 0 when everything is in step, 1 when a tool or a file had to be left out (or --check found something), 2 when
it could not run.
"""


class _Request(NamedTuple):
    """The arguments of the command line."""

    language: str
    """Empty where the folder's record says what to generate."""
    tools: tuple[str, ...]
    files: tuple[str, ...]
    agent: str
    kind: StubKind | None
    flavour: str | None
    is_project: bool | None
    workspace: str | None
    folder: Path


def _languages(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Lists languages for shell completion."""
    return [name for name in LANGUAGES.names() if name.startswith(incomplete)]


@click.command(epilog=_EPILOG)
@click.argument("language", required=False, metavar="[LANG]", shell_complete=_languages)
@click.argument("tools", nargs=-1, metavar="[TOOL]...", shell_complete=tools_here)
@click.option("--out", type=click.Path(file_okay=False), metavar="DIR", help="The folder to write into.")
@click.option(
    "--kind",
    type=click.Choice(["implementation", "client"]),
    help="Functions to fill in, or functions that call a running Ferrule.  [default: implementation]",
)
@click.option(
    "--project/--no-project", "is_project", default=None, help="Also write the files of a project that builds and runs."
)
@click.option("--flavour", "--flavor", metavar="NAME", help="The flavour of types; see --list.")
@click.option("--agent", default="", metavar="NAME", help="The tools of this agent, its built-in ones included.")
@click.option(
    "--from",
    "files",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    help="The tools of this definition file; more than one may be named.",
)
@click.option("--check", "is_check", is_flag=True, help="Write nothing; report what is out of date.")
@click.option("--force", is_flag=True, help="Overwrite generated files that were edited. Yours are never overwritten.")
@click.option("--list", "is_list", is_flag=True, help="List the languages and their flavours, and exit.")
@click.option("--workspace", "path", type=click.Path(), help="Use the workspace around this path.")
@json_option
def command(
    language: str | None,
    tools: tuple[str, ...],
    out: str | None,
    kind: StubKind | None,
    is_project: bool | None,
    flavour: str | None,
    agent: str,
    files: tuple[str, ...],
    is_check: bool,
    force: bool,
    is_list: bool,
    path: str | None,
    as_json: bool,
) -> int:
    """Write typed stubs of tools in LANG: go, typescript, rust or python.

    TOOL is an id, a name, a pattern such as 'clerk.*' or a definition file; without any, every tool of the workspace is
    meant. Definitions are enough: nothing is built, started or called. An ADL agent file may name the language itself.
    Without LANG and any file, what was generated into DIR before is generated again.
    """  # fmt: skip
    if is_list:
        list_languages()
        return OK
    if out is None:
        raise click.UsageError("say where to: ferrule gen LANG --out DIR ('--help' shows examples)")
    chosen = ""
    if language is not None and is_file(language):
        chosen, tools = read_language(language), (language, *tools)
    elif language is not None:
        chosen = find_language(language)
    named = tuple(word for word in tools if is_file(word))
    asked = _Request(
        language=chosen,
        tools=tuple(word for word in tools if word not in named),
        files=(*files, *named),
        agent=agent,
        kind=kind,
        flavour=flavour,
        is_project=is_project,
        workspace=path,
        folder=Path(out),
    )
    ran = [_run(wish, asked, is_check=is_check, is_forced=force) for wish in _plan_runs(asked)]
    if as_json:
        reports = GenReports(asked.folder.as_posix(), is_check, tuple(each.report for each in ran))
        click.echo(json_text(msgspec.to_builtins(reports)))
    else:
        for each in ran:
            _print_run(each, asked.folder, is_check=is_check)
    return PROBLEMS_FOUND if any(each.is_bad for each in ran) else OK


class _PlannedRun(NamedTuple):
    """A wish with the places it speaks of."""

    wish: StubRequest
    workspace: Workspace
    files: tuple[Path, ...]
    kept: Mapping[str, ToolNames] = {}
    """What tools were called before."""
    before: EarlierChoice = NEVER


def _plan_runs(asked: _Request) -> Iterator[_PlannedRun]:
    record = read_record(asked.folder)
    if asked.language:
        yield _plan_first(asked, record)
        return
    runs = [run for run in record.runs.values() if asked.kind in (None, run.wish.kind)]
    if not runs:
        raise click.UsageError(
            f"nothing was generated into {asked.folder} before; say which language: ferrule gen LANG --out {asked.folder}"
        )
    for run in runs:
        yield _plan_again(run, asked)


def _plan_first(asked: _Request, record: StubRecord) -> _PlannedRun:
    """Plans what the command line says; a project and a flavour that were chosen before come from the record."""
    kind = asked.kind or "implementation"
    before = record.runs.get(f"{asked.language}/{kind}")
    workspace = Workspace.open(asked.files[0] if asked.files else asked.workspace or ".")
    flavour = asked.flavour if asked.flavour is not None else before.wish.flavour if before is not None else ""
    is_project = asked.is_project if asked.is_project is not None else before is not None and before.wish.is_project
    files = tuple(Path(os.path.abspath(file)) for file in asked.files)
    wish = StubRequest(
        language=asked.language,
        kind=kind,
        flavour=flavour,
        is_project=is_project,
        tools=asked.tools,
        agent=asked.agent,
        files=tuple(Path(os.path.relpath(file, workspace.root)).as_posix() for file in files),
        workspace=_path_back(asked.folder, workspace.root),
    )
    return _PlannedRun(wish, workspace, files, before.names if before is not None else {})


def _plan_again(run: StubRun, asked: _Request) -> _PlannedRun:
    """Plans an earlier run again, with what the command line changes."""
    wish = run.wish
    changes: dict[str, str | bool] = {}
    if asked.flavour is not None:
        changes["flavour"] = asked.flavour
    if asked.is_project is not None:
        changes["is_project"] = asked.is_project
    if asked.tools or asked.agent or asked.files:
        raise click.UsageError("to choose other tools, say the language too: ferrule gen LANG TOOL... --out DIR")
    recorded = asked.folder / wish.workspace if wish.workspace else None
    if asked.workspace is None and (recorded is None or not recorded.is_dir()):
        raise click.UsageError(
            "the definitions that these stubs were generated from are not where they were, or were far away; say where they"
            f" are: ferrule gen --out {asked.folder} --workspace DIR"
        )
    workspace = Workspace.open(asked.workspace or recorded or ".")
    files = tuple(Path(os.path.normpath(workspace.root / file)) for file in wish.files)
    if lost := [file for file in files if not file.exists()]:
        raise click.UsageError(
            f"{lost[0]} is not there any more, which these stubs were generated from; say where the definitions are"
            f" (--workspace DIR), or choose anew: ferrule gen {wish.language} FILE --out {asked.folder}"
        )
    wish = msgspec.structs.replace(wish, workspace=_path_back(asked.folder, workspace.root), **changes)
    before = EarlierChoice(
        frozenset(wish.tools), wish.agent, frozenset(note.tool for note in run.files.values() if note.tool)
    )
    return _PlannedRun(wish, workspace, files, run.names, before)


def _path_back(folder: Path, root: Path) -> str:
    """Returns the path from the output folder to the workspace; empty where they share nothing, and a record would tell of
    somebody's disk."""
    out, home = os.path.realpath(folder), os.path.realpath(root)
    shared = os.path.commonpath((out, home))
    # Only the root of the file system is its own parent: then they share nothing.
    return Path(os.path.relpath(home, out)).as_posix() if shared != os.path.dirname(shared) else ""


def _path_to(root: Path, folder: Path) -> str:
    """Returns the way from the workspace to the output folder, where one lies in the other (`Plan.place`)."""
    home, out = os.path.realpath(root), os.path.realpath(folder)
    is_near = os.path.commonpath((home, out)) in (home, out)
    return Path(os.path.relpath(out, home)).as_posix() if is_near else ""


class _FinishedRun(NamedTuple):
    """One run and what to say of it."""

    outcome: StubsOutcome
    report: GenReport
    is_bad: bool


def _run(wanted: _PlannedRun, asked: _Request, *, is_check: bool, is_forced: bool) -> _FinishedRun:
    wish = wanted.wish
    found = find_tools(wanted.workspace, wish.tools, wish.agent, wanted.files, wanted.before, wish.kind)
    with ProgressBar("tools") as progress:
        place = _path_to(wanted.workspace.root, asked.folder)
        language = LANGUAGES.get(wish.language)
        module = find_module(asked.folder, language)
        made = generate(found.material, wish, language, progress, place=place, kept=wanted.kept, module=module)
    if not found.entries and found.unread:  # nobody knows what should be written
        outcome = StubsOutcome(wish, made, (), (), ())
    elif is_check:
        outcome = preview_stubs(made, found.material, wish, asked.folder)
    else:
        outcome = write_stubs(made, found.material, wish, asked.folder, is_forced=is_forced)
    notes = place_notes(wanted.workspace, found.entries, made.notes)
    report = report_of(outcome, notes, found.unread, found.needless)
    is_bad = not report.is_current if is_check else bool(found.unread) or is_refused(outcome)
    return _FinishedRun(outcome, report, is_bad)


def _print_run(ran: _FinishedRun, folder: Path, *, is_check: bool) -> None:
    say = check_lines if is_check else lines
    for line in say(ran.outcome, ran.report, folder, LANGUAGES.get(ran.report.language)):
        click.echo(line)
