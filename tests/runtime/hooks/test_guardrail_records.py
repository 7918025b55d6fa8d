"""The memory of runs that a fired guardrail blocked."""

from __future__ import annotations

from ferrule.runtime.hooks.guardrail_records import FiredRuns


def test_the_memory_of_runs_is_bounded_and_keeps_the_first() -> None:
    """AML-104"""
    fired = FiredRuns(2)
    for number in range(3):
        fired.mark(f"run_{number}", "a", "first")
        fired.mark(f"run_{number}", "b", "second")
    fired.mark("", "a")
    assert len(fired) == 2 and fired.find("run_0") is None
    assert fired.find("run_2") == ("a", "first")
