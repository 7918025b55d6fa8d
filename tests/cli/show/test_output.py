"""How reports reach people: colours, files that cannot be written, JSON that is always JSON, and a bar that stays quiet."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from ferrule.cli.show import output
from ferrule.cli.show.output import ProgressBar, has_colour, json_text, read_text, write_report
from ferrule.errors import WorkspaceError
from ferrule.workspace.workspace import Workspace


class Screen(io.StringIO):
    """A terminal to write to."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("env", "is_terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colours_are_for_terminals_unless_somebody_says_otherwise(
    env: dict[str, str], is_terminal: bool, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert has_colour(Screen() if is_terminal else io.StringIO()) is coloured


def test_a_report_goes_to_the_file_that_is_named_and_a_file_that_cannot_be_is_told(broken: Path) -> None:
    report = Workspace.open(broken).check()
    write_report(report, format="json", output=str(broken / "report.json"))
    assert json.loads((broken / "report.json").read_text())["diagnostics"]
    with pytest.raises(WorkspaceError, match="cannot write"):
        write_report(report, output=str(broken / "nowhere" / "report.txt"))


def test_what_json_cannot_say_becomes_null() -> None:
    assert json.loads(json_text({"a": float("nan"), "b": [float("inf")]})) == {"a": None, "b": [None]}
    assert json_text({"name": "Zoë"}) == '{\n  "name": "Zoë"\n}'


def test_an_excerpt_shows_what_is_no_text_as_replacements_and_a_folder_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbfcaf\xe9")
    assert read_text(str(tmp_path / "a.md")) == "caf\ufffd"
    assert read_text(str(tmp_path)) is None


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_bar_draws_for_whoever_watches_and_wipes_itself(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen() if is_terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(output, "_FIRST_AFTER", 0.0)
    with ProgressBar("tools") as bar:
        bar(1, 2_000)
    shown = screen.getvalue()
    assert ("1 of 2,000 tools" in shown and shown.endswith("\r\x1b[2K")) if is_terminal else shown == ""


def test_a_short_run_stays_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    with ProgressBar() as bar:
        bar(1, 2)
    assert screen.getvalue() == ""
