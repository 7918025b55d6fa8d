"""What every executor does alike. A new one adds a `Case` that builds the tools this suite asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, NamedTuple

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed, Executor, Output, Run, Waiting
from ferrule.contracts.registry import Registry
from ferrule.model.failure import ERROR_CLASSES
from ferrule.model.tool import Tool
from ferrule.runtime.executors.builtin import EXECUTORS
from ferrule.runtime.executors.function import FunctionExecutor
from ferrule.runtime.functions import ToolFailed, functions_in, tool


class Case(NamedTuple):
    """An executor and tools of its own that behave as their names say."""

    executor: Executor
    tools: dict[str, Tool]

    def run(self, name: str) -> Run:
        return self.executor.prepare(self.tools[name])


def context() -> Context:
    return Context("inv_1", "ann", None, "default")


@tool(name="add", read_only=True)
async def add_async(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(name="add", read_only=True)
def add_plain(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(name="add", read_only=True, inline=True)
def add_inline(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(name="fail")
async def fail_async(how: str) -> None:
    """Fail in some way."""
    raise FAILURES[how][0]


@tool(name="fail")
def fail_plain(how: str) -> None:
    """Fail in some way."""
    raise FAILURES[how][0]


@tool(name="fail", inline=True)
def fail_inline(how: str) -> None:
    """Fail in some way."""
    raise FAILURES[how][0]


@tool(name="edit")
async def edit_async(items: list[str]) -> list[str]:
    """Change what it was handed."""
    items.append("mine")
    return items


@tool(name="edit")
def edit_plain(items: list[str]) -> list[str]:
    """Change what it was handed."""
    items.append("mine")
    return items


@tool(name="edit", inline=True)
def edit_inline(items: list[str]) -> list[str]:
    """Change what it was handed."""
    items.append("mine")
    return items


@tool(name="ask")
async def ask_async(question: str) -> str | Waiting:
    """Ask somebody."""
    return Waiting(message=question, state=b"asked")


@tool(name="ask")
def ask_plain(question: str) -> str | Waiting:
    """Ask somebody."""
    return Waiting(message=question, state=b"asked")


@tool(name="ask", inline=True)
def ask_inline(question: str) -> str | Waiting:
    """Ask somebody."""
    return Waiting(message=question, state=b"asked")


@ask_async.resume
async def answered_async(state: bytes, answer: str, context: Context) -> str:
    return f"{state.decode()} {answer} {context.principal}"


@ask_plain.resume
@ask_inline.resume
def answered_plain(state: bytes, answer: str, context: Context) -> str:
    return f"{state.decode()} {answer} {context.principal}"


FAILURES: dict[str, tuple[BaseException, str]] = {
    "timeout": (TimeoutError("card 4111"), "timeout"),
    "refused": (PermissionError("card 4111"), "sandbox_violation"),
    "missing": (FileNotFoundError("card 4111"), "execution_failed"),
    "unreachable": (ConnectionError("card 4111"), "dependency_unavailable"),
    "system": (OSError("card 4111"), "dependency_unavailable"),
    "unable": (NotImplementedError("card 4111"), "capability_gap"),
    "value": (ValueError("card 4111"), "execution_failed"),
    "type": (TypeError("card 4111"), "execution_failed"),
    "stop": (StopIteration("card 4111"), "execution_failed"),
    "exit": (SystemExit("card 4111"), "execution_failed"),
    "limited": (ToolFailed("slow down", error_class="rate_limited", retry_after=3), "rate_limited"),
    "told": (ToolFailed("the order is closed", code="closed"), "execution_failed"),
    "passed": (ExecutionFailed("credential_missing", "no key"), "credential_missing"),
}


def case_of(*functions: Any) -> Case:
    executor = FunctionExecutor(functions_in(functions))
    return Case(executor, {tool.name: tool for tool in executor.tools})


CASES: dict[str, Callable[[], Case]] = {
    "function, async": lambda: case_of(add_async, fail_async, edit_async, ask_async),
    "function, thread": lambda: case_of(add_plain, fail_plain, edit_plain, ask_plain),
    "function, inline": lambda: case_of(add_inline, fail_inline, edit_inline, ask_inline),
}


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]()


def finish(case: Case, work: Callable[[], Any]) -> Any:
    """The result of a runner, awaited if need be, within a bound."""

    async def main() -> Any:
        try:
            value = work()
            return await asyncio.wait_for(_settled(value), 10) if isawaitable(value) else value
        finally:
            await case.executor.aclose()

    return asyncio.run(main())


async def _settled(value: Awaitable[Any]) -> Any:
    return await value


def test_every_built_in_executor_is_in_this_suite() -> None:
    registry: Registry[type[Executor]] = Registry("executor", EXECUTORS)
    assert {name.partition(",")[0] for name in CASES} == set(registry.names())
    assert registry.get("function") is FunctionExecutor


def test_output_is_what_the_tool_gave(case: Case) -> None:
    value = finish(case, lambda: case.run("add")({"a": 1, "b": 2}, context()))
    assert (value.value if isinstance(value, Output) else value) == 3


def test_it_says_what_it_can_run(case: Case) -> None:
    other = next(iter(case_of(add_async).tools.values()))
    assert all(case.executor.can_run(tool) for tool in case.tools.values())
    stranger = type(other)(
        **{name: getattr(other, name) for name in other.__struct_fields__} | {"tool_id": "else.where"}
    )
    assert not case.executor.can_run(stranger)
    with pytest.raises(ExecutionFailed) as caught:
        case.executor.prepare(stranger)
    assert caught.value.error_class == "setup_required"


@pytest.mark.parametrize("how", FAILURES)
def test_a_failure_has_a_class_and_tells_no_secret(case: Case, how: str) -> None:
    """AT-245: a message for people, without stack trace or secret."""
    with pytest.raises(ExecutionFailed) as caught:
        finish(case, lambda: case.run("fail")({"how": how}, context()))
    failed = caught.value
    assert failed.error_class == FAILURES[how][1]
    assert failed.error_class in ERROR_CLASSES
    assert failed.message
    assert "4111" not in failed.message
    assert "Traceback" not in failed.message


def test_authors_choose_their_own_words(case: Case) -> None:
    with pytest.raises(ExecutionFailed) as caught:
        finish(case, lambda: case.run("fail")({"how": "limited"}, context()))
    assert (caught.value.message, caught.value.retry_after) == ("slow down", 3)


def test_one_call_does_not_see_what_another_did_to_its_arguments(case: Case) -> None:
    run = case.run("edit")

    async def main() -> list[Any]:
        found = []
        for _ in range(2):
            value = run({"items": ["yours"]}, context())
            found.append(await value if isawaitable(value) else value)
        await case.executor.aclose()
        return found

    assert asyncio.run(main()) == [["yours", "mine"], ["yours", "mine"]]


def test_a_tool_can_wait_and_go_on(case: Case) -> None:
    run: Any = case.run("ask")

    async def main() -> None:
        waiting = run({"question": "sure?"}, context())
        waiting = await waiting if isawaitable(waiting) else waiting
        assert isinstance(waiting, Waiting)
        assert waiting.message == "sure?"
        output = await run.resume(waiting.state, "yes", context())
        assert output == Output("asked yes ann")
        await case.executor.aclose()

    asyncio.run(asyncio.wait_for(main(), 10))


def test_support_is_said(case: Case) -> None:
    """AT-194, AT-205: what is not supported is said, not left to silence."""
    run: Any = case.run("add")
    assert isinstance(run.support.cancel, bool)
    assert case.executor.support.resume
