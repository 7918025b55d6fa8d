"""What a definition says about results: limits, strategies, and what is always taken out of the output."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.pipeline.results.result_app import TEXT, read_linked, result_scene
from tests.spec.running_app import make_tool, run_async

LIMITS = [
    {"output_contract": {"max_inline_chars": 10}, "interface": {"max_inline_chars": 20}},
    {"output_contract": {"max_inline_chars": 20}, "interface": {"max_inline_chars": 10}},
    {
        "output_contract": {"max_inline_chars": 30, "persistence_policy": {"max_inline_chars": 10}},
        "interface": {"max_inline_chars": 20},
    },
    {"output_contract": {"persistence_policy": {"threshold": {"max_inline_chars": 10}}}},
]


@pytest.mark.parametrize("said", LIMITS)
@run_async
async def test_at_88_the_smallest_limit_counts(said: dict[str, Any]) -> None:
    """AT-88: contract, interface, policy and settings."""
    for length, is_kept in ((10, False), (11, True)):
        async with result_scene("x" * length, make_tool(**said)) as on:
            result = await on.call()
            assert bool(result.persistence_refs) is is_kept
    async with result_scene("x" * 6, make_tool(**said), settings={"max_inline_chars": 5}) as on:
        assert (await read_linked(on, await on.call()))["threshold"] == {"max_inline_chars": 5}


@pytest.mark.parametrize("word", ["never_persist", "ref_only"])
@run_async
async def test_a_strategy_can_stand_where_a_reference_to_a_policy_does(word: str) -> None:
    """AT-224: `persistence_policy_ref` of contract and interface."""
    for part in ("output_contract", "interface"):
        said: dict[str, Any] = {part: {"persistence_policy_ref": word}}
        async with result_scene(TEXT, make_tool(**said)) as on:
            assert (await on.persistence(await on.call()))[0]["strategy"] == word


@pytest.mark.parametrize("rules", [[7], [{"pattern": "("}], 7, [{}], [""]])
@run_async
async def test_rules_nobody_can_read_withhold_everything(rules: Any) -> None:
    """AT-233: fail closed."""
    async with result_scene("marker", make_tool(output_contract={"redaction_rules": rules})) as on:
        result = await on.call()
        assert result.status == "redacted"
        assert "marker" not in str(result)
