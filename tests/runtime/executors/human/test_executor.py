"""A tool of type `human`: the run pauses until somebody answers, then goes on with that answer (AML-21)."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ferrule.errors import AccessError, InboxError, UnfitAnswer
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.result import Pending, Result
from ferrule.model.upstreams import HumanUpstreams
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.testing import memory_app
from tests.driven import driven
from tests.runtime.executors.human.human_tool import POLICY, SETTINGS, agent, asked, definition, person
from tests.runtime.executors.rest.server import answer, serving

FILE = "tools/review-claim.tool.md"
GOOD = {"verdict": "pay", "note": "it is true"}


def _app(url: str, more: str = "", **options: Any) -> Any:
    made = {"policy": POLICY, "settings": SETTINGS, **options}
    return memory_app(definitions={FILE: definition(url, more)}, **made)


@driven
async def test_the_run_pauses_and_goes_on_with_the_answer() -> None:
    async with serving(answer(201)) as server, _app(server.url) as app:
        call = await asked(app)
        waiting = await person(app, "ben").get(call)
        assert waiting.answer_schema["required"] == ["verdict"]
        answered = await person(app, "ben").answer(call, GOOD)
        assert isinstance(answered.result, Result)
        assert (answered.result.status, answered.result.structured_content) == ("succeeded", GOOD)


@driven
async def test_an_answer_that_does_not_fit_is_refused_and_nothing_is_recorded() -> None:
    async with serving(answer(201)) as server, _app(server.url) as app:
        call = await asked(app)
        before = len(await app.store.rows_of(call))
        for wrong in ({"verdict": "perhaps"}, {}, "pay", {"verdict": "pay", "more": 1}):
            with pytest.raises(UnfitAnswer):
                await person(app, "ben").answer(call, wrong)
        assert len(await app.store.rows_of(call)) == before
        assert (await person(app, "ben").answer(call, GOOD)).result is not None


@driven
async def test_whoever_made_the_call_can_neither_answer_it_nor_hand_it_on() -> None:
    async with serving(answer(201)) as server, _app(server.url) as app:
        call = await asked(app)
        _, own = agent(app)
        with pytest.raises(AccessError):
            await own.answer(call, GOOD)
        with pytest.raises(AccessError):
            await own.delegate(call, "ben")


@driven
async def test_the_endpoint_is_told_everything_but_what_is_sensitive() -> None:
    more = "  x-assignees: [ben, 'group:finance']\n  x-expires-seconds: 60\n  x-message: 'Is {claim} true? ({iban})'"
    credentials = "{scheme: bearer-token, source: env, name: DESK}"
    async with serving(answer(201)) as server:
        text = definition(server.url, more, credentials=credentials)
        settings = msgspec.structs.replace(SETTINGS, human=HumanUpstreams(callback_url="https://ferrule.test/answers"))
        options: dict[str, Any] = {"environment": {"DESK": "s3cret-desk"}, "policy": POLICY, "settings": settings}
        async with memory_app(definitions={FILE: text}, **options) as app:
            call = await asked(app, claim="c-7", iban="DE89370400440532013000")
            told = json.loads(server.seen[0].body)
            waiting = await person(app, "ben").get(call)
    assert (server.seen[0].method, server.seen[0].target) == ("POST", "/tasks")
    assert server.seen[0].headers["authorization"] == "Bearer s3cret-desk"
    assert b"DE8937" not in server.seen[0].body
    assert told["invocation_id"] == call
    assert told["tool_id"] == waiting.request.tool_id
    assert told["input"] == {"claim": "c-7", "iban": "[REDACTED]"}
    assert told["message"] == waiting.request.message == "Is c-7 true? ([REDACTED])"
    assert told["answer_schema"] == waiting.answer_schema
    assert told["assignees"] == ["ben", "group:finance"]
    assert told["callback"]["url"] == "https://ferrule.test/answers"
    assert 55 < waiting.expires_in_seconds <= 60 if waiting.expires_in_seconds else False


@driven
async def test_a_task_that_could_not_be_sent_on_stands_in_the_inbox_and_says_so() -> None:
    async with serving(answer(500)) as server, _app(server.url) as app:
        call = await asked(app)
        said = [row.news() for row in await app.store.news_of(call)]
        words = [fact["data"].get("message", "") for body in said for fact in body.happened]
        assert any("status 500" in word and "inbox" in word for word in words)
        assert isinstance((await person(app, "ben").answer(call, GOOD)).result, Result)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://10.0.0.1"])
@driven
async def test_neither_an_address_that_nobody_listens_at_nor_one_that_is_forbidden_loses_a_task(url: str) -> None:
    async with _app(url) as app:
        assert await asked(app)


@driven
async def test_a_secret_that_is_not_there_is_refused_before_anybody_is_asked() -> None:
    async with serving(answer(201)) as server:
        text = definition(server.url, credentials="{scheme: bearer-token, source: env, name: NOT_SET}")
        async with memory_app(definitions={FILE: text}, policy=POLICY, settings=SETTINGS, environment={}) as app:
            result = await app.surface().call("review-claim", {"claim": "c"})
            assert isinstance(result, Result) and result.error is not None
            assert result.error.error_class == "credential_missing"
        assert not server.seen


@driven
async def test_only_assignees_answer_and_groups_count() -> None:
    more = "  x-assignees: [ben, 'group:finance']"
    async with serving(answer(201)) as server, _app(server.url, more) as app:
        call = await asked(app)
        with pytest.raises(AccessError, match=r"is for .*, not for"):
            await person(app, "eve").answer(call, GOOD)
        assert (await person(app, "eve").get(call)).why_not is not None
        assert (await person(app, "ben").get(call)).why_not is None
        assert (await person(app, "cleo", "finance").answer(call, GOOD)).result is not None


@driven
async def test_the_token_answers_once_and_only_its_own_call() -> None:
    async with serving(answer(201)) as server, _app(server.url) as app:
        first, second = await asked(app), await asked(app)
        token = json.loads(server.seen[0].body)["callback"]["token"]
        assert await app.answer_callback(token, {"verdict": "no"}) == "refused"
        assert await app.answer_callback(token[:-2] + "AA", GOOD) == "refused"
        assert await app.answer_callback("", GOOD) == "refused"
        assert await app.answer_callback(token, GOOD) == "taken"
        assert await app.answer_callback(token, GOOD) == "duplicate"
        ended = await app.result(first)
        assert isinstance(ended, Result) and ended.structured_content == GOOD
        assert isinstance(await app.result(second), Pending)


@driven
async def test_the_token_stands_nowhere_in_the_ledger() -> None:
    store, key = MemoryStore(), ApprovalKey.generate()
    async with serving(answer(201)) as server:
        async with _app(server.url, store=store, key=key) as app:
            await asked(app)
        token = json.loads(server.seen[0].body)["callback"]["token"]
    written = b"".join(row.body + (row.payload or b"") for row in store.ledger.rows)
    assert token.encode() not in written


@driven
async def test_a_token_made_with_another_key_is_worth_nothing() -> None:
    store = MemoryStore()
    async with serving(answer(201)) as server:
        async with _app(server.url, store=store, key=ApprovalKey.generate()) as app:
            await asked(app)
        token = json.loads(server.seen[0].body)["callback"]["token"]
        async with _app(server.url, store=store, key=ApprovalKey.generate()) as other:
            assert await other.answer_callback(token, GOOD) == "refused"


@driven
async def test_a_task_outlives_the_process_that_asked() -> None:
    store, key = MemoryStore(), ApprovalKey.generate()
    async with serving(answer(201)) as server:
        async with _app(server.url, store=store, key=key) as app:
            call = await asked(app)
        async with _app(server.url, store=store, key=key) as app:
            answered = await person(app, "ben").answer(call, GOOD)
            assert isinstance(answered.result, Result) and answered.result.status == "succeeded"
        assert len(server.seen) == 1


@driven
async def test_a_database_carries_no_tasks_and_the_inbox_has_them() -> None:
    """AML-21, AML-22."""
    transport = "  type: database\n  engine: postgresql\n  query_method: parameterised-sql"
    text = definition(
        "",
        transport=transport,
        credentials="{scheme: iam-role, host: db, port: 5432, database: d, username: u, region: r}",
    )
    async with memory_app(definitions={FILE: text}, policy=POLICY, settings=SETTINGS) as app:
        call = await asked(app)
        answered = await person(app, "ben").answer(call, GOOD)
        assert isinstance(answered.result, Result) and answered.result.structured_content == GOOD


@driven
async def test_a_canceled_task_cannot_be_answered_any_more() -> None:
    async with serving(answer(201)) as server, _app(server.url) as app:
        call = await asked(app)
        token = json.loads(server.seen[0].body)["callback"]["token"]
        await app.cancel(call, by="ann")
        with pytest.raises(InboxError):
            await person(app, "ben").answer(call, GOOD)
        assert await app.answer_callback(token, GOOD) == "duplicate"


@driven
async def test_a_misspelt_assignee_is_told_when_the_tool_is_called() -> None:
    async with serving(answer(201)) as server, _app(server.url, "  x-assignees: ['group:']") as app:
        result = await app.surface().call("review-claim", {"claim": "c"})
        assert isinstance(result, Result) and result.error is not None
        assert result.error.error_class == "setup_required" and "x-assignees" in result.error.message
