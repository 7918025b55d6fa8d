"""What client stubs in Go make of results of every kind, and of answers that are no results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ferrule.definitions.stubs.languages.go.language import LANGUAGE
from ferrule.definitions.stubs.plan import StubChoice
from tests.definitions.stubs.languages.go.compiled_program import PROGRAMS, planned, tool_of, unformatted, written
from tests.definitions.stubs.languages.toolchains import Tool, go

_NOTHING = {"type": "object"}
_WORD = {"type": "object", "properties": {"word": {"enum": ["a", "b"]}}, "required": ["word"]}
_TOOLS = (
    tool_of("text", _NOTHING, {"type": "string"}),
    tool_of("maybe", _NOTHING, {"type": ["string", "null"]}),
    tool_of("count", _NOTHING, {"type": "integer", "minimum": 0}),
    tool_of("word", _WORD),
    tool_of("loose", _NOTHING),
)
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Tells what a client makes of an answer."""
    folder = tmp_path_factory.mktemp("answers")
    written(folder, LANGUAGE.write(planned(_TOOLS, StubChoice(kind="client", is_project=True))).files)
    (folder / "main.go").write_text((PROGRAMS / "answering.go").read_text())
    go().run("build", "-o", "answering", ".", cwd=folder)
    assert unformatted(folder) == ""
    program = Tool((str(folder / "answering"),), {})
    return lambda **question: json.loads(
        program.run(cwd=folder, stdin=json.dumps({"status": 200, **question}).encode(), seconds=60)
    )


def _result(structured: Any, *texts: str, **said: Any) -> str:
    content = [{"type": "text", "text": text, **said} for text in texts]
    result = {"is_error": False, "structured_content": structured, "content": content}
    return json.dumps({"invocation_id": "inv_1", "state": "succeeded", "is_pending": False, "result": result})


@pytest.mark.parametrize(
    ("tool", "body", "value"),
    [
        ("text", _result(None, "123"), "123"),
        ("text", _result(None, "true"), "true"),
        ("text", _result(None, "null"), "null"),
        ("text", _result(None, '"q"'), '"q"'),
        ("text", _result(None, ""), ""),
        ("maybe", _result(None, "The tool finished and gave no output.", empty=True), None),
        ("maybe", _result(None, "null"), "null"),
        ("loose", _result(None, "123"), "123"),
        ("loose", _result(None, "two", "lines"), "two\nlines"),
        ("loose", _result(None, "nothing", empty=True), None),
        ("loose", _result([1, None], "[1,null]"), [1, None]),
        ("loose", _result(12345678901234567890123, "x"), 12345678901234567890123),
        ("count", _result(7, "7"), 7),
        ("count", _result(None, "7"), 7),
        ("count", _result(0, "0"), 0),
    ],
)
def test_a_text_is_a_text_unless_only_what_it_says_fits(ask: Ask, tool: str, body: str, value: Any) -> None:
    told = ask(tool=tool, body=body, headers={"Content-Type": "application/json"})
    assert (told["kind"], told["value"]) == ("", value)


def test_a_result_that_does_not_fit_has_its_class(ask: Ask) -> None:
    told = ask(tool="count", body=_result(None, "-1.5"))
    assert (told["kind"], told["is_base"], told["invocation"]) == ("unexpected_result", True, "inv_1")
    assert told["message"].startswith("unexpected_result: json: cannot unmarshal number -1.5")
    assert ask(tool="count", body=_result(None, "many"))["kind"] == "unexpected_result"
    assert ask(tool="text", body="{}")["kind"] == "unexpected_result"


def test_a_server_that_is_not_there_is_a_connection_error(ask: Ask) -> None:
    told = ask(tool="text", status=0)
    assert (told["kind"], told["is_cause"]) == ("connection", True)


@pytest.mark.parametrize("body", ["", ": keep-alive\n\n", "event: result\n"])
def test_a_stream_that_says_nothing_is_a_connection_error(ask: Ask, body: str) -> None:
    told = ask(tool="text", body=body, headers={"Content-Type": "text/event-stream"})
    assert (told["kind"], told["message"]) == ("connection", "connection: unexpected EOF")


def test_an_answer_without_a_reason_still_says_something(ask: Ask) -> None:
    told = ask(tool="text", status=502, body="{}")
    assert (told["kind"], told["status"]) == ("request", 502)
    assert told["message"] == "request: 502 Bad Gateway"
    assert ask(tool="text", status=502, body='{"message":"no upstream"}')["message"] == "request: no upstream"
    assert ask(tool="text", status=500, body="<html>")["status"] == 500


def test_a_redirection_is_not_followed(ask: Ask) -> None:
    told = ask(tool="text", status=307, body="{}", headers={"Location": "https://elsewhere.example/"})
    assert (told["kind"], told["status"]) == ("request", 307)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("body", ['{"code":"busy","detail":"slow down"}', "<html>"])
def test_an_answer_may_say_when_to_come_back(ask: Ask, status: int, body: str) -> None:
    told = ask(tool="text", status=status, body=body, headers={"Retry-After": "7"})
    assert (told["kind"], told["retry_after"], told["is_safe"]) == ("request", 7, True)


def test_a_server_that_hangs_keeps_nobody_beyond_the_deadline(ask: Ask) -> None:
    headers = {"Content-Type": "text/event-stream", "Content-Location": "/v1/calls/inv_9"}
    told = ask(tool="text", hangs=True, headers=headers)
    assert (told["kind"], told["invocation"], told["cancels"]) == ("canceled", "inv_9", 1)
    assert told["is_cause"]
    assert told["seconds"] < 0.9
    unknown = ask(tool="text", hangs=True, headers={"Content-Type": "text/event-stream"})
    assert (unknown["kind"], unknown["invocation"]) == ("canceled", "")
    assert unknown["seconds"] < 0.9


def test_the_result_of_an_earlier_call_can_be_asked_for(ask: Ask) -> None:
    told = ask(
        later=True, body=f"event: result\ndata: {_result(None, '5')}\n\n", headers={"Content-Type": "text/event-stream"}
    )
    assert (told["kind"], told["value"]) == ("", "5")
    waiting = json.dumps({"invocation_id": "inv_1", "state": "awaiting_approval", "is_pending": True})
    body = f"event: waiting\ndata: {waiting}\n\n"
    assert ask(later=True, body=body, headers={"Content-Type": "text/event-stream"})["kind"] == "pending"


def test_the_end_of_a_wait_is_not_the_end_of_the_call(ask: Ask) -> None:
    told = ask(later=True, hangs=True, headers={"Content-Type": "text/event-stream"})
    assert (told["kind"], told["cancels"], told["is_cause"]) == ("connection", 0, True)
    assert told["seconds"] < 0.9
