"""What a function's signature says: its parameters, its context, and what no tool can have."""

from __future__ import annotations

import functools
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from ferrule.contracts.executor import Context, Waiting
from ferrule.errors import BindingError
from ferrule.runtime.functions import Binding, tool
from ferrule.runtime.functions.signature import ABSENT, LOADED_FROM, format_label, read_signature
from tests.runtime.functions.function_tools import make_tool, read_input_schema


def many(*values: int) -> int:
    """Say."""
    return 1


def positional(a: int, /) -> int:
    """Say."""
    return 1


def nowhere(a: Missing) -> int:  # type: ignore[name-defined]  # noqa: F821
    """Say."""
    return 1


def stream() -> Iterator[int]:
    """Say."""
    yield 1


async def async_stream() -> AsyncIterator[int]:
    """Say."""
    yield 1


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (many, r"takes \*values"),
        (positional, "'a' of .* is positional-only"),
        (nowhere, "cannot be resolved"),
        (stream, "is a generator"),
        (async_stream, "is a generator"),
    ],
)
def test_what_no_tool_can_have_is_refused_with_what_to_do(function: Any, told: str) -> None:
    with pytest.raises(BindingError, match=told):
        make_tool(Binding(function))


def test_a_context_is_no_field() -> None:
    @tool
    def who(context: Context) -> str:
        """Say who asks."""
        return context.principal

    assert read_input_schema(who)["properties"] == {}


def taken(from_: str, log: logging.Logger, call: Context | None, kept_: int = 3) -> int | Waiting:
    """Take parameters of every kind."""
    return kept_


def test_a_parameter_is_called_by_the_name_a_model_may_use() -> None:
    """Only a keyword of Python loses its underscore."""
    fields = {parameter.name: parameter.field for parameter in read_signature(taken).parameters}
    assert fields == {"from_": "from", "kept_": "kept_"}


def test_what_no_model_fills_in_is_kept_apart() -> None:
    found = read_signature(taken)
    assert (found.context, found.injected) == ("call", {"log": "logger"})
    assert (found.takes_more, found.is_async, found.returns) == (False, False, int)
    assert found.parameters[0].default is ABSENT


def test_a_partial_function_and_a_callable_object_have_signatures_too() -> None:
    class Later:
        async def __call__(self, text: str) -> str:
            return text

    assert [each.name for each in read_signature(Later()).parameters] == ["text"]
    assert read_signature(Later()).is_async
    partial = functools.partial(taken, kept_=4)
    assert format_label(partial) == format_label(taken) == f"{__name__}:taken"
    assert [each.default for each in read_signature(partial).parameters][1] == 4


def test_modules_loaded_from_files_are_named_without_what_tells_workspaces_apart() -> None:
    def refund() -> None: ...

    refund.__module__, refund.__qualname__ = f"{LOADED_FROM}0a1b.orders", "refund"
    assert format_label(refund) == "orders:refund"
