"""Value checks before anything happens: what a check refuses never runs, and leaves its idempotency key free."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest

import ferrule
from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.result import Result
from ferrule.model.tool import Tool
from ferrule.testing import memory_app
from tests.spec.running_app import TRUSTED, make_tool, run_async, running_app

RAN: list[int] = []


@ferrule.tool(inline=True, destructive=False)
def pay(amount: int) -> int:
    """Pay."""
    RAN.append(amount)
    return amount


@pay.check
def is_affordable(amount: int) -> str | None:
    return f"{amount} is more than 100" if amount > 100 else None


@run_async
async def test_a_value_that_its_check_refuses_never_runs_and_the_key_stays_free() -> None:
    """AT-111, AT-178: whoever mends the value may use the key again."""
    RAN.clear()
    async with memory_app(tools=[pay], policy=TRUSTED) as app:
        surface = app.surface()
        refused = await surface.call("pay", {"amount": 500}, idempotency_key="k")
        assert isinstance(refused, Result) and refused.error is not None
        assert (refused.error.error_class, refused.error.message) == ("invalid_arguments", "500 is more than 100")
        assert not RAN
        paid = await surface.call("pay", {"amount": 50}, idempotency_key="k")
        assert isinstance(paid, Result) and paid.value == 50
        again = await surface.call("pay", {"amount": 50}, idempotency_key="k")
        assert again == paid and RAN == [50]


class Checking:
    """An executor with a preflight of the test's own."""

    support = None

    def __init__(self, preflight: Any) -> None:
        self.preflight = preflight
        self.ran: list[dict[str, Any]] = []

    def can_run(self, tool: Tool) -> bool:
        return tool.name == "search"

    def prepare(self, tool: Tool) -> Any:
        ran, check = self.ran, self.preflight

        class Run:
            def __call__(self, arguments: dict[str, Any], context: Any) -> str:
                ran.append(arguments)
                return "found"

            def preflight(self, arguments: dict[str, Any]) -> str | Awaitable[str | None] | None:
                said: str | Awaitable[str | None] | None = check(arguments)
                return said

        return Run()

    async def aclose(self) -> None:
        """Nothing to let go of."""


def failing(arguments: dict[str, Any]) -> None:
    raise ExecutionFailed("setup_required", "log in first", code="no_login")


@run_async
async def test_a_check_that_fails_gives_its_own_class_and_code() -> None:
    checking = Checking(failing)
    async with running_app(make_tool(), executors=(checking,)) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("setup_required", "no_login")
        assert not checking.ran


@pytest.mark.parametrize("is_slow", [True, False])
@run_async
async def test_a_check_that_edits_what_it_was_handed_changes_nothing(is_slow: bool) -> None:
    def edit(arguments: dict[str, Any]) -> Any:
        arguments["city"] = "elsewhere"

        async def nothing() -> None:
            return None

        return nothing() if is_slow else None

    checking = Checking(edit)
    async with running_app(make_tool(), executors=(checking,)) as on:
        assert not (await on.call("search", {"city": "Bern"})).is_error
        assert checking.ran == [{"city": "Bern"}]
