"""`ferrule list`: the tools of a workspace as a table, or as JSON."""

from __future__ import annotations

import json
import sys
from io import StringIO

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ferrule.cli.shelf import Entry, shelf_of
from ferrule.dialects.builtin import DIALECTS
from ferrule.model.tool import LIFECYCLES, TOOL_KINDS
from ferrule.reporters.excerpt import cleaned
from ferrule.workspace import Workspace

_LIFECYCLE_STYLES = {"available": "green", "draft": "yellow", "deprecated": "yellow", "disabled": "red"}
_DIALECTS = click.Choice([*DIALECTS])


@click.command()
@click.argument("path", default=".", type=click.Path())
@click.option("--dialect", type=_DIALECTS, multiple=True, help="Only tools written in this dialect.")
@click.option("--namespace", multiple=True, help="Only tools of this namespace.")
@click.option("--tag", multiple=True, help="Only tools with this tag; with several, with all of them.")
@click.option("--lifecycle", type=click.Choice(LIFECYCLES), multiple=True, help="Only tools in this state.")
@click.option("--kind", type=click.Choice(TOOL_KINDS), multiple=True, help="Only tools of this kind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(
    path: str,
    dialect: tuple[str, ...],
    namespace: tuple[str, ...],
    tag: tuple[str, ...],
    lifecycle: tuple[str, ...],
    kind: tuple[str, ...],
    as_json: bool,
) -> None:
    """List the tools of the workspace around PATH (by default: here)."""
    entries = [
        entry
        for entry in shelf_of(Workspace.open(path)).entries
        if (not dialect or entry.outline.dialect in dialect)
        and (not namespace or entry.outline.namespace in namespace)
        and set(tag) <= set(entry.tags)
        and (not lifecycle or entry.lifecycle in lifecycle)
        and (not kind or entry.kind in kind)
    ]
    if as_json:
        click.echo(json.dumps([_as_dict(entry) for entry in entries], indent=2, ensure_ascii=False))
        return
    _print(entries)


def _as_dict(entry: Entry) -> dict[str, object]:
    outline = entry.outline
    return {
        "tool_id": outline.tool_id,
        "namespace": outline.namespace,
        "name": outline.name,
        "version": outline.version,
        "dialect": outline.dialect,
        "kind": entry.kind,
        "lifecycle": entry.lifecycle,
        "tags": list(entry.tags),
        "title": entry.tool.title if entry.tool is not None else None,
        "description": entry.tool.description if entry.tool is not None else None,
        "file": entry.file,
        "errors": entry.errors,
    }


def _print(entries: list[Entry]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=sys.stdout.isatty())
    for heading in ("namespace", "tool", "version", "dialect", "kind", "lifecycle"):
        table.add_column(heading, no_wrap=True)
    table.add_column("what it does", no_wrap=True, overflow="ellipsis", ratio=1, min_width=20)
    for entry in entries:
        outline = entry.outline
        table.add_row(
            cleaned(outline.namespace),
            Text(cleaned(outline.name), style="bold"),
            cleaned(outline.version or "-"),
            outline.dialect,
            entry.kind,
            Text(cleaned(entry.lifecycle), style=_LIFECYCLE_STYLES.get(entry.lifecycle, "")),
            Text(cleaned(entry.description), style="red" if entry.errors else ""),
        )
    if entries and sys.stdout.isatty():
        Console(highlight=False).print(table)
    elif entries:
        _print_whole(table)
    noun = "tool" if len(entries) == 1 else "tools"
    sys.stdout.write(f"{len(entries)} {noun}\n" if entries else "no tools found\n")


def _print_whole(table: Table) -> None:
    """For pipes and files: nothing is cut to a width."""
    console = Console(file=StringIO(), width=10_000, highlight=False, no_color=True)
    console.print(table)
    written = console.file
    assert isinstance(written, StringIO)
    for line in written.getvalue().splitlines():
        sys.stdout.write(line.rstrip() + "\n")
