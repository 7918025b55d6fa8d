"""The short way from a function to what a call of it gives."""

from __future__ import annotations

import asyncio
from inspect import isawaitable
from typing import Any

from ferrule.contracts.executor import Context
from ferrule.runtime.executors.function import FunctionExecutor
from ferrule.runtime.functions import functions_in


def make_context() -> Context:
    """A context of a call that Ann makes."""
    return Context("inv_1", "ann", None, "default")


def prepare_runner(function: Any) -> Any:
    """The runner of one function."""
    executor = FunctionExecutor(functions_in(function))
    return executor.prepare(executor.tools[0])


def run_to_end(value: Any) -> Any:
    """What comes of a value, a coroutine, or a function that gives one of them."""

    async def main() -> Any:
        return await asyncio.wait_for(_settle(value() if callable(value) else value), 10)

    return asyncio.run(main())


async def _settle(value: Any) -> Any:
    return await value if isawaitable(value) else value
