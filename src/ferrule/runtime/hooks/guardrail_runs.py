"""Runs whose input guardrail fired: agents that say `block_tools_on_input_fail` call nothing any more in them (AML-104).

The memory is the process's: every surface of it that shares the run's id is blocked. Other processes learn nothing of it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

RUNS_KEPT = 100_000
"""With one more, the oldest is forgotten."""


class Fired(NamedTuple):
    """What fired in a run, first."""

    guardrail_id: str
    reason: str


class FiredRuns:
    """Which runs are blocked. Safe from any thread."""

    def __init__(self, size: int = RUNS_KEPT) -> None:
        self._size = size
        self._runs: OrderedDict[str, Fired] = OrderedDict()
        self._lock = threading.Lock()

    def mark(self, run_id: str, guardrail_id: str, reason: str = "") -> None:
        """Say that a guardrail fired on the input of a run. The first one counts; nothing takes it back."""
        if not run_id:
            return
        with self._lock:
            self._runs.setdefault(run_id, Fired(guardrail_id, reason))
            self._runs.move_to_end(run_id)
            if len(self._runs) > self._size:
                self._runs.popitem(last=False)

    def of(self, run_id: str) -> Fired | None:
        """What fired in a run; None when nothing did."""
        return self._runs.get(run_id)

    def __len__(self) -> int:
        return len(self._runs)
