"""Percentiles without keeping every number."""

from __future__ import annotations

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from ferrule.ledger.history.histogram import Histogram, merge_histograms

numbers = st.lists(st.floats(min_value=1, max_value=1e12), min_size=1, max_size=200)


def histogram_of(values: list[float]) -> Histogram:
    made = Histogram()
    for value in values:
        made.add(value)
    return made


@given(numbers, st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_a_percentile_is_within_two_percent_of_the_true_one(values: list[float], share: float) -> None:
    true = sorted(values)[ceil(share * len(values)) - 1]
    found = histogram_of(values).percentile(share)
    assert found is not None
    assert abs(found - true) <= 0.0201 * true


@given(numbers, numbers)
def test_two_histograms_together_are_one_of_all_numbers(some: list[float], others: list[float]) -> None:
    whole, joined = histogram_of(some + others), merge_histograms([histogram_of(some), histogram_of(others)])
    assert (joined.counts, joined.total) == (whole.counts, whole.total)


def test_nothing_has_no_percentile_and_what_took_no_time_is_zero() -> None:
    assert Histogram().percentile(0.5) is None
    assert histogram_of([0, 0.2]).percentile(0.99) == 0
