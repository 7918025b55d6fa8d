"""The inbox over HTTP: never by the channel that called, and clear about why not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ferrule.access.keys import Access
from ferrule.access.tokens import read_token_id
from tests.driven import driven
from tests.servers.api.api import NOBODY, api
from tests.servers.held_approvals import approvals_held


@driven
async def test_a_person_approves_and_the_call_runs(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7})
        (item,) = (await here.ask("amy", "GET", "/v1/approvals")).json()["items"]
        assert (item["invocation_id"], item["input"], item["why_not"]) == (call, {"amount": 7}, None)
        assert (await here.ask("amy", "GET", f"/v1/approvals/{call}")).json() == item
        body = {"seen": item["seen"], "reason": "it is fine"}
        done = await here.ask("amy", "POST", f"/v1/approvals/{call}/approve", body)
        assert (done.status, done.json()["call"]["result"]["content"][0]["text"]) == (200, "paid 7")
        assert (await here.ask("ada", "GET", f"/v1/calls/{call}")).json()["state"] == "succeeded"
        again = await here.ask("amy", "POST", f"/v1/approvals/{call}/approve", body)
        assert (again.status, again.json()["code"]) == (409, "cannot_be_answered")


@driven
async def test_an_edited_input_is_what_runs_if_it_fits(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7000})
        path = f"/v1/approvals/{call}/approve"
        assert (await here.ask("amy", "POST", path, {"input": {"amount": "much"}})).status == 409
        assert (await here.ask("amy", "POST", path, {"input": None})).status == 409
        done = await here.ask("amy", "POST", path, {"input": {"amount": 70}})
        assert done.json()["call"]["result"]["content"][0]["text"] == "paid 70"


@driven
async def test_a_no_ends_the_call_with_its_reason(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7})
        assert (await here.ask("amy", "POST", f"/v1/approvals/{call}/reject", {})).status == 400
        done = await here.ask("amy", "POST", f"/v1/approvals/{call}/reject", {"reason": "too much"})
        assert done.json()["state"] == "rejected"
        result = (await here.ask("ada", "GET", f"/v1/calls/{call}")).json()["result"]
        assert result["error"]["error_class"] == "approval_rejected"


@driven
async def test_the_channel_that_made_a_call_never_approves_it(tmp_path: Path) -> None:
    """DECISIONS 2: nothing the model can reach can approve."""
    async with api(tmp_path) as here:
        call = await here.called("selfmade", "pay", {"amount": 7})
        reply = await here.ask("selfmade", "POST", f"/v1/approvals/{call}/approve")
        assert (reply.status, reply.json()["code"]) == (403, "forbidden")
        assert "made the call" in reply.json()["detail"]
        assert (await here.ask("amy", "POST", f"/v1/approvals/{call}/approve")).status == 200


@driven
async def test_the_inbox_takes_the_approve_scope(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7})
        for who in ("ada", "oda"):
            reply = await here.ask(who, "POST", f"/v1/approvals/{call}/approve")
            assert (reply.status, reply.json()["code"]) == (403, "insufficient_scope")
            assert 'scope="approve"' in reply.headers["www-authenticate"]
        assert (await here.ask("ada", "GET", "/v1/approvals")).status == 403
        assert len((await here.ask("oda", "GET", "/v1/approvals")).json()["items"]) == 1


@driven
async def test_an_inbox_holds_only_what_is_of_its_tenant(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        ours = await here.called("ada of acme", "pay", {"amount": 1})
        theirs = await here.called("ada", "pay", {"amount": 1})
        items = (await here.ask("amy of acme", "GET", "/v1/approvals")).json()["items"]
        assert [item["invocation_id"] for item in items] == [ours]
        assert len((await here.ask("amy", "GET", "/v1/approvals")).json()["items"]) == 2
        for way, body in (("approve", {}), ("reject", {"reason": "no"}), ("answer", {"value": 1}), ("delegate", {"to": "x"}),
                          ("settle", {"happened": True, "reason": "no"})):  # fmt: skip
            absent = await here.ask("amy of acme", "POST", f"/v1/approvals/{NOBODY}/{way}", body, X_Request_Id="same")
            reply = await here.ask("amy of acme", "POST", f"/v1/approvals/{theirs}/{way}", body, X_Request_Id="same")
            assert reply.status == 404
            assert reply.body == absent.body.replace(NOBODY.encode(), theirs.encode())


@driven
async def test_what_changed_since_it_was_seen_is_not_approved(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7})
        for seen in ("00" * 32, "no hex", ""):
            reply = await here.ask("amy", "POST", f"/v1/approvals/{call}/approve", {"seen": seen})
            assert (reply.status, reply.json()["code"]) == (409, "cannot_be_answered")
        assert (await here.ask("ada", "GET", f"/v1/calls/{call}")).json()["state"] == "awaiting_approval"


@driven
async def test_an_approver_who_does_not_wait_is_told_where_to_look(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7})
        reply = await here.ask("amy", "POST", f"/v1/approvals/{call}/approve", Prefer="respond-async")
        assert (reply.status, reply.headers["location"]) == (202, f"/v1/calls/{call}")
        done = await here.ask("ada", "GET", f"/v1/calls/{call}", Prefer="wait=20")
        assert done.json()["state"] == "succeeded"


@driven
async def test_wrong_ways_to_answer_are_clear(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7})
        for way, body in (
            ("answer", {"value": 1}),
            ("delegate", {"to": "ben"}),
            ("settle", {"happened": True, "reason": "x"}),
        ):
            reply = await here.ask("amy", "POST", f"/v1/approvals/{call}/{way}", body)
            assert (reply.status, reply.json()["code"]) == (409, "cannot_be_answered")


@driven
async def test_whoever_answers_learns_that_the_key_of_a_call_has_ended(tmp_path: Path) -> None:
    """A key that was revoked while its call waited has nothing run any more, whoever approves it."""
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7})
        item = (await here.ask("amy", "GET", f"/v1/approvals/{call}")).json()
        assert item["will_not_run"] is None
        access, key = Access(tmp_path), read_token_id(here.secrets["ada"])
        access.revoke(access.local_owner(), key)
        item = (await here.ask("amy", "GET", f"/v1/approvals/{call}")).json()
        assert item["will_not_run"].startswith(f"the key {key} of ada that it came with was revoked at 2")
        done = (await here.ask("amy", "POST", f"/v1/approvals/{call}/approve", {"seen": item["seen"]})).json()
        assert done["call"]["result"]["error"]["error_code"] == "key_ended"
        assert "does not go on" in done["call"]["result"]["error"]["message"]


@driven
async def test_a_yes_is_accepted_only_once_it_stands_in_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 7})
        path = f"/v1/approvals/{call}"
        with approvals_held(here.stand.app.store, monkeypatch) as held:
            slower = asyncio.create_task(here.ask("amy", "POST", f"{path}/approve", Prefer="wait=0"))
            await held.reached.wait()
            faster = await here.ask("amy", "POST", f"{path}/reject", {"reason": "too much"})
            held.release.set()
            late = await slower
        assert (faster.status, late.status) == (200, 409)
        assert late.json()["code"] == "cannot_be_answered"
        assert "rejected it" in late.json()["detail"]
        assert (await here.ask("ada", "GET", f"/v1/calls/{call}")).json()["state"] == "rejected"
