"""Running Python functions: threads, conversion, checks, cancellation."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed, Waiting
from ferrule.model.tool import raw
from ferrule.runtime.executors.function import FunctionExecutor
from ferrule.runtime.functions import Binding, functions_in, tool
from tests.runtime.functions.runner import make_context, prepare_runner, run_to_end
from tests.runtime.functions.test_fitting import definition


def test_plain_functions_run_in_a_named_thread_and_quick_ones_where_they_are() -> None:
    @tool
    def where() -> str:
        """Say where."""
        return threading.current_thread().name

    @tool(inline=True)
    def here() -> str:
        """Say where."""
        return threading.current_thread().name

    assert run_to_end(lambda: prepare_runner(where)({}, make_context())).startswith("ferrule-tool-")
    assert prepare_runner(here)({}, make_context()) == threading.current_thread().name


def test_canceling_an_async_function_reaches_it() -> None:
    seen: list[str] = []

    @tool
    async def wait() -> None:
        """Wait."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("canceled")
            raise

    async def main() -> None:
        run = prepare_runner(wait)
        assert run.support.cancel
        task = asyncio.ensure_future(run({}, make_context()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 10)

    asyncio.run(main())
    assert seen == ["canceled"]


def test_a_thread_goes_on_when_nobody_waits_any_more_and_can_be_told() -> None:
    """AT-205, AT-207: it says that it cannot be stopped; the wait ends at once all the same."""
    begun, told, ended = threading.Event(), threading.Event(), threading.Event()

    @tool
    def work(context: Context) -> None:
        """Work."""
        begun.set()
        told.wait(10)
        assert context.aborted
        ended.set()

    async def main() -> None:
        run, mine = prepare_runner(work), make_context()
        assert not run.support.cancel
        task = asyncio.ensure_future(run({}, mine))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 10)
        mine.aborted = True
        told.set()

    asyncio.run(main())
    assert ended.wait(10)


def test_a_tool_without_anything_to_check_has_no_preflight() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert prepare_runner(add).preflight is None


def test_fields_of_a_definition_reach_their_parameters() -> None:
    @tool("refund-order", inline=True)
    def refund(order_id: str, amount: int, class_: str = "none") -> list[Any]:
        return [order_id, amount, class_]

    executor = FunctionExecutor(functions_in(refund))
    run = executor.prepare(definition())
    assert run({"order-id": "A-1", "amount": 5, "class": "x"}, make_context()) == ["A-1", 5, "x"]
    assert run({"order-id": "A-1", "amount": 5}, make_context()) == ["A-1", 5, "none"]


def test_a_field_the_definition_allows_and_the_function_does_not_is_refused_first() -> None:
    @tool("refund-order", inline=True)
    def refund(a: int = 0) -> int:
        return a

    open_schema = definition({"type": "object", "properties": {"a": {"type": "integer"}}})
    run: Any = FunctionExecutor(functions_in(refund)).prepare(open_schema)
    assert run.preflight({"b": 1}) == "tool 'refund' takes no field 'b'; leave it out"
    assert run.preflight({"a": 1}) is None


def test_a_text_reaches_the_one_parameter() -> None:
    @tool("refund-order", inline=True)
    def shout(text: str) -> str:
        return text.upper()

    text = definition({"type": "string"}, payload=raw({"input_contract": {"argument_mode": "text"}}))
    run: Any = FunctionExecutor(functions_in(shout)).prepare(text)
    assert run("hello", make_context()) == "HELLO"


def test_a_misfit_is_a_set_up_problem_when_it_is_only_found_by_a_call() -> None:
    @tool("refund-order")
    def refund(other: int) -> None: ...

    with pytest.raises(ExecutionFailed, match="does not fit the tool") as caught:
        FunctionExecutor(functions_in(refund)).prepare(definition())
    assert caught.value.error_class == "setup_required"


def test_a_tool_that_waits_without_a_way_to_go_on_fails() -> None:
    @tool(inline=True)
    def ask() -> str | Waiting:
        """Ask."""
        return Waiting(message="?", state=b"")

    with pytest.raises(ExecutionFailed, match="no function to go on with"):
        prepare_runner(ask)({}, make_context())


def test_methods_keep_their_instance() -> None:
    class Shop:
        def __init__(self) -> None:
            self.stock = 3

        async def count(self) -> int:
            """Count."""
            return self.stock

    (binding,) = functions_in(Binding(Shop().count))
    executor = FunctionExecutor([binding])
    assert run_to_end(lambda: executor.prepare(executor.tools[0])({}, make_context())) == 3
