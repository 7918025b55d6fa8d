"""`ferrule publish`: builds a workspace and records it as a release, if the change from the last one is sound."""

from __future__ import annotations

import getpass
import json
from datetime import UTC, datetime

import click

from ferrule.cli.build import as_dict, build_lines, find_key_file, key_lines, show_refusal
from ferrule.cli.show.output import ProgressBar, now_option
from ferrule.errors import BuildRefused
from ferrule.workspace.releases import PublishResult, publish
from ferrule.workspace.workspace import Workspace


@click.command(
    epilog="Releases are kept in .ferrule/releases and never rewritten. Exit code: 0 published (or nothing new), "
    "1 the definitions or the change have errors, 2 could not run."
)
@click.argument("path", default=".", type=click.Path())
@click.option("-m", "--message", help="A description of the release.")
@click.option("--approved-by", metavar="NAME", help="Who approved it.")
@click.option("--by", metavar="NAME", help="Who publishes; you by default.")
@click.option("--format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format.")
@now_option
def command(
    path: str, message: str | None, approved_by: str | None, by: str | None, format: str, now: str | None
) -> int:
    """Record the workspace around PATH (by default: here) as a release."""
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    try:
        with ProgressBar() as progress:
            done = publish(
                Workspace.open(path),
                by=by or _user(),
                at=at,
                message=message,
                approved_by=approved_by,
                key_file=find_key_file(),
                now=now,
                progress=progress,
            )
    except BuildRefused as refused:
        return show_refusal(refused, format)
    click.echo(json.dumps(_as_dict(done), indent=2) if format == "json" else _release_lines(done))
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return "unknown"


def _release_lines(done: PublishResult) -> str:
    if not done.is_new:
        return "\n".join(
            [*key_lines(done.built), f"nothing to publish: release {done.release.number} has the same content"]
        )
    approved = f", approved by {done.release.approved_by}" if done.release.approved_by else ""
    return f"{build_lines(done.built)}\npublished release {done.release.number} by {done.release.released_by}{approved}"


def _as_dict(done: PublishResult) -> dict[str, object]:
    release = done.release
    return {
        "release": release.number,
        "is_new": done.is_new,
        "released_at": release.released_at,
        "released_by": release.released_by,
        "approved_by": release.approved_by,
        "message": release.message,
        **as_dict(done.built),
    }
