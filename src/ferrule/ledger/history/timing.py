"""How long each phase of a call took, and which did not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ferrule.ledger.history.details import milliseconds
from ferrule.model.journal import Segment, StoredEntry, phase_times
from ferrule.model.lifecycle import PHASES, Phase


class PhaseRun(msgspec.Struct, frozen=True):
    """One run of a phase; a call that waited goes through some phases twice."""

    phase: Phase
    is_run: bool
    end: int = 0
    """Nanoseconds since the call was planned."""
    duration: int | None = None
    """Nanoseconds; None for the first phase after a wait, whose beginning nobody recorded."""

    def to_record(self) -> dict[str, Any]:
        """As JSON."""
        record: dict[str, Any] = {"phase": self.phase, "ran": self.is_run}
        if self.is_run:
            record["ended_after_ms"] = milliseconds(self.end)
            record["duration_ms"] = None if self.duration is None else milliseconds(self.duration)
        return record


def phase_runs(rows: Sequence[StoredEntry], segments: Sequence[Segment]) -> tuple[PhaseRun, ...]:
    """Every run of a phase in order; those that did not run stand where they would have."""
    runs: list[PhaseRun] = []
    before: int | None = 0
    for row, segment in zip(rows, segments, strict=True):
        for phase, end in phase_times(segment):
            runs.append(PhaseRun(phase, True, end, None if before is None else max(0, end - before)))
            before = end
        if row.kind != "started":  # after any other row the call waited for somebody
            before = None
    return tuple(_with_gaps(runs))


def _with_gaps(runs: list[PhaseRun]) -> list[PhaseRun]:
    done = {run.phase for run in runs}
    for number, phase in enumerate(PHASES):
        if phase not in done:
            later = {*PHASES[number + 1 :]}
            place = next((at for at, run in enumerate(runs) if run.phase in later), len(runs))
            runs.insert(place, PhaseRun(phase, False))
    return runs
