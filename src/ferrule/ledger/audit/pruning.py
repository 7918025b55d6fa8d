"""What a pruning may remove and what it leaves behind: the state of the removed rows, as the next pass needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ferrule.ledger.audit.anchor import Anchor
from ferrule.ledger.audit.walk import Walk


class Plan(NamedTuple):
    """What is to be recorded, and what goes."""

    anchor: Anchor
    dropped_runs: list[tuple[str, str]]
    """Counters nothing refers to any more."""


def plan(walk: Walk, keys: Sequence[tuple[Any, ...]], used: Callable[[str, str], int]) -> Plan:
    """The plan to remove the rows a walk went over. `keys`: those that stay; `used`: a run's counter now."""
    before = walk.anchor
    kept, dropped = _runs(walk, used)
    anchor = Anchor(
        ledger=walk.ledger,
        last=walk.last,
        hash=walk.before,
        count=walk.count + (before.count if before is not None else 0),
        first_at=before.first_at if before is not None else walk.first_at,
        last_at=walk.at,
        switches=[(tool, seq) for tool, seq in walk.tables.rows("switches")],
        runs=kept,
        keys=[(key[0], key[1], key[2], key[3]) for key in keys],
        open=[tuple(call) for call in walk.tables.rows("open_calls")],
        histories=dict(walk.histories.open),
        restored=list(walk.restored),
    )
    return Plan(anchor, dropped)


def _runs(walk: Walk, used: Callable[[str, str], int]) -> tuple[list[tuple[str, str, int]], list[tuple[str, str]]]:
    """Counters that went up after the removed rows stay; the others are forgotten with their calls."""
    kept, dropped = [], []
    for run, tool_id, count in walk.tables.rows("runs"):
        if used(run, tool_id) > count:
            kept.append((run, tool_id, count))
        else:
            dropped.append((run, tool_id))
    return kept, dropped
