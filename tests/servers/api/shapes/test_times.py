"""Times in queries: what the document's pattern allows is what is taken, day by day."""

from __future__ import annotations

import re
from calendar import monthrange

import pytest

from ferrule.servers.api.openapi import build_openapi
from ferrule.servers.api.replies import Problem
from ferrule.servers.api.shapes import PATTERN, parse_moment

TAKING = {
    "/v1/invocations": {"since", "until"},
    "/v1/invocations/tally": {"since", "until"},
    "/v1/audit/export": {"since", "until"},
    "/v1/approvals/decided": {"since"},
}


def test_a_time_may_be_short_and_is_then_midnight_in_utc() -> None:
    noon = 1_769_860_800_000_000
    assert parse_moment("since", "2026-01-31") == noon - 12 * 3600 * 1_000_000
    for text in ("2026-01-31T12:00", "2026-01-31T12:00:00Z", "2026-01-31T13:30:00.000+01:30", "2026-01-31T00:01-11:59"):
        assert parse_moment("since", text) == noon
    assert parse_moment("since", "2026-01-31T12:00:00.000001999Z") == noon + 1
    assert parse_moment("since", None) is None


def test_the_pattern_has_every_day_of_the_calendar_and_no_other() -> None:
    taken = re.compile(PATTERN)
    for year in (1970, 1972, 1999, 2000, 2023, 2024, 2100, 2400, 3200, 3300, 9996, 9999):
        days = {
            f"{year}-{month:02}-{day + 1:02}" for month in range(1, 13) for day in range(monthrange(year, month)[1])
        }
        written = {f"{year}-{month:02}-{day:02}" for month in range(14) for day in range(33)}
        assert {text for text in written if taken.fullmatch(text)} == days


@pytest.mark.parametrize(
    "text",
    ["", "0", "yesterday", "1969-12-31", "2026-1-31", "20260131", "2026-W05-6", "2026-01-31T24:00", "2026-01-31T12:60",
     "2026-01-31T12", "2026-01-31 12:00", "2026-01-31T12:00:60Z", "2026-01-31T12:00:00+24:00", "2026-01-31\n",
     "2026-01-31T12:00:00.Z", "٢٠٢٦-01-31", "2026-01-31T12:00:00 02:00"],
)  # fmt: skip
def test_anything_else_is_told_what_is_taken(text: str) -> None:
    with pytest.raises(Problem, match="the parameter 'since' takes a time as RFC 3339 writes it"):
        parse_moment("since", text)


def test_the_ends_of_time_are_read() -> None:
    for text in ("1970-01-01T00:00+23:59", "9999-12-31T23:59:59.999999999-23:59"):
        assert isinstance(parse_moment("since", text), int)


def test_the_document_says_what_is_taken_wherever_there_is_a_time() -> None:
    found: dict[str, set[str]] = {}
    for path, operations in build_openapi()["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", ()):
            if parameter["name"] in ("since", "until"):
                assert parameter["schema"] == {"type": "string", "pattern": f"^{PATTERN}$"}
                found.setdefault(path, set()).add(parameter["name"])
    assert found == TAKING
