"""MCP's official conformance suite against our server, in every revision and with the Tasks extension.

`make conformance` does the same and prints the totals.
"""

from __future__ import annotations

import pytest
from scripts.conformance import RUNS, Check, NoSuite, fixture_server, judged, run_suite, suite

from tests.services import missing


@pytest.mark.parametrize("run", RUNS)
def test_every_check_of_the_official_suite_passes(run: str) -> None:
    try:
        command = suite()
    except NoSuite as error:
        missing("node", f"the suite needs npm and its registry: {error}")
    with fixture_server() as url:
        report = judged(run_suite(command, url, run))
    assert not report.problems, "\n".join([*report.totals(), *report.problems])


def test_what_did_not_pass_and_is_not_expected_is_a_problem() -> None:
    checks = [Check("2026-07-28", "ping", f"check-{n}", "SUCCESS", "") for n in range(200)]
    assert judged(checks).problems == []
    (problem,) = judged([*checks, Check("2026-07-28", "ping", "x", "WARNING", "why")]).problems
    assert problem.startswith("WARNING 2026-07-28 / ping / x")
    assert "why" in problem
    (fewer,) = judged(checks[:5]).problems
    assert fewer.startswith("2026-07-28: 5 checks passed, and")
