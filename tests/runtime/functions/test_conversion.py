"""Arguments become the types that a function asks for, and what it returns becomes JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.runtime.functions import tool
from tests.runtime.functions.runner import make_context, prepare_runner, run_to_end
from tests.runtime.functions.samples import EXAMPLE, everything


def test_values_arrive_as_the_types_that_were_asked_for() -> None:
    """AT-114: and the context arrives where it is asked for."""
    lines = run_to_end(lambda: prepare_runner(everything)(dict(EXAMPLE), make_context()))
    assert lines == [{"sku": "x", "count": 2}]


def test_whole_numbers_arrive_whole() -> None:
    @tool(inline=True)
    def kinds(a: int, b: int | None, c: list[int], d: float) -> list[str]:
        """Say what came."""
        return [type(value).__name__ for value in (a, b, c[0], d)]

    assert prepare_runner(kinds)({"a": 3.0, "b": 4.0, "c": [5.0], "d": 6.5}, make_context()) == [
        "int",
        "int",
        "int",
        "float",
    ]


def test_plain_json_is_handed_over_untouched() -> None:
    @tool(inline=True)
    def same(items: list[str], more: dict[str, Any]) -> bool:
        """Say whether they are the very same."""
        return items is given["items"] and more is given["more"]

    given: dict[str, Any] = {"items": ["a"], "more": {"b": [1]}}
    assert prepare_runner(same)(given, make_context()) is True


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

    assert prepare_runner(rich)({}, make_context()) == {"name": "x", "at": "2026-01-31T00:00:00"}
    assert prepare_runner(loose)({}, make_context()) == {"1": ["/a"], "t": (1, 2)}
    assert isinstance(prepare_runner(own)({}, make_context()), Output)


def test_a_result_without_a_json_form_is_the_authors_failure() -> None:
    @tool(inline=True)
    def odd() -> Any:
        """Give something odd."""
        return object()

    with pytest.raises(ExecutionFailed, match="returned a object that is not JSON") as caught:
        prepare_runner(odd)({}, make_context())
    assert (caught.value.error_class, caught.value.code) == ("execution_failed", "result_mapping_failed")


def test_arguments_no_schema_can_judge_are_found_before_the_call() -> None:
    @tool(inline=True)
    def at(when: datetime, from_: datetime | None = None) -> None:
        """Remind."""

    run = prepare_runner(at)
    assert "'when' cannot be used as it is: Invalid RFC3339" in str(run_to_end(run.preflight({"when": "soon"})))
    assert run_to_end(run.preflight({"when": "2026-01-31T12:00:00Z"})) is None
    with pytest.raises(ExecutionFailed) as caught:
        run({"when": "soon"}, make_context())
    assert caught.value.error_class == "invalid_arguments"
