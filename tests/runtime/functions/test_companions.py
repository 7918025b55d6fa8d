"""A tool's check looks before anything happens, and the function that goes on after an answer gets what its tool gets."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Waiting
from ferrule.errors import BindingError
from ferrule.runtime.executors.function import FunctionExecutor
from ferrule.runtime.functions import ToolFailed, functions_in, tool
from ferrule.runtime.functions.function_tools import join_functions
from ferrule.testing import memory_app
from tests.runtime.functions import shop_services
from tests.runtime.functions.clerk import make_manifest
from tests.runtime.functions.runner import prepare_runner, run_to_end
from tests.runtime.functions.shop_services import events
from tests.spec.running_app import run_async

pytestmark = pytest.mark.usefixtures("clean_services")


@pytest.mark.parametrize("inline", [True, False])
def test_a_check_looks_before_anything_happens(inline: bool) -> None:
    """AT-111: value checks come before side effects."""
    done: list[int] = []

    @tool(inline=inline)
    def pay(amount: int, limit: int = 100) -> None:
        """Pay."""
        done.append(amount)

    @pay.check
    def affordable(amount: int, limit: int) -> str | None:
        return f"{amount} is more than {limit}" if amount > limit else None

    run = prepare_runner(pay)
    assert run_to_end(lambda: run.preflight({"amount": 500})) == "500 is more than 100"
    assert run_to_end(lambda: run.preflight({"amount": 500, "limit": 900})) is None
    assert done == []


def test_a_check_can_be_async_and_can_raise() -> None:
    async def look(path: Path) -> None:
        if path.name == "gone":
            raise ToolFailed("there is no such file")
        if path.name == "locked":
            raise ToolFailed("set it up first", error_class="setup_required")
        raise OSError("4111")

    @tool(check=look, inline=True)
    def read(path: Path) -> str:
        """Read."""
        return path.read_text()

    run = prepare_runner(read)
    assert run_to_end(lambda: run.preflight({"path": "/gone"})) == "there is no such file"
    for path, kind in (("/locked", "setup_required"), ("/other", "dependency_unavailable")):
        with pytest.raises(ExecutionFailed) as caught:
            run_to_end(lambda path=path: run.preflight({"path": path}))
        assert caught.value.error_class == kind
        assert "4111" not in caught.value.message


def test_a_check_that_asks_for_what_the_tool_has_not_is_refused_at_once() -> None:
    def look(amuont: int) -> None: ...

    @tool(check=look)
    def pay(amount: int) -> None:
        """Pay."""

    with pytest.raises(BindingError, match="takes 'amuont', which the tool does not"):
        FunctionExecutor(functions_in(pay))


@run_async
async def test_going_on_after_an_answer_gets_them_too() -> None:
    """The function that resumes asks by the same names, or by annotation."""

    @tool("clerk.look")
    async def look(order: str, customer_repo: Any, context: Context) -> Waiting:
        return context.needs_input("Which one?", state=order.encode())

    @look.resume
    async def go_on(state: bytes, answer: str, customer_repo: Any, log: logging.Logger) -> list[str]:
        return [customer_repo.find(state.decode()), answer, log.name]

    async with memory_app(definitions=make_manifest("customerRepo")) as app:
        _, executor = join_functions(app.catalog, [look, shop_services])
        run = executor.prepare(app.catalog.list_preferred()[0].tool)
        output = await run.resume(b"A-1", "this", Context("inv_1", "ann", None, "default"))
        assert isinstance(output, Output)
        assert output.value == ["A-1 from postgres://app:s3cret-of-the-db@db/shop", "this", "ferrule.tools.clerk.look"]
        await executor.aclose()
    assert events[-1] == "repo closed"
