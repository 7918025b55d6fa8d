"""The inbox at the console: what it shows, what it lets whom do, and what it says instead of acting."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ferrule.access.keys import Access
from ferrule.access.tokens import read_token_id
from ferrule.servers.console.inbox import inbox
from tests.driven import driven
from tests.servers.console.browsing import text_of
from tests.servers.console.waiting import Shop, form_of, gates, other_pay, shop
from tests.servers.held_approvals import approvals_held

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7*7 }}"


async def form(here: Shop, who: str, call: str, mode: str = "") -> dict[str, str]:
    """The form of an item, as somebody's page has it now."""
    query = f"?mode={mode}" if mode else ""
    return form_of(await (await here.person(who)).see(f"/inbox/{call}{query}"))


@driven
async def test_an_empty_inbox_teaches(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        page = text_of(await (await here.person("amy")).see("/inbox"))
        assert "0 need you" in page
        assert "Nothing waits for a person" in page
        assert "approval_required: true" in page


@driven
async def test_the_queue_has_what_needs_me_what_waits_for_others_and_what_was_done(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        erased = await here.call("erase", email="J@X.org ", customer_id="c-1")
        paid = await here.call("pay", amount=7)
        await here.ask("amy", "POST", f"/v1/approvals/{paid}/reject", {"reason": "too much"})
        amy, boss = await here.person("amy"), await here.person("boss")
        mine = (await amy.value("/inbox"))["queue"]
        assert [row["id"] for row in mine["need"]] == [erased]
        assert mine["need"][0]["line"] == "bot, 0 of 2 approved"
        assert 3500 < mine["need"][0]["left"] <= 3600
        assert [(row["id"], row["line"]) for row in mine["done"]] == [(paid, "rejected by you")]
        theirs = (await boss.value("/inbox"))["queue"]
        assert ([row["id"] for row in theirs["others"]], theirs["need"]) == ([erased], [])
        assert theirs["others"][0]["line"] == "bot, for anyone in privacy"


@driven
async def test_the_number_in_the_navigation_is_what_needs_whoever_looks(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        await here.call("erase", email="J@X.org ", customer_id="c-1")
        await here.call("pay", amount=7)
        numbers = {}
        for who in ("amy", "boss", "oda"):
            part = await (await here.person(who)).see("/parts/waiting", hx_request="true")
            numbers[who] = text_of(part)
        assert numbers == {"amy": "2 waiting for you", "boss": "1 waiting for you", "oda": ""}


@driven
async def test_home_and_the_inbox_name_a_tool_alike(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        await here.call("pay", amount=7)
        await here.call("shop.pay", amount=8)
        amy = await here.person("amy")
        need = (await amy.value("/inbox"))["queue"]["need"]
        home = (await amy.value("/"))["waiting"]["items"]
        shown = {row["id"]: row["name"] for row in need}
        assert shown == {item["invocation_id"]: item["tool"] for item in home}
        assert sorted(shown.values()) == ["pay", "shop.pay"]


@driven
async def test_an_item_shows_all_that_a_person_judges_by(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("erase", email="J@X.org ", customer_id="c-1")
        await here.ask("ben", "POST", f"/v1/approvals/{call}/approve", {"reason": "ticket checked"})
        page = text_of(await (await here.person("amy")).see(f"/inbox/{call}"))
        assert "bot wants to run erase on c-1." in page
        assert "Erase a customer. Nothing is kept." in page
        assert "cannot be undone" in page
        assert "Two people must approve" in page
        assert "“ticket checked”" in page
        assert "You, or anyone in privacy" in page
        assert '- "email" : "J@X.org "' in page
        assert '+ "email" : "j@x.org"' in page
        assert "hook tidy : tidied the address" in page
        assert "two-people policy.toml:5" in page
        assert "What is erased does not come back" in page
        assert "Approve as person 2 of 2" in page


@driven
async def test_approving_lets_the_call_run_and_shows_its_end(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("pay", amount=7)
        boss = await here.person("boss")
        sent = await boss.send(f"/inbox/{call}/approve", {**await form(here, "boss", call), "reason": "fine"})
        assert (sent.status, sent.headers["location"]) == (303, f"/console/inbox/{call}")
        page = text_of(await boss.see(f"/inbox/{call}"))
        assert "pay: approved by you. It succeeded." in page
        assert "paid 7" in page
        assert "“fine”" in page
        assert f"/console/invocations/{call}" in (await boss.see(f"/inbox/{call}")).body.decode()


@driven
async def test_two_people_sign_and_the_first_signature_stays_visible(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("erase", email="j@x.org", customer_id="c-1")
        amy, ben = await here.person("amy"), await here.person("ben")
        first = await amy.send(
            f"/inbox/{call}/approve", {**await form(here, "amy", call), "typed": "c-1", "reason": "seen"}
        )
        assert first.status == 303
        item = (await amy.value(f"/inbox/{call}"))["item"]
        assert (item["is_open"], item["review"]["people_missing"]) == (True, 1)
        assert "approved it at" in item["ways"]["approve"]
        assert (await amy.value("/inbox"))["queue"]["others"][0][
            "line"
        ] == "you approved, waiting for anyone in privacy"
        second = await ben.send(f"/inbox/{call}/approve", {**await form(here, "ben", call), "typed": "c-1"})
        assert second.status == 303
        assert (await here.ended(call))["state"] == "succeeded"
        page = text_of(await ben.see(f"/inbox/{call}"))
        assert "erase: approved by amy and you. It succeeded." in page


@driven
async def test_what_cannot_be_undone_is_approved_by_typing_what_it_is_about(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("erase", email="j@x.org", customer_id="c-1")
        amy, fields = await here.person("amy"), await form(here, "amy", call)
        for typed in ("", "c-2", "C-1"):
            refused = await amy.send(f"/inbox/{call}/approve", {**fields, "typed": typed, "reason": "checked"})
            assert refused.status == 422
            assert "type customer_id c-1 to approve it" in text_of(refused)
            assert 'value="checked"' in refused.body.decode()
        assert (await amy.value(f"/inbox/{call}"))["item"]["review"]["signatures"] == []


@driven
async def test_an_edit_is_checked_shown_as_a_difference_and_then_runs(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("pay", amount=7000)
        boss, fields = await here.person("boss"), await form(here, "boss", call, "edit")
        checks = {
            '{"amount": 70': "This is not JSON",
            "[1]": "must be a JSON object",
            '{"amount": "much"}': "amount",
            '{"amount": 70}': '+ "amount" : 70',
        }
        for text, said in checks.items():
            part = await boss.send(f"/inbox/{call}/check", {**fields, "input": text}, hx_request="true")
            assert said in text_of(part), text
            whole = await boss.send(f"/inbox/{call}/check", {**fields, "input": text})
            assert said in text_of(whole), text
        unfit = await boss.send(f"/inbox/{call}/approve", {**fields, "input": '{"amount": "much"}'})
        assert unfit.status == 409
        assert "&#34;much&#34;" in unfit.body.decode()
        sent = await boss.send(f"/inbox/{call}/approve", {**fields, "input": '{"amount": 70}'})
        assert sent.status == 303
        assert (await here.ended(call))["result"]["content"][0]["text"] == "paid 70"
        item = (await boss.value(f"/inbox/{call}"))["item"]
        assert [(row["kind"], row["text"].strip()) for row in item["rows"] if row["kind"]] == [
            ("rem", '"amount": 7000'), ("add", '"amount": 70')]  # fmt: skip
        assert item["changes"][0]["is_person"]
        assert item["sentence"] == "pay: approved by you, with changes. It succeeded."


@driven
async def test_an_edit_that_changes_nothing_is_a_plain_approval(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("pay", amount=7000)
        boss, fields = await here.person("boss"), await form(here, "boss", call, "edit")
        sent = await boss.send(f"/inbox/{call}/approve", {**fields, "input": '{ "amount": 7000 }'})
        assert sent.status == 303
        assert (await here.ended(call))["result"]["content"][0]["text"] == "paid 7000"
        item = (await boss.value(f"/inbox/{call}"))["item"]
        assert item["sentence"] == "pay: approved by you. It succeeded."
        assert not any(change["is_person"] for change in item["changes"])


@driven
async def test_an_edit_of_what_cannot_be_undone_is_confirmed_by_what_it_would_do_then(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("erase", email="j@x.org", customer_id="c-1")
        amy, fields = await here.person("amy"), await form(here, "amy", call, "edit")
        edited = {**fields, "input": '{"email": "j@x.org", "customer_id": "c-2"}'}
        refused = await amy.send(f"/inbox/{call}/approve", {**edited, "typed": "c-1"})
        assert (refused.status, "type customer_id c-2" in text_of(refused)) == (422, True)
        assert (await amy.send(f"/inbox/{call}/approve", {**edited, "typed": "c-2"})).status == 303
        assert (await amy.value(f"/inbox/{call}"))["item"]["review"]["input"]["customer_id"] == "c-2"


@driven
async def test_an_edit_voids_the_first_signature_and_stales_the_others_page(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("erase", email="j@x.org", customer_id="c-1")
        amy, ben = await here.person("amy"), await here.person("ben")
        old = await form(here, "ben", call)
        edited = {
            **await form(here, "amy", call),
            "typed": "c-9",
            "input": '{"email": "j@x.org", "customer_id": "c-9"}',
        }
        assert (await amy.send(f"/inbox/{call}/approve", edited)).status == 303
        stale = await ben.send(f"/inbox/{call}/approve", {**old, "typed": "c-1", "reason": "my words"})
        assert stale.status == 409
        page = text_of(stale)
        assert "has changed since you opened it" in page
        assert "Your text Reason or comment my words" in page
        for way, more in (("reject", {"reason": "no"}), ("approve", {"typed": "c-9"})):
            again = await ben.send(f"/inbox/{call}/{way}", {**old, **more})
            assert again.status == 409, way
        assert (await here.ask("ben", "GET", f"/v1/approvals/{call}")).json()["approvals"][0]["by"] == "amy"
        assert (
            await ben.send(f"/inbox/{call}/approve", {**await form(here, "ben", call), "typed": "c-9"})
        ).status == 303
        assert (await here.ended(call))["result"]["content"][0]["text"] == "erased c-9 with j@x.org"


@driven
async def test_a_form_without_what_was_seen_does_nothing(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("pay", amount=7)
        boss = await here.person("boss")
        for way, more in (("approve", {}), ("reject", {"reason": "no"}), ("approve", {"seen": "00" * 32})):
            assert (await boss.send(f"/inbox/{call}/{way}", more)).status == 409
        assert (await here.ask("boss", "GET", f"/v1/approvals/{call}")).status == 200


@driven
async def test_of_two_decisions_at_once_one_counts_and_the_other_is_told_who_was_faster(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        for _ in range(4):
            call = await here.call("pay", amount=7)
            amy, ben = await here.person("amy"), await here.person("ben")
            yes, no = await form(here, "amy", call), await form(here, "ben", call)
            replies = await asyncio.gather(
                amy.send(f"/inbox/{call}/approve", {**yes, "reason": "go"}),
                ben.send(f"/inbox/{call}/reject", {**no, "reason": "stop"}),
            )
            assert sorted(reply.status for reply in replies) == [303, 409]
            late, other, words = (replies[1], "amy", "stop") if replies[0].status == 303 else (replies[0], "ben", "go")
            page = text_of(late)
            assert f"approved by {other}" in page or f"rejected by {other}" in page
            assert f"Your text Reason or comment {words}" in page
            state = (await here.ended(call))["state"]
            assert state == ("succeeded" if replies[0].status == 303 else "rejected")


@driven
async def test_a_decision_is_accepted_only_once_it_stands_in_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "_WAIT", "wait=0")  # the page waits for nothing that comes after the decision
    async with shop(tmp_path) as here:
        call = await here.call("pay", amount=7)
        amy, ben = await here.person("amy"), await here.person("ben")
        yes, no = await form(here, "amy", call), await form(here, "ben", call)
        with approvals_held(here.stand.app.store, monkeypatch) as held:
            slower = asyncio.create_task(amy.send(f"/inbox/{call}/approve", {**yes, "reason": "go"}))
            await held.reached.wait()
            faster = await ben.send(f"/inbox/{call}/reject", {**no, "reason": "stop"})
            held.release.set()
            late = await slower
        assert (faster.status, late.status) == (303, 409)
        assert "rejected by ben" in text_of(late)
        assert "Your text Reason or comment go" in text_of(late)
        assert await here.state(call) == "rejected"


@driven
async def test_who_made_a_call_sees_no_button_that_works(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("pay", "selfmade", amount=7)
        selma = await here.person("selfmade")
        page = (await selma.see(f"/inbox/{call}")).body.decode()
        decide = re.search(r'<form class="decide.*?</form>', page, re.S)
        assert decide is not None
        buttons = re.findall(r"<button[^>]*>", decide[0])
        assert len(buttons) == 3
        for button in buttons:
            assert 'type="button"' in button
            assert 'aria-disabled="true"' in button
            why = re.search(r'aria-describedby="([\w-]+)"', button)
            assert why is not None
            assert re.search(rf'id="{why[1]}"[^>]*>.*made the call', decide[0])
        fields = form_of(await selma.see(f"/inbox/{call}"))
        for way in ("approve", "reject"):
            refused = await selma.send(f"/inbox/{call}/{way}", {**fields, "reason": "mine"})
            assert refused.status == 403
            assert "made the call" in text_of(refused)
        assert await here.state(call) == "awaiting_approval"


@driven
async def test_an_agents_credential_is_refused(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("pay", amount=7)
        fields = await form(here, "boss", call)
        for who in ("bot", "agent"):
            agent = await here.person(who)
            for path in ("/inbox", f"/inbox/{call}", f"/inbox/{call}/part", "/inbox/queue"):
                assert (await agent.see(path)).status == 403
            for way in ("approve", "reject", "check", "answer", "delegate", "settle"):
                body = {**fields, "reason": "x", "to": "me", "happened": "yes", "input": "{}"}
                reply = await agent.send(f"/inbox/{call}/{way}", body)
                assert reply.status == 403, way
        assert await here.state(call) == "awaiting_approval"


@driven
async def test_who_may_only_look_is_told_so(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("pay", amount=7)
        oda = await here.person("oda")
        page = await oda.see(f"/inbox/{call}")
        assert "does not hold the approve scope" in text_of(page)
        assert (await oda.send(f"/inbox/{call}/approve", form_of(page))).status == 403


@driven
async def test_what_is_of_another_tenant_is_not_there(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        theirs = await here.call("pay", amount=7)
        ours = await here.call("pay", "bot of acme", amount=8)
        fields = await form(here, "boss", theirs)
        await here.ask("boss", "POST", f"/v1/approvals/{await here.call('pay', amount=9)}/reject", {"reason": "no"})
        amy = await here.person("amy of acme")
        queue = (await amy.value("/inbox"))["queue"]
        assert [row["id"] for row in queue["need"]] == [ours]
        assert queue["done"] == []
        for path in (f"/inbox/{theirs}", f"/inbox/{theirs}/part", "/inbox/inv_00000000000000000000dead"):
            assert (await amy.see(path)).status == 404
        for way in ("approve", "reject", "check", "answer", "delegate", "settle"):
            body = {**fields, "reason": "x", "to": "me", "happened": "yes", "input": "{}"}
            assert (await amy.send(f"/inbox/{theirs}/{way}", body)).status == 404, way
        assert await here.state(theirs) == "awaiting_approval"


@driven
async def test_an_expired_item_says_so_instead_of_a_form(tmp_path: Path) -> None:
    policy = '[[rules]]\nid = "quick"\ndecision = "ask"\ntool = "mail"\nexpires = "1s"\n'
    async with shop(tmp_path, policy=policy) as here:
        call = await here.call("mail", text="hello")
        boss = await here.person("boss")
        first = await boss.see(f"/inbox/{call}")
        fields = form_of(first)
        async with asyncio.timeout(20):
            while (await here.ask("boss", "GET", f"/v1/approvals/{call}")).status == 200:
                await asyncio.sleep(0.05)
        for way, more in (("approve", {}), ("reject", {"reason": "too late"})):
            late = await boss.send(f"/inbox/{call}/{way}", {**fields, **more})
            assert late.status == 409
            assert "nobody answered in time" in text_of(late)
            assert 'class="decide' not in late.body.decode()
        assert "expired without an answer" in text_of(await boss.see("/inbox"))


@driven
async def test_an_item_that_waits_survives_a_restart_with_its_page(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("erase", email="J@X.org", customer_id="c-1")
        amy = await here.person("amy")
        fields, key = form_of(await amy.see(f"/inbox/{call}")), here.key("amy")
        assert (await here.ask("ben", "POST", f"/v1/approvals/{call}/approve", {"reason": "first"})).status == 200
    async with shop(tmp_path) as here:
        again = await here.person("amy")
        assert "“first”" in text_of(await again.see(f"/inbox/{call}"))
        old = Shop(here.stand, {**here.secrets, "amy": key})
        amy = await old.person("amy")
        sent = await amy.send(f"/inbox/{call}/approve", {**fields, "typed": "c-1"})
        assert sent.status == 303
        assert (await here.ended(call))["state"] == "succeeded"


@driven
async def test_a_question_is_answered_by_a_form_made_from_its_schema(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("ask_shelf", question="Which shelf?")
        boss = await here.person("boss")
        page = await boss.see(f"/inbox/{call}")
        assert "Which shelf? Asked by ask_shelf for bot." in text_of(page)
        assert "<option>A</option>" in page.body.decode()
        fields = form_of(page)
        unfit = await boss.send(f"/inbox/{call}/answer", {**fields, "answer.shelf": "A", "answer.copies": "two"})
        assert (unfit.status, "Copies must be a whole number" in text_of(unfit)) == (422, True)
        assert "<option selected>A</option>" in unfit.body.decode()
        wrong = await boss.send(f"/inbox/{call}/answer", {**fields, "answer.shelf": "Z"})
        assert (wrong.status, "not what the tool asked for" in text_of(wrong)) == (422, True)
        sent = await boss.send(f"/inbox/{call}/answer", {**fields, "answer.shelf": "B", "answer.copies": "2"})
        assert sent.status == 303
        assert (await here.ended(call))["result"]["content"][0]["text"] == "shelf B, 2 copies"
        assert "ask_shelf: answered by you. It succeeded." in text_of(await boss.see(f"/inbox/{call}"))


@driven
async def test_a_question_is_handed_on(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("ask_shelf", question="Which shelf?")
        boss = await here.person("boss")
        fields = form_of(await boss.see(f"/inbox/{call}?mode=delegate"))
        assert (await boss.send(f"/inbox/{call}/delegate", {**fields, "to": " "})).status == 422
        sent = await boss.send(f"/inbox/{call}/delegate", {**fields, "to": "amy", "reason": "knows books"})
        assert sent.status == 303
        assert "boss delegated it to amy" in text_of(await boss.see(f"/inbox/{call}"))


@driven
async def test_rejecting_takes_a_reason_that_the_caller_reads(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("pay", amount=7)
        boss = await here.person("boss")
        fields = form_of(await boss.see(f"/inbox/{call}?mode=reject"))
        without = await boss.send(f"/inbox/{call}/reject", {**fields, "reason": "  "})
        assert (without.status, "Enter a reason" in text_of(without)) == (422, True)
        assert (await boss.send(f"/inbox/{call}/reject", {**fields, "reason": "paid already"})).status == 303
        assert "paid already" in (await here.ended(call))["result"]["error"]["message"]
        assert "rejected by you" in text_of(await boss.see(f"/inbox/{call}"))


@driven
async def test_a_suggested_rule_is_taken_by_whoever_owns_the_rules_alone(tmp_path: Path) -> None:
    async with shop(tmp_path, policy='default_mode = "strict"\n' if False else "") as here:
        call = await here.call("erase", email="j@x.org", customer_id="c-1")
        amy = await here.person("amy")
        page = await amy.see(f"/inbox/{call}")
        assert "allow-erase" in text_of(page) or "allow-shop.erase" in text_of(page)
        assert 'name="rule"' not in page.body.decode()
        assert "that takes the admin scope" in text_of(page)
        forced = await amy.send(f"/inbox/{call}/approve", {**form_of(page), "typed": "c-1", "rule": "0"})
        assert (forced.status, (tmp_path / ".ferrule/policy.local.toml").exists()) == (403, False)
        boss = await here.person("boss")
        page = await boss.see(f"/inbox/{call}")
        assert 'name="rule" value="0"' in page.body.decode()
        sent = await boss.send(f"/inbox/{call}/approve", {**form_of(page), "typed": "c-1", "rule": "0"})
        assert (sent.status, sent.headers["location"]) == (303, f"/console/inbox/{call}?taken=rule")
        assert 'decision = "allow"' in (tmp_path / ".ferrule/policy.local.toml").read_text()
        assert "rule is now in force" in text_of(await boss.see(f"/inbox/{call}?taken=rule"))
        free = await here.ask(
            "bot", "POST", "/v1/calls", {"tool": "erase", "arguments": {"email": "a@b.c", "customer_id": "c-2"}}
        )
        assert free.status == 200


@driven
async def test_a_definition_that_changed_since_is_not_approved(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("pay", amount=7)
        fields = await form(here, "boss", call)
    async with shop(tmp_path, tools=(other_pay(),)) as here:
        boss = await here.person("boss")
        page = await boss.see(f"/inbox/{call}")
        assert "The definition of pay has changed" in text_of(page)
        assert 'id="approve"' not in page.body.decode()
        refused = await boss.send(f"/inbox/{call}/approve", {**fields, "reason": "mine"})
        assert (refused.status, "would be void" in text_of(refused)) == (409, True)
        assert await here.state(call) == "awaiting_approval"
        assert (await boss.send(f"/inbox/{call}/reject", {**form_of(page), "reason": "ask again"})).status == 303


@driven
async def test_the_part_of_an_item_comes_only_when_it_is_another(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        gates["later"] = asyncio.Event()
        call = await here.call("pay", amount=7, note="later")
        boss = await here.person("boss")
        stamp = (await boss.value(f"/inbox/{call}"))["item"]["stamp"]
        part = f"/inbox/{call}/part?stamp={stamp}"
        assert (await boss.see(part, hx_request="true")).status == 204
        sent = await boss.send(f"/inbox/{call}/approve", await form(here, "boss", call))
        assert sent.status == 303  # though the tool has not ended
        running = await boss.see(part, hx_request="true")
        assert "It is running; the result will appear here." in text_of(running)
        gates["later"].set()
        await here.ended(call)
        assert "It succeeded." in text_of(await boss.see(part, hx_request="true"))


@driven
async def test_whatever_strings_come_nothing_of_them_is_markup(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        calls = [
            await here.call("erase", email=HOSTILE, customer_id=HOSTILE),
            await here.call("pay", amount=1, note=HOSTILE),
            await here.call("ask_shelf", question=HOSTILE),
        ]
        amy, boss = await here.person("amy"), await here.person("boss")
        bad = await here.ask("amy", "POST", f"/v1/approvals/{calls[0]}/approve", {"reason": HOSTILE})
        assert bad.status == 200
        pages = [await amy.see("/inbox")]
        for call in calls:
            pages += [
                await who.see(f"/inbox/{call}{more}") for who in (amy, boss) for more in ("", "?mode=edit", "/part")
            ]
        fields = await form(here, "boss", calls[1])
        for way in ("approve", "check"):
            pages.append(await boss.send(f"/inbox/{calls[1]}/{way}", {**fields, "input": HOSTILE, "reason": HOSTILE}))
        await boss.send(f"/inbox/{calls[1]}/reject", {**fields, "reason": HOSTILE})
        pages += [await boss.see(f"/inbox/{calls[1]}"), await boss.see("/inbox")]
        for page in pages:
            text = page.body.decode()
            assert "<script>alert" not in text
            assert "<img" not in text
            assert "7*7" not in text or "{{ 7*7 }}" in text


@driven
async def test_the_twin_of_a_page_is_json(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        call = await here.call("pay", amount=7)
        value: Any = json.loads((await (await here.person("boss")).see(f"/inbox/{call}?format=json")).body)
        assert value["item"]["review"]["input"] == {"amount": 7}
        assert value["current"] == call


@driven
async def test_a_call_whose_key_has_ended_can_only_be_rejected(tmp_path: Path) -> None:
    async with shop(tmp_path) as here:
        paid, asked = await here.call("pay", amount=7), await here.call("ask_shelf", question="Where?")
        amy = await here.person("amy")
        access, key = Access(tmp_path), read_token_id(here.key("bot"))
        stamps = [(await amy.value(f"/inbox/{call}"))["item"]["stamp"] for call in (paid, asked)]
        access.revoke(access.local_owner(), key)
        for call, way, stamp in ((paid, "approve", stamps[0]), (asked, "answer", stamps[1])):
            item = (await amy.value(f"/inbox/{call}"))["item"]
            assert item["ways"][way].startswith(f"the key {key} of bot that it came with was revoked at ")
            assert (item["ways"]["reject"], item["stamp"] == stamp) == (None, False)
            assert "so the call will not run" in text_of(await amy.see(f"/inbox/{call}"))
        await here.ask("amy", "POST", f"/v1/approvals/{paid}/approve", {})
        page = text_of(await amy.see(f"/inbox/{paid}"))
        assert "approved by you. It was blocked nevertheless." in page
        assert f"the key {key} of bot" in page
