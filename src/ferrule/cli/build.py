"""`ferrule build`: checks a workspace and writes its sealed catalog."""

from __future__ import annotations

import json
import os

import click

from ferrule.cli.show.output import ProgressBar, now_option, write_report
from ferrule.errors import BuildRefused
from ferrule.model.diagnostic import Report
from ferrule.workspace.releases import BuildResult, build
from ferrule.workspace.workspace import Workspace, show_path

KEY_VARIABLE = "FERRULE_KEY_FILE"


@click.command(
    epilog="The catalog is sealed with the workspace's key (.ferrule/keys/workspace.key, or the file that "
    f"{KEY_VARIABLE} names). Exit code: 0 built, 1 the definitions have errors, 2 could not run."
)
@click.argument("path", default=".", type=click.Path())
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="The catalog's file; by default .ferrule/catalog.ferrule."
)
@click.option("--format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format.")
@now_option
def command(path: str, output: str | None, format: str, now: str | None) -> int:
    """Compile the workspace around PATH (by default: here) into one sealed catalog."""
    try:
        with ProgressBar() as progress:
            built = build(Workspace.open(path), output, key_file=find_key_file(), now=now, progress=progress)
    except BuildRefused as refused:
        return show_refusal(refused, format)
    if format == "json":
        click.echo(json.dumps(as_dict(built), indent=2))
        return 0
    click.echo(build_lines(built))
    return 0


def find_key_file() -> str | None:
    """Returns the private key file that the environment names."""
    return os.environ.get(KEY_VARIABLE) or None


def show_refusal(refused: BuildRefused, format: str) -> int:
    """Prints why nothing was built, and returns the exit code."""
    if isinstance(refused.report, Report):
        write_report(refused.report, format=format)
    click.echo(f"ferrule: {refused}", err=True)
    return 1


def key_lines(built: BuildResult) -> list[str]:
    """Yields lines about keys that were made or trusted, so that no trust goes unnoticed."""
    lines = []
    if built.new_key is not None:
        lines.append(f"made a new key, {show_path(str(built.new_key))}; keep it secret")
    if built.is_newly_trusted:
        lines.append(
            "added the key's public half to ferrule.pub; whoever commits that lets this key seal for the workspace"
        )
    return lines


def build_lines(built: BuildResult) -> str:
    """Describes the outcome in words."""
    lines = key_lines(built)
    warnings = built.report.summary.warnings
    if warnings:
        lines.append(f"{_count(warnings, 'warning')}; 'ferrule check' shows them")
    counted = [_count(len(built.contents.tools), "tool")]
    counted += [_count(number, kind) for kind in ("agent", "role") if (number := built.contents.count(kind))]
    lines += [
        f"built {show_path(str(built.path))}: {', '.join(counted)} in {built.seconds:.2f} s",
        f"digest {built.digest}",
    ]
    return "\n".join(lines)


def as_dict(built: BuildResult) -> dict[str, object]:
    """Returns the outcome as JSON."""
    return {
        "catalog": show_path(str(built.path)),
        "digest": built.digest,
        "tools": len(built.contents.tools),
        "agents": built.contents.count("agent"),
        "roles": built.contents.count("role"),
        "records": len(built.contents.records),
        "warnings": built.report.summary.warnings,
        "is_newly_trusted": built.is_newly_trusted,
        "new_key": show_path(str(built.new_key)) if built.new_key is not None else None,
        "seconds": round(built.seconds, 3),
    }


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
