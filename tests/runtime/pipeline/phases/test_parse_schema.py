"""The arguments of every call are judged by the schema before anything else looks at them."""

from __future__ import annotations

from ferrule.model.approval import APPROVE, Identity
from ferrule.model.result import Result
from tests.runtime.pipeline.arguments.contracts import fields
from tests.runtime.surface.surfaces import make_view
from tests.spec.running_app import make_tool, run_async, running_app


@run_async
async def test_arguments_of_every_call_are_checked() -> None:
    """AT-109: a quick call with bad arguments ends like any other."""
    async with running_app(make_tool(is_read_only=True)) as on:
        await on.call()
        result = await on.call("search", {"city": 1})
        assert (await on.read_record(result))["status"] == "schema_parse_failed"
        assert len(on.executor.ran) == 1


@run_async
async def test_a_call_that_waited_has_to_fit_the_schema_of_now() -> None:
    """AT-80, AT-81: it was fine when it was asked about; since then its tool wants a number."""
    async with running_app(policy="") as on:
        waiting = await on.park()
        on.app.adopt(make_view(make_tool(schema=fields("city", city={"type": "integer"}))))
        await on.app.inbox(Identity("bob", "desk", frozenset({APPROVE}))).approve(waiting.invocation_id)
        result = await on.app.result(waiting.invocation_id)
        assert isinstance(result, Result) and result.error is not None
        assert result.error.error_class == "schema_validation_failed"
        assert (await on.read_record(waiting))["status"] == "validation_failed"
        assert not on.has_run
