"""`ferrule diff`: the changes since a release, and the callers they break."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import msgspec

from ferrule.cli.show.output import ProgressBar, now_option, read_text, report_options, write_report
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import WorkspaceError
from ferrule.model.change import ToolChange
from ferrule.model.semver import Bump
from ferrule.model.value import MISSING, JsonObject
from ferrule.workspace.releases import CatalogDifference, diff
from ferrule.workspace.snapshots import is_definitions
from ferrule.workspace.workspace import Workspace

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


@click.command(
    epilog="Exit code: 0 when the change has no errors, 1 when it has (or warnings, with --strict) or a file of the "
    "candidate cannot be read, 2 when it could not be looked at."
)
@click.argument("published", required=False)
@click.argument("candidate", required=False)
@report_options
@click.option("--strict", is_flag=True, help="Fail on warnings, too.")
@now_option
def command(
    published: str | None, candidate: str | None, format: str, output: str | None, strict: bool, now: str | None
) -> int:
    """Compare PUBLISHED with CANDIDATE: folders, files, catalogs or Git revisions (HEAD~1, main:tools).

    Without CANDIDATE the workspace is compared; without PUBLISHED the last release is what it is compared with. One
    argument that is a folder or file of definitions is the CANDIDATE.
    """
    if published is not None and candidate is None and is_definitions(published):
        published, candidate = None, published
    workspace = Workspace.open(candidate if candidate is not None and is_definitions(candidate) else ".")
    with ProgressBar() as progress:
        difference = diff(workspace, published, candidate, now=now, progress=progress)
    if format == "json":
        _write_json(difference, output)
    else:
        texts = difference.texts
        write_report(
            difference.report,
            format=format,
            output=output,
            is_strict=strict,
            text_of=lambda file: texts.get(file) or read_text(file),
            before=_difference_lines(difference) if format == "text" else (),
        )
    for file in difference.unread:
        click.echo(
            f"ferrule: {sanitize(file)} cannot be read, so it was not compared; 'ferrule check' tells why",
            err=True,
        )
    summary = difference.report.summary
    return int(summary.errors > 0 or (strict and summary.warnings > 0) or bool(difference.unread))


def _difference_lines(difference: CatalogDifference) -> Iterator[str]:
    """Yields a few lines for every changed tool."""
    changes = [change for change in difference.comparison.changes if change.word != "unchanged"]
    yield f"from {difference.published} to {difference.candidate}:"
    yield "\n\n" if changes else " no tool changed\n\n"
    for change in changes:
        yield from (f"{sanitize(line)}\n" for line in _about(change))
        yield "\n"


def _about(change: ToolChange) -> Iterator[str]:
    outline = change.part.outline
    versions = " -> ".join(
        part.outline.version or "no version" for part in (change.old, change.new) if part is not None
    )
    yield f"{_SIGNS[change.word]} {outline.tool_id} {versions}"
    if change.word == "changed":
        yield f"    changed: {', '.join(change.fields) or 'version'}"
        yield from (f"    breaks callers: {item.text}" for item in change.narrowed)
        if change.example is not MISSING:
            yield f"    for example: `{_json(change.example)}` was accepted and no longer is"
        if change.is_undecided:
            yield "    whether callers break cannot be decided; a person must look"
        yield from (f"    promises less: {item.text}" for item in change.weakened)
        yield f"    needs a {change.needed.word} version, {_make_release(change)}"
    if change.agents or change.roles:
        hit = [f"agent {name}" for name in change.agents] + [f"role {name}" for name in change.roles]
        yield f"    used by: {', '.join(hit)}"


def _make_release(change: ToolChange) -> str:
    if change.made is None:
        return "and has none that can be compared"
    if change.made is Bump.NONE:
        return "and its version was not raised"
    return f"and got a {change.made.word} one"


def _json(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 300 else text[:297] + "…"


def _write_json(difference: CatalogDifference, output: str | None) -> None:
    whole = {
        **msgspec.to_builtins(difference.report),
        "published": difference.published,
        "candidate": difference.candidate,
        "changes": [_as_dict(change) for change in difference.comparison.changes if change.word != "unchanged"],
    }
    text = msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"
    if output is None:
        sys.stdout.write(text)
        return
    try:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise WorkspaceError(f"cannot write {output!r}: {error.strerror}") from None


def _as_dict(change: ToolChange) -> JsonObject:
    outline = change.part.outline
    return {
        "tool_id": outline.tool_id,
        "dialect": outline.dialect,
        "change": change.word,
        "old_version": change.old.outline.version if change.old else None,
        "new_version": change.new.outline.version if change.new else None,
        "fields": list(change.fields),
        "breaking": [item.text for item in change.narrowed],
        "counterexample": None if change.example is MISSING else change.example,
        "has_counterexample": change.example is not MISSING,
        "undecided": change.is_undecided,
        "weakened_output": [item.text for item in change.weakened],
        "needed": change.needed.word,
        "made": change.made.word if change.made is not None else None,
        "agents": list(change.agents),
        "roles": list(change.roles),
    }
