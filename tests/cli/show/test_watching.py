"""How a call is watched: a line a record, or JSON lines, all of it on standard error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from ferrule.cli.show.watching import JsonView, PlainView, choose_view, is_watched, show_all
from ferrule.model.progress import Progress

HALF = Progress(invocation_id="inv_1", sequence=1, status="running", timestamp=0, percent=50.0, message="half")


async def records() -> AsyncIterator[Progress]:
    yield HALF
    yield HALF


def test_people_get_a_line_for_each_record_and_no_empty_notes(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainView() as view:
        view.begin("inv_1", "inv_1; from elsewhere: ferrule follow inv_1")
        asyncio.run(show_all(records(), view))
        view.note("", {"cancellation": {}})
    shown = capsys.readouterr()
    assert shown.out == "" and len(shown.err.splitlines()) == 3
    assert "50%" in shown.err and "half" in shown.err


def test_programs_get_json_lines_with_the_id_first(capsys: pytest.CaptureFixture[str]) -> None:
    with JsonView() as view:
        view.begin("inv_1", "words for people")
        view.show_progress(HALF)
        view.note("", {"left": "inv_1"})
    first, second, third = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (first, third) == ({"invocation_id": "inv_1"}, {"left": "inv_1"})
    assert second["percent"] == 50.0


def test_without_a_terminal_nobody_gets_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    assert not is_watched()
    assert type(choose_view(False)) is PlainView and type(choose_view(True)) is JsonView


@pytest.mark.parametrize(("kind", "watched"), [("xterm", True), ("dumb", False), ("unknown", False)])
def test_a_terminal_that_cannot_draw_is_not_drawn_on(kind: str, watched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert is_watched() is watched
