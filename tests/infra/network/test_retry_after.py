"""How long a server wants to be left alone."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from ferrule.infra.network.retry_after import retry_after

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("1.5", 1.5),
        (formatdate(NOW + 30, usegmt=True), 30.0),
        (formatdate(NOW - 30, usegmt=True), 0.0),
        (formatdate(NOW + 30), 30.0),  # `-0000`
        ("", None),
        ("-5", None),
        ("soon", None),
        ("9" * 50, None),
        ("Tue, 99 Foo 2026 99:99:99 GMT", None),
        ("١٢", None),
    ],
)
def test_it_is_seconds_or_a_date(header: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": header}, lambda: NOW) == seconds


def test_a_date_counts_from_the_clock_of_whoever_wrote_it() -> None:
    said = {"retry-after": formatdate(NOW + 30, usegmt=True), "date": formatdate(NOW, usegmt=True)}
    assert retry_after(said, lambda: NOW + 20) == 30.0
    assert retry_after(said) == 30.0


def test_a_date_means_nothing_without_a_clock() -> None:
    assert retry_after({"retry-after": formatdate(NOW, usegmt=True)}) is None
    assert retry_after({"retry-after": "5"}) == 5.0
    assert retry_after({}) is None
