"""Running Python functions: threads, conversion, checks, cancellation."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass
from datetime import datetime
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Waiting
from ferrule.errors import BindingError
from ferrule.model.tool import raw
from ferrule.runtime.executors.function import FunctionExecutor
from ferrule.runtime.functions import Binding, ToolFailed, functions_in, tool
from tests.runtime.functions.samples import EXAMPLE, everything
from tests.runtime.functions.test_fitting import definition


def context() -> Context:
    return Context("inv_1", "ann", None, "default")


def prepared(function: Any) -> Any:
    executor = FunctionExecutor(functions_in(function))
    return executor.prepare(executor.tools[0])


def outcome(value: Any) -> Any:
    async def main() -> Any:
        return await asyncio.wait_for(_settled(value() if callable(value) else value), 10)

    return asyncio.run(main())


async def _settled(value: Any) -> Any:
    return await value if isawaitable(value) else value


def test_values_arrive_as_the_types_that_were_asked_for() -> None:
    """AT-114: and the context arrives where it is asked for."""
    lines = outcome(lambda: prepared(everything)(dict(EXAMPLE), context()))
    assert lines == [{"sku": "x", "count": 2}]


def test_plain_functions_run_in_a_named_thread_and_quick_ones_where_they_are() -> None:
    @tool
    def where() -> str:
        """Say where."""
        return threading.current_thread().name

    @tool(inline=True)
    def here() -> str:
        """Say where."""
        return threading.current_thread().name

    assert outcome(lambda: prepared(where)({}, context())).startswith("ferrule-tool-")
    assert prepared(here)({}, context()) == threading.current_thread().name


def test_whole_numbers_arrive_whole() -> None:
    @tool(inline=True)
    def kinds(a: int, b: int | None, c: list[int], d: float) -> list[str]:
        """Say what came."""
        return [type(value).__name__ for value in (a, b, c[0], d)]

    assert prepared(kinds)({"a": 3.0, "b": 4.0, "c": [5.0], "d": 6.5}, context()) == ["int", "int", "int", "float"]


def test_plain_json_is_handed_over_untouched() -> None:
    @tool(inline=True)
    def same(items: list[str], more: dict[str, Any]) -> bool:
        """Say whether they are the very same."""
        return items is given["items"] and more is given["more"]

    given: dict[str, Any] = {"items": ["a"], "more": {"b": [1]}}
    assert prepared(same)(given, context()) is True


@dataclass
class Found:
    name: str
    at: datetime


def test_results_become_json() -> None:
    @tool(inline=True)
    def rich() -> Found:
        """Give something rich."""
        return Found("x", datetime(2026, 1, 31))

    @tool(inline=True)
    def loose() -> Any:
        """Give anything."""
        return {1: {Path("/a")}, "t": (1, 2)}

    @tool(inline=True)
    def own() -> Output:
        """Give content."""
        return Output(content=({"type": "text", "text": "hi"},))

    assert prepared(rich)({}, context()) == {"name": "x", "at": "2026-01-31T00:00:00"}
    assert prepared(loose)({}, context()) == {"1": ["/a"], "t": (1, 2)}
    assert isinstance(prepared(own)({}, context()), Output)


def test_a_result_without_a_json_form_is_the_authors_failure() -> None:
    @tool(inline=True)
    def odd() -> Any:
        """Give something odd."""
        return object()

    with pytest.raises(ExecutionFailed, match="returned a object that is not JSON") as caught:
        prepared(odd)({}, context())
    assert (caught.value.error_class, caught.value.code) == ("execution_failed", "result_mapping_failed")


def test_an_exceptions_text_reaches_the_log_and_no_model(caplog: pytest.LogCaptureFixture) -> None:
    """AT-245: it may hold a secret; where it happened is in the log, too."""

    @tool(inline=True)
    def leak(card: str) -> None:
        """Leak."""
        raise KeyError(card)

    with caplog.at_level(logging.INFO, "ferrule.tools"), pytest.raises(ExecutionFailed) as caught:
        prepared(leak)({"card": "4111"}, context())
    assert caught.value.message == "tool 'leak' failed (KeyError): the details are in the log"
    assert caught.value.native_error_ref == "python:KeyError"
    assert "tool 'leak' failed: KeyError: '4111'\n" in caplog.text
    assert "raise KeyError(card)" in caplog.text


def test_a_text_that_is_too_long_for_the_log_is_left_out_whole(caplog: pytest.LogCaptureFixture) -> None:
    @tool(inline=True)
    def long() -> None:
        """Say much."""
        raise ValueError("blah" * 2000)

    with caplog.at_level(logging.INFO, "ferrule.tools"), pytest.raises(ExecutionFailed):
        prepared(long)({}, context())
    assert "tool 'long' failed: ValueError (8,012 characters, left out)\n" in caplog.text
    assert "blahblah" not in caplog.text


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
        run = prepared(wait)
        assert run.support.cancel
        task = asyncio.ensure_future(run({}, context()))
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
        run, mine = prepared(work), context()
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


def test_a_function_that_times_out_by_itself_is_a_timeout() -> None:
    @tool
    async def slow() -> None:
        """Take too long."""
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    with pytest.raises(ExecutionFailed) as caught:
        outcome(lambda: prepared(slow)({}, context()))
    assert caught.value.error_class == "timeout"


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

    run = prepared(pay)
    assert outcome(lambda: run.preflight({"amount": 500})) == "500 is more than 100"
    assert outcome(lambda: run.preflight({"amount": 500, "limit": 900})) is None
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

    run = prepared(read)
    assert outcome(lambda: run.preflight({"path": "/gone"})) == "there is no such file"
    for path, kind in (("/locked", "setup_required"), ("/other", "dependency_unavailable")):
        with pytest.raises(ExecutionFailed) as caught:
            outcome(lambda path=path: run.preflight({"path": path}))
        assert caught.value.error_class == kind
        assert "4111" not in caught.value.message


def test_a_check_that_asks_for_what_the_tool_has_not_is_refused_at_once() -> None:
    def look(amuont: int) -> None: ...

    @tool(check=look)
    def pay(amount: int) -> None:
        """Pay."""

    with pytest.raises(BindingError, match="takes 'amuont', which the tool does not"):
        FunctionExecutor(functions_in(pay))


def test_arguments_no_schema_can_judge_are_found_before_the_call() -> None:
    @tool(inline=True)
    def at(when: datetime, from_: datetime | None = None) -> None:
        """Remind."""

    run = prepared(at)
    assert "'when' cannot be used as it is: Invalid RFC3339" in str(outcome(run.preflight({"when": "soon"})))
    assert outcome(run.preflight({"when": "2026-01-31T12:00:00Z"})) is None
    with pytest.raises(ExecutionFailed) as caught:
        run({"when": "soon"}, context())
    assert caught.value.error_class == "invalid_arguments"


def test_a_tool_without_anything_to_check_has_no_preflight() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert prepared(add).preflight is None


def test_fields_of_a_definition_reach_their_parameters() -> None:
    @tool("refund-order", inline=True)
    def refund(order_id: str, amount: int, class_: str = "none") -> list[Any]:
        return [order_id, amount, class_]

    executor = FunctionExecutor(functions_in(refund))
    run = executor.prepare(definition())
    assert run({"order-id": "A-1", "amount": 5, "class": "x"}, context()) == ["A-1", 5, "x"]
    assert run({"order-id": "A-1", "amount": 5}, context()) == ["A-1", 5, "none"]


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
    assert run("hello", context()) == "HELLO"


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
        prepared(ask)({}, context())


def test_methods_keep_their_instance() -> None:
    class Shop:
        def __init__(self) -> None:
            self.stock = 3

        async def count(self) -> int:
            """Count."""
            return self.stock

    (binding,) = functions_in(Binding(Shop().count))
    executor = FunctionExecutor([binding])
    assert outcome(lambda: executor.prepare(executor.tools[0])({}, context())) == 3
