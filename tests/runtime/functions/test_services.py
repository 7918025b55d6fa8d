"""Services are made once, when they are first needed, and let go of at the end, the newest first."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest

from ferrule.model.result import Result
from ferrule.runtime.functions import Inject, service, tool
from ferrule.testing import memory_app
from tests.runtime.functions import shop_services
from tests.runtime.functions.clerk import CONFIG, call_for_refusal, call_for_value, call_tool, make_manifest, open_clerk
from tests.runtime.functions.shop_services import events
from tests.spec.running_app import TRUSTED, run_async

pytestmark = pytest.mark.usefixtures("clean_services")


@run_async
async def test_a_service_is_made_once_with_what_it_asks_for_and_closed_at_the_end() -> None:
    """ADL-30, ADL-34: by the factory the manifest names."""

    async def look(order: str, customer_repo: Any) -> str:
        return str(customer_repo.find(order))

    async with open_clerk(look, "customerRepo") as app:
        assert events == []
        for _ in range(3):
            text = (await call_tool(app)).content[0]["text"]
            assert text == "A-1 from postgres://app:[REDACTED]@db/shop"  # what it was given does not come back
        assert events == ["repo made by ferrule.services.customerRepo"]
    assert events[1:] == ["repo closed"]


@pytest.mark.parametrize("kind", ["async", "thread", "inline"])
@run_async
async def test_every_way_of_running_gets_its_services(kind: str) -> None:
    if kind == "async":

        @tool("clerk.look")
        async def look(order: str, mailer: Any) -> int:
            return int(mailer.limit)
    else:

        @tool("clerk.look", inline=kind == "inline")
        def look(order: str, mailer: Any) -> int:
            return int(mailer.limit)

    tools = (look, shop_services)
    async with memory_app(tools=tools, definitions=make_manifest("mailer"), policy=TRUSTED) as app:
        results = await asyncio.gather(*(call_tool(app) for _ in range(5)))
        assert [result.structured_content for result in results] == [3] * 5
        assert sorted(events) == ["mailer made", "repo made by ferrule.services.customerRepo"]
    assert events[2:] == ["mailer closed", "repo closed"]  # the newest first


@pytest.mark.parametrize("name, value, closed", [
    ("queue", {"sections": ["database", "notifications"]}, None),
    ("session", "a session", "session closed"),
    ("lock", "a lock", "lock freed"),
    ("yielded", "yielded", "yielded closed"),
    ("asyncYielded", "async yielded", "async yielded closed"),
])  # fmt: skip
@run_async
async def test_factories_of_every_kind(name: str, value: Any, closed: str | None) -> None:
    async def look(order: str, it: Annotated[Any, Inject(name)]) -> Any:
        return it

    look.__annotations__["it"] = Annotated[Any, Inject(name)]
    config = {key: group for key, group in CONFIG.items() if key != "payments"}
    assert await call_for_value(look, name, config=config) == value
    assert closed is None or closed in events


@run_async
async def test_a_path_leads_into_a_service_or_a_section() -> None:
    """ADL-32"""

    async def look(order: str, customer_repo_reader: Any, database_pool: Any) -> list[Any]:
        return [customer_repo_reader.find(order), database_pool["size"]]

    assert await call_for_value(look, "customerRepo.reader", "config.database.pool") == ["found A-1", 4]

    async def missing(order: str, customer_repo_writer: Any) -> str:
        return "no"

    assert "'writer'" in await call_for_refusal(missing, "customerRepo.writer")


@pytest.mark.parametrize("entry, words", [
    ("broken", ("new_broken", "RuntimeError")),
    ("nothing", ("new_nothing", "gave nothing")),
    ("egg", ("egg needs hen needs egg",)),
    ("needy", ("new_needy", "'weather'")),
    ("absent", ("NewAbsent", "[functions] modules", '@ferrule.service("absent")')),
])  # fmt: skip
@run_async
async def test_what_cannot_be_made_asks_for_set_up(entry: str, words: tuple[str, ...]) -> None:
    """The factory is named; what it said may hold a secret."""

    async def look(order: str, it: Any) -> str:
        raise AssertionError("it ran")

    look.__annotations__["it"] = Annotated[Any, Inject(entry)]
    message = await call_for_refusal(look, entry)
    assert all(word in message for word in words), message
    assert "hunter2" not in message


@run_async
async def test_a_factory_that_failed_is_tried_again() -> None:
    tries: list[int] = []

    @service("absent")
    async def sometimes() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("no")
        return "there"

    async def look(order: str, absent: str) -> str:
        return absent

    async with open_clerk(look, "absent", more=(sometimes,)) as app:
        first = await call_tool(app)
        assert first.error is not None and first.error.error_class == "setup_required"
        assert (await call_tool(app)).content[0]["text"] == "there"
        assert (await call_tool(app)).content[0]["text"] == "there"
    assert len(tries) == 2


@run_async
async def test_a_call_that_is_given_up_does_not_take_the_service_along() -> None:
    going = asyncio.Event()

    @service("absent")
    async def slow() -> str:
        await going.wait()
        return "made"

    async def look(order: str, absent: str) -> str:
        return absent

    async with open_clerk(look, "absent", more=(slow,)) as app:
        result = await app.surface(principal="ada").call("look", {"order": "A-1"}, timeout_seconds=0.05)
        assert isinstance(result, Result) and result.status == "timed_out"
        going.set()
        assert (await call_tool(app)).content[0]["text"] == "made"


@run_async
async def test_no_factory_runs_for_a_call_that_is_refused() -> None:
    async def look(order: str, customer_repo: Any) -> str:
        return "ran"

    given = (tool("clerk.look")(look), shop_services)
    policy = '[[rules]]\nid = "no"\neffect = "deny"\ntools = ["clerk.look"]\n'
    async with memory_app(tools=given, definitions=make_manifest("customerRepo"), policy=policy) as app:
        assert (await call_tool(app)).error is not None
    assert events == []


@run_async
async def test_secrets_of_placeholders_are_known_before_any_tool_is_given_one() -> None:
    """AT-124: another tool that comes by the value does not tell it either."""

    @tool(read_only=True)
    def leak() -> str:
        """Has it from somewhere else."""
        return "the password is s3cret-of-the-db"

    async with memory_app(tools=[leak], definitions=make_manifest("logger"), policy=TRUSTED) as app:
        assert (await call_tool(app, {}, "leak")).text == "the password is [REDACTED]"
