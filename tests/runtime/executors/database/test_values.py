"""Values of databases as JSON, without loss."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.runtime.executors.database.values import (
    Columns,
    convert_to,
    distinct_names,
    duration_text,
    parse_json,
    to_json,
)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, None),
        (True, True),
        (2**53, 2**53),
        (2**53 + 1, str(2**53 + 1)),
        (-(2**63), str(-(2**63))),
        (Decimal("1.10"), "1.10"),
        (Decimal("NaN"), "NaN"),
        (0.1, 0.1),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
        (b"\x00\xff", "AP8="),
        (datetime(2024, 5, 1, 10, tzinfo=UTC), "2024-05-01T10:00:00+00:00"),
        (date(2024, 5, 1), "2024-05-01"),
        (time(1, 2, 3, 4), "01:02:03.000004"),
        (timedelta(hours=-25, microseconds=-1), "-PT25H0.000001S"),
        (timedelta(0), "PT0S"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ([1, [b"a"]], [1, ["YQ=="]]),
        ({"a": Decimal(1)}, {"a": "1"}),
    ],
)
def test_each_type_has_one_form(value: Any, told: Any) -> None:
    assert to_json(value) == told


@given(st.timedeltas())
def test_a_span_of_time_keeps_every_microsecond(span: timedelta) -> None:
    text = duration_text(span)
    assert text.lstrip("-").startswith("PT")
    sign = -1 if text.startswith("-") else 1
    rest, total = text.lstrip("-")[2:], 0
    for unit, micros in (("H", 3_600_000_000), ("M", 60_000_000), ("S", 1_000_000)):
        if unit in rest:
            number, _, rest = rest.partition(unit)
            total += int(Decimal(number) * micros)
    assert sign * total == span // timedelta(microseconds=1)


def test_json_numbers_lose_no_digit() -> None:
    assert parse_json('{"a": 12345678901234567890, "b": 0.1, "c": 1.00000000000000000001, "d": 1e400}') == {
        "a": "12345678901234567890",
        "b": 0.1,
        "c": "1.00000000000000000001",
        "d": "1e400",
    }


@pytest.mark.parametrize(
    ("value", "kind", "told"),
    [
        ("12.50", "number", 12.5),
        ("12", "number", 12),
        ("0.1000000000000000000001", "number", "0.1000000000000000000001"),
        ("NaN", "number", "NaN"),
        ("18446744073709551615", "integer", 18446744073709551615),
        ("1.5", "integer", 1.5),
        (5, "string", "5"),
        (True, "string", True),
        (1, "boolean", True),
        (2, "boolean", 2),
        ('{"a":1}', "object", {"a": 1}),
        ("plain", "object", "plain"),
        ("[1]", "array", [1]),
    ],
)
def test_the_output_schema_gets_what_it_wants_where_nothing_is_lost(value: Any, kind: str, told: Any) -> None:
    found = convert_to(value, kind)
    assert found == told
    assert type(found) is type(told)


def test_columns_of_one_name_are_all_kept() -> None:
    assert distinct_names(["id", "id", "", "id"]) == ["id", "id_2", "column_3", "id_3"]
    assert Columns(["a", "a"], {}).rows([(1, 2)]) == [{"a": 1, "a_2": 2}]
