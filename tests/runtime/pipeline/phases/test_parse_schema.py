"""The arguments of every call are judged by the schema before anything else looks at them."""

from __future__ import annotations

from ferrule.model.approval import APPROVE, Identity
from ferrule.model.result import Result
from tests.runtime.pipeline.arguments.contracts import fields
from tests.runtime.surface.parts import view_of
from tests.spec.scene import made, played, scene


@played
async def test_arguments_of_every_call_are_checked() -> None:
    """AT-109: a quick call with bad arguments ends like any other."""
    async with scene(made(is_read_only=True)) as on:
        await on.call()
        result = await on.call("search", {"city": 1})
        assert (await on.record(result))["status"] == "schema_parse_failed"
        assert len(on.executor.ran) == 1


@played
async def test_a_call_that_waited_has_to_fit_the_schema_of_now() -> None:
    """AT-80, AT-81: it was fine when it was asked about; since then its tool wants a number."""
    async with scene(policy="") as on:
        waiting = await on.parked()
        on.app.adopt(view_of(made(schema=fields("city", city={"type": "integer"}))))
        await on.app.inbox(Identity("bob", "desk", frozenset({APPROVE}))).approve(waiting.invocation_id)
        result = await on.app.result(waiting.invocation_id)
        assert isinstance(result, Result) and result.error is not None
        assert result.error.error_class == "schema_validation_failed"
        assert (await on.record(waiting))["status"] == "validation_failed"
        assert not on.has_run
