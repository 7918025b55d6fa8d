"""Reviews over HTTP: all that a person judges by, what an edit would do, what was decided; each told to whom it may be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.driven import driven
from tests.servers.api.api import NOBODY, Api, api


async def review(here: Api, who: str, call: str) -> Any:
    """A review, as somebody sees it."""
    reply = await here.ask(who, "GET", f"/v1/approvals/{call}/review")
    assert reply.status == 200, reply.body
    return reply.json()


@driven
async def test_a_review_tells_what_waits_and_then_what_became_of_it(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7000})
        before = await review(here, "amy", call)
        assert (before["outcome"], before["input"], before["differences"]) == ("waiting", {"amount": 7000}, [])
        assert before["item"] == (await here.ask("amy", "GET", f"/v1/approvals/{call}")).json()
        assert before["is_definition_current"] is True
        body = {"input": {"amount": 70}, "reason": "less"}
        assert (await here.ask("amy", "POST", f"/v1/approvals/{call}/approve", body)).status == 200
        after = await review(here, "amy", call)
        assert (after["outcome"], after["state"], after["item"]) == ("approved", "succeeded", None)
        assert (after["model_input"], after["input"]) == ({"amount": 7000}, {"amount": 70})
        (change,) = after["changes"]
        assert (change["kind"], change["by"], change["fields"]) == ("person", "amy", ["amount"])
        (signed,) = after["signatures"]
        assert (signed["by"], signed["is_edit"], signed["reason"]) == ("amy", True, "less")


@driven
async def test_the_result_is_told_to_who_took_part_or_oversees(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7})
        assert (await here.ask("amy", "POST", f"/v1/approvals/{call}/approve")).status == 200
        assert (await review(here, "amy", call))["result_text"] == "paid 7"
        assert (await review(here, "oda", call))["result_text"] == "paid 7"
        other = await review(here, "selfmade", call)
        assert (other["result_text"], other["is_visible"]) == (None, False)


@driven
async def test_reviews_stay_within_their_tenant_and_scope(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        theirs = await here.called("ada", "pay", {"amount": 7})
        ours = await here.called("ada of acme", "pay", {"amount": 8})
        for call in (theirs, NOBODY):
            reply = await here.ask("amy of acme", "GET", f"/v1/approvals/{call}/review", X_Request_Id="same")
            assert reply.status == 404
            absent = await here.ask("amy of acme", "GET", f"/v1/approvals/{NOBODY}/review", X_Request_Id="same")
            assert reply.body == absent.body.replace(NOBODY.encode(), call.encode())
            check = await here.ask("amy of acme", "POST", f"/v1/approvals/{call}/check", {"input": {}})
            assert check.status == 404
        assert (await review(here, "amy of acme", ours))["input"] == {"amount": 8}
        for path in (f"/v1/approvals/{theirs}/review", "/v1/approvals/decided"):
            assert (await here.ask("ada", "GET", path)).status == 403
        assert (await here.ask("oda", "POST", f"/v1/approvals/{theirs}/check", {"input": {}})).status == 403


@driven
async def test_a_call_that_nobody_was_asked_about_has_no_review(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "add", {"a": 1, "b": 2})
        assert (await here.ask("oda", "GET", f"/v1/approvals/{call}/review")).status == 404


@driven
async def test_an_edit_is_checked_with_the_messages_that_approving_it_would_give(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7000})
        path = f"/v1/approvals/{call}/check"
        fits = (await here.ask("amy", "POST", path, {"input": {"amount": 70}})).json()
        assert (fits["problem"], fits["edited"]) == (None, {"amount": 70})
        assert fits["differences"] == [{"path": "amount", "kind": "changed", "before": 7000, "after": 70}]
        unfit = (await here.ask("amy", "POST", path, {"input": {"amount": "much"}})).json()
        refused = await here.ask("amy", "POST", f"/v1/approvals/{call}/approve", {"input": {"amount": "much"}})
        assert unfit["problem"] in refused.json()["detail"]
        assert (await review(here, "amy", call))["signatures"] == []


@driven
async def test_every_answer_holds_only_for_what_was_seen(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7})
        for way, body in (("approve", {}), ("reject", {"reason": "no"})):
            for seen in ("00" * 32, "no hex"):
                reply = await here.ask("amy", "POST", f"/v1/approvals/{call}/{way}", {**body, "seen": seen})
                assert (reply.status, reply.json()["code"]) == (409, "cannot_be_answered")
        seen = (await here.ask("amy", "GET", f"/v1/approvals/{call}")).json()["seen"]
        done = await here.ask("amy", "POST", f"/v1/approvals/{call}/reject", {"reason": "no", "seen": seen})
        assert done.json()["state"] == "rejected"


@driven
async def test_what_was_decided_is_listed_the_newest_first(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        calls = [await here.called("ada", "pay", {"amount": amount}) for amount in (1, 2, 3)]
        elsewhere = await here.called("ada of acme", "pay", {"amount": 4})
        assert (await here.ask("amy", "GET", "/v1/approvals/decided")).json()["items"] == []
        await here.ask("amy", "POST", f"/v1/approvals/{calls[0]}/approve", {"input": {"amount": 9}})
        await here.ask("amy", "POST", f"/v1/approvals/{calls[1]}/reject", {"reason": "too much"})
        await here.ask("ada", "POST", f"/v1/calls/{calls[2]}/cancel")
        await here.ask("amy of acme", "POST", f"/v1/approvals/{elsewhere}/reject", {"reason": "no"})
        items = (await here.ask("amy", "GET", "/v1/approvals/decided")).json()["items"]
        told = [(item["invocation_id"], item["outcome"], item["by"], item["is_edited"]) for item in items]
        assert told == [
            (elsewhere, "rejected", ["amy"], False),
            (calls[2], "canceled", [], False),
            (calls[1], "rejected", ["amy"], False),
            (calls[0], "approved", ["amy"], True),
        ]
        ours = (await here.ask("amy of acme", "GET", "/v1/approvals/decided")).json()["items"]
        assert [item["invocation_id"] for item in ours] == [elsewhere]
        late = await here.ask("amy", "GET", "/v1/approvals/decided?since=2999-01-01T00:00:00Z")
        assert late.json()["items"] == []
        assert len((await here.ask("amy", "GET", "/v1/approvals/decided?limit=1")).json()["items"]) == 1
        assert (await here.ask("amy", "GET", "/v1/approvals/decided?since=yesterday")).status == 400
