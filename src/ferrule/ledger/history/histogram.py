"""Histograms of durations: counts in buckets whose bounds grow by four percent.

A percentile is within two percent of the true one, whatever the range, and two histograms can be merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, exp, log

_STEP = log(1.04)


def find_bucket(value: float) -> int:
    """Returns the bucket of a number."""
    return 0 if value < 1 else 1 + int(log(value) / _STEP)


class Histogram:
    """Numbers from 0 on. What is below 1 counts as 0."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        """How many by bucket; only those that have any."""
        self.total = 0

    def add(self, value: float) -> None:
        """Counts one value."""
        self.add_to(find_bucket(value))

    def add_to(self, bucket: int) -> None:
        """Counts one value whose bucket is known."""
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.total += 1

    def percentile(self, share: float) -> float | None:
        """Returns the number that this share of all is not above (nearest rank); None when there is none."""
        if not self.total:
            return None
        rank = max(1, ceil(share * self.total))
        for bucket in sorted(self.counts):
            rank -= self.counts[bucket]
            if rank <= 0:
                return 0.0 if bucket == 0 else exp((bucket - 0.5) * _STEP)
        raise AssertionError("the counts do not add up")


def merge_histograms(histograms: Iterable[Histogram]) -> Histogram:
    """Merges histograms into one."""
    whole = Histogram()
    for one in histograms:
        whole.total += one.total
        for bucket, count in one.counts.items():
            whole.counts[bucket] = whole.counts.get(bucket, 0) + count
    return whole
