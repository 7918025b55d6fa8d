"""`ferrule list`: the tools of a workspace as a table, or as JSON."""

from __future__ import annotations

import json
import sys
from shutil import get_terminal_size

import click

from ferrule.cli.show.output import has_colour
from ferrule.cli.show.screen import fit, pad
from ferrule.cli.workspace_tools import ListedTool, collect_tools
from ferrule.definitions.dialects.builtin import DIALECTS
from ferrule.definitions.reporters.excerpt import count_columns, sanitize
from ferrule.model.tool import LIFECYCLES, TOOL_KINDS
from ferrule.workspace.workspace import Workspace

_HEADINGS = ("namespace", "tool", "version", "dialect", "kind", "lifecycle", "what it does")
_BOLD, _RED, _GREEN, _YELLOW = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"
_LIFECYCLE_STYLES = {"available": _GREEN, "draft": _YELLOW, "deprecated": _YELLOW, "disabled": _RED}
_BESIDE = "; functions that no definition describes are not in this list"
"""No module runs for a list."""
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
    workspace = Workspace.open(path)
    shelf = collect_tools(workspace)
    entries = [
        entry
        for entry in shelf.entries
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
    beside = _BESIDE if workspace.settings.functions.modules and len(entries) == len(shelf.entries) else ""
    click.echo(f"{_describe_count(entries) if entries else 'no tools found'}{beside}")
    for file in shelf.unreadable:
        click.echo(
            f"ferrule: {sanitize(file)} cannot be read, so it is not listed; 'ferrule check' tells why", err=True
        )


def _as_dict(entry: ListedTool) -> dict[str, object]:
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


def _print(entries: list[ListedTool]) -> None:
    rows = [_HEADINGS, *(_row(entry) for entry in entries)]
    widths = [max(count_columns(row[column]) for row in rows) for column in range(len(_HEADINGS) - 1)]
    room = _remaining_columns(sum(widths) + 2 * len(widths))
    in_colour = has_colour(sys.stdout)
    for number, row in enumerate(rows if entries else ()):
        cells = [pad(text, width) for text, width in zip(row, widths, strict=False)]
        cells.append(fit(row[-1], room))
        if in_colour:
            cells = [_apply_style(text, style) for text, style in zip(cells, _styles(entries, number), strict=True)]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _describe_count(entries: list[ListedTool]) -> str:
    """Describes the number of tools, and of rows where that differs."""
    tools = len({entry.outline.tool_id for entry in entries})
    told = f"{tools:,} tool{'' if tools == 1 else 's'}"
    return told if tools == len(entries) else f"{told} in {len(entries):,} versions"


def _row(entry: ListedTool) -> tuple[str, ...]:
    outline = entry.outline
    version = sanitize(outline.version or "-")
    names = (sanitize(outline.namespace), sanitize(outline.name), version, outline.dialect)
    return (*names, entry.kind, sanitize(entry.lifecycle), sanitize(entry.description))


def _remaining_columns(taken: int) -> int:
    """Returns the columns left for the last one. Unlimited in pipes and files, where nothing is cut."""
    if not sys.stdout.isatty():
        return sys.maxsize
    return max(20, get_terminal_size().columns - taken)


def _styles(entries: list[ListedTool], number: int) -> tuple[str, ...]:
    if number == 0:
        return (_BOLD,) * len(_HEADINGS)
    entry = entries[number - 1]
    return ("", _BOLD, "", "", "", _LIFECYCLE_STYLES.get(entry.lifecycle, ""), _RED if entry.errors else "")


def _apply_style(text: str, style: str) -> str:
    return f"{style}{text}\x1b[0m" if style else text
