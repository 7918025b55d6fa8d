"""`ferrule publish`: a release with its number and its names, and nothing where nothing changed."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from ferrule.cli import publish


def run(*words: str) -> Result:
    return CliRunner().invoke(publish.command, words, standalone_mode=False)


def test_a_release_is_told_with_who_published_and_who_approved(workspace: Path) -> None:
    ran = run(str(workspace), "--by", "ann", "--approved-by", "bob", "-m", "the first")
    assert ran.return_value == 0 and ran.output.endswith("published release 1 by ann, approved by bob\n")
    again = run(str(workspace), "--by", "eve")
    assert again.output == "nothing to publish: release 1 has the same content\n"


def test_programs_get_the_record(workspace: Path) -> None:
    told = json.loads(run(str(workspace), "--by", "ann", "-m", "x", "--format", "json").output)
    assert (told["release"], told["is_new"], told["released_by"], told["message"]) == (1, True, "ann", "x")
    assert told["released_at"].endswith("Z") and told["approved_by"] is None


def test_definitions_with_errors_are_not_published(broken: Path) -> None:
    assert run(str(broken)).return_value == 1
    assert not (broken / ".ferrule" / "releases").exists()
