"""The OXP server, request by request (OXP-19 to OXP-50)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.servers.oxp.oxp_server import LOGGED, OxpTestServer, running_oxp_server
from tests.servers.oxp.request_table import ADD, SECRETS, TABLE, Case
from tests.servers.oxp.schemas import fits, of_status

_HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OxpTestServer]:
    with running_oxp_server(tmp_path_factory.mktemp("oxp")) as made:
        yield made


@pytest.mark.parametrize("case", TABLE, ids=[f"{number}-{case.ids}" for number, case in enumerate(TABLE)])
def test_each_request_is_answered_as_the_protocol_says(served: OxpTestServer, case: Case) -> None:
    reply = served.ask(case.method, case.path, case.body, case.headers)
    assert reply.status == case.status, f"{case.name}: {reply}"
    assert reply.headers["content-type"] == "application/json"
    body = reply.json()
    assert fits(body, of_status(case.status, case.path)), f"{case.name}: {body}"
    for path, expected in case.members.items():
        found = at(body, path)
        if expected is None:
            assert found is Missing, f"{case.name}: {path} is there: {found!r}"
        elif expected is ...:
            assert found is not Missing, f"{case.name}: {path} is not there: {body}"
        else:
            assert found == expected, f"{case.name}: {path}"


def test_every_requirement_of_the_server_is_shown_by_a_request_or_a_test() -> None:
    shown = {number for case in TABLE for number in re.findall(r"OXP-(\d+)", case.ids)}
    for file in (*_HERE.rglob("test_*.py"), *(ROOT / "tests" / "runtime" / "executors" / "oxp").glob("test_*.py")):
        if file.name != Path(__file__).name:
            shown |= set(re.findall(r"OXP-(\d+)", file.read_text()))
    assert not {str(number) for number in range(19, 51)} - shown


class Missing:
    """A member that is not there."""


def at(body: Any, path: str) -> Any:
    for step in path.split("."):
        if not isinstance(body, dict) or step not in body:
            return Missing
        body = body[step]
    return body


def test_a_wrong_method_says_which_is_right(served: OxpTestServer) -> None:
    """OXP-25"""
    assert served.ask("PUT", "/oxp/tools/call").headers["allow"] == "POST"
    assert served.ask("PUT", "/oxp/tools").headers["allow"] == "GET"


def test_a_repeated_call_id_gets_the_stored_response_and_runs_nothing(served: OxpTestServer) -> None:
    """OXP-28"""
    before = len(served.ran.calls)
    request = {"tool_id": "Calculator.Add", "input": {"a": 40, "b": 2}, "call_id": "only-once"}
    first = served.call(**request)
    again = served.call(**{**request, "input": {"b": 2, "a": 40}})
    assert again.body == first.body
    assert served.ran.calls[before:] == [("add", 40, 2)]
    other = served.call(**{**request, "input": {"a": 41, "b": 2}})
    assert other.status == 400
    assert served.ran.calls[before:] == [("add", 40, 2)]


def test_a_call_id_that_the_server_made_counts_too(served: OxpTestServer) -> None:
    """OXP-28"""
    before = len(served.ran.calls)
    made = served.call(tool_id="Doorbell.Ring").json()["result"]["call_id"]
    again = served.call(tool_id="Doorbell.Ring", call_id=made)
    assert again.json()["result"]["success"] is True
    assert len(served.ran.calls) == before + 1


def test_another_caller_has_call_ids_of_their_own(served: OxpTestServer) -> None:
    """OXP-28: the response is stored for the same caller, so that no user is told another's."""
    said = [
        served.call(tool_id="Users.Whoami", call_id="shared", context={"user_id": user}).json()["result"]["value"]
        for user in ("ada", "bob", "ada")
    ]
    assert said == ["ada", "bob", "ada"]


def test_an_input_that_did_not_fit_leaves_the_call_id_free(served: OxpTestServer) -> None:
    """OXP-24, OXP-28: nothing ran under it."""
    assert served.call(tool_id="Calculator.Add", call_id="mended", input={"a": 1}).status == 422
    assert (
        served.call(tool_id="Calculator.Add", call_id="mended", input={"a": 1, "b": 1}).json()["result"]["value"] == 2
    )


def test_a_trace_is_in_the_log_and_on_record(served: OxpTestServer, caplog: pytest.LogCaptureFixture) -> None:
    """OXP-29"""
    with caplog.at_level(logging.INFO, logger=LOGGED):
        served.call(tool_id="Doorbell.Ring", trace_id="trace-\n1234")
    assert "trace-\\n1234" in caplog.text

    async def recorded() -> list[Any]:
        await served.stand.app.store.flush()
        rows = await served.stand.app.store.rows_before(None, 20, kinds=("call", "started", "ended"))
        return [row.segment().notes.get("trace_id") for row in rows]

    assert "trace-\n1234" in served.run(recorded())


def test_nothing_that_was_handed_over_is_logged_stored_or_echoed(
    served: OxpTestServer, caplog: pytest.LogCaptureFixture
) -> None:
    """OXP-42"""
    values = ("tok-0123456789", "key-0123456789", "unasked-0123456789")
    with caplog.at_level(logging.DEBUG):
        reply = served.call(tool_id="Mail.Read", call_id="handed", context=SECRETS)
        again = served.call(tool_id="Mail.Read", call_id="handed", context=SECRETS)
    assert reply.body == again.body
    assert served.ran.credentials[-1] == {"google": "tok-0123456789", "POST_KEY": "key-0123456789"}
    served.run(served.stand.app.store.flush())
    stored = b"".join(file.read_bytes() for file in served.stand.app.root.rglob("*") if file.is_file())
    for value in values:
        assert value not in caplog.text
        assert value.encode() not in reply.body + stored


def test_what_the_server_was_told_in_a_broken_call_is_not_repeated(served: OxpTestServer) -> None:
    """OXP-42"""
    reply = served.call(tool_id="No.Such", context=SECRETS)
    broken = served.call(tool_id="Mail.Read", context={**SECRETS, "secrets": [{"id": 5, "value": "key-0123456789"}]})
    assert (reply.status, broken.status) == (400, 400)
    assert b"0123456789" not in reply.body + broken.body


def test_a_secret_of_the_workspace_is_used_and_not_the_callers(
    served: OxpTestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OXP-39: what the workspace binds is its own; what it lacks may come with the call."""
    brought = {"secrets": [{"id": "BOUND_KEY", "value": "from the caller"}]}
    assert served.call(tool_id="Bound.Secret").json()["missing_requirements"] == {"secrets": ["BOUND_KEY"]}
    assert served.call(tool_id="Bound.Secret", context=brought).json()["result"]["value"] == len("from the caller")
    monkeypatch.setenv("OXP_TEST_BOUND_KEY", "from the workspace, longer")
    assert served.call(tool_id="Bound.Secret").json()["result"]["value"] == len("from the workspace, longer")
    assert served.call(tool_id="Bound.Secret", context=brought).json()["result"]["value"] == 26


def test_developers_are_told_what_models_are_not(served: OxpTestServer) -> None:
    """OXP-33, OXP-34: an exception's own words reach nobody; ids and classes are for logs."""
    error = served.call(tool_id="Fails.Always").json()["result"]["error"]
    assert "internal words" not in str(error)
    assert "inv_" not in error["message"]
    assert "execution_failed" in error["developer_message"]


def test_a_denied_call_has_failed_and_is_not_to_be_retried(served: OxpTestServer) -> None:
    """OXP-22, OXP-36"""
    before = len(served.ran.calls)
    reply = served.call(tool_id="Money.Burn", input={"how": "all"})
    assert (reply.status, reply.json()["result"]["error"]["can_retry"]) == (200, False)
    assert served.ran.calls[before:] == []
    assert served.call(tool_id="Money.Burn", input={"how": "some"}).json()["result"]["success"] is True


def test_a_hidden_tool_looks_like_one_that_never_was(served: OxpTestServer) -> None:
    """OXP-23"""
    hidden, unknown = served.call(tool_id="Hidden.Away"), served.call(tool_id="Hidden.Gone")
    assert hidden.body.replace(b"Away", b"Gone") == unknown.body
    assert b"Hidden" not in served.ask("GET", "/oxp/tools").body
    assert "hidden" not in served.ran.calls


def test_an_unknown_tool_is_on_record(served: OxpTestServer) -> None:
    served.call(tool_id="Never.Seen@1.0.0", input={"x": 1})

    async def tools() -> list[str]:
        await served.stand.app.store.flush()
        return [row.tool for row in await served.stand.app.store.rows_before(None, 5, kinds=("call",))]

    assert "unknown:Never.Seen@1.0.0" in served.run(tools())


def test_a_parked_call_can_be_asked_about_until_it_has_ended(served: OxpTestServer) -> None:
    """OXP-28, OXP-36: a call that waits has failed for now; the same call_id gets the outcome later."""
    request = {"tool_id": "Money.Send", "input": {"to": "bob"}, "call_id": "parked"}
    first, again = served.call(**request).json()["result"], served.call(**request).json()["result"]
    error = first["error"]
    assert (first["success"], error["can_retry"], error["pending"]) == (False, True, True)
    assert error["retry_after_ms"] > 0
    assert again["error"]["invocation_id"] == error["invocation_id"]
    approve(served, error["invocation_id"])
    outcome = served.call(**request).json()["result"]
    assert (outcome["success"], outcome["value"]) == (True, {"sent": "bob"})
    assert served.ran.calls.count(("send", "bob")) == 1


def approve(served: OxpTestServer, invocation_id: str) -> None:
    from ferrule.model.approval import APPROVE, Identity  # noqa: PLC0415

    app = served.stand.app
    served.run(app.inbox(Identity("owner", "console", frozenset({APPROVE}))).approve(invocation_id))


def test_many_calls_at_once_with_one_call_id_run_once(served: OxpTestServer) -> None:
    """OXP-28"""
    import asyncio  # noqa: PLC0415

    before = len(served.ran.calls)

    async def all_at_once() -> set[bytes]:
        body = {"request": {**ADD, "input": {"a": 7, "b": 7}, "call_id": "crowd"}}
        replies = await asyncio.gather(*(served.stand.ask("POST", "/oxp/tools/call", body) for _ in range(8)))
        return {reply.body for reply in replies if b'"value"' in reply.body}

    assert len(served.run(all_at_once())) == 1
    assert served.ran.calls[before:] == [("add", 7, 7)]
