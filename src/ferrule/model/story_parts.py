"""Parts of a call's story: how long each phase took, how one input differs from another, and records as JSON.

`story` joins them. Pure functions over segments and JSON values; they do not know rows of other calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.journal import Header, HookRun, Mutation, Segment, StoredEntry, phase_times
from ferrule.model.lifecycle import PHASES, Phase
from ferrule.model.result import SCHEMA_VERSION
from ferrule.model.retry import Attempt
from ferrule.model.timestamps import iso, milliseconds
from ferrule.model.value import MISSING, JsonObject


def who_and_what(header: Header) -> JsonObject:
    """Returns who called which tool, through what."""
    names = (
        "tool_id", "tool_name", "tool_version", "tool_digest", "namespace", "dialect", "is_read_only", "principal",
        "agent", "channel", "tenant", "run_id", "surface_id", "catalog_digest", "policy_digest",
    )  # fmt: skip
    return {name: getattr(header, name) for name in names}


def mutation_records(mutations: Sequence[Mutation], invocation_id: str, created_at: int) -> list[JsonObject]:
    """Returns the changes of an input as the standard's records, each referring to the result of the one before
    (AT-150, AT-151)."""
    stem, records = invocation_id.replace("inv_", "mut_", 1), []
    names = _inputs_between(mutations)
    for number, mutation in enumerate(mutations):
        record = msgspec.structs.asdict(mutation)
        at = record.pop("at")
        records.append(
            {
                "schema_version": SCHEMA_VERSION,
                "mutation_id": f"{stem}.{number}",
                "invocation_id": invocation_id,
                **record,
                "changed_fields": list(mutation.changed_fields),
                "from_input_ref": f"{invocation_id}/{names[number]}",
                "to_input_ref": f"{invocation_id}/{names[number + 1]}",
                "created_at": iso(created_at + at // 1000),
                "after_ms": milliseconds(at),
            }
        )
    return records


def _inputs_between(mutations: Sequence[Mutation]) -> list[str]:
    """Names the input before, between and after its changes: the input a person was asked about has a name of its own,
    an input between two hooks has a number."""
    names: list[str] = []
    for number, mutation in enumerate(mutations):
        is_own = number == 0 or (mutation.from_input == "permission_input" and mutation.from_input not in names)
        names.append(mutation.from_input if is_own else f"input.{number}")
    return [*names, "call_input"]


def attempt_record(attempt: Attempt) -> JsonObject:
    """Returns the record of an attempt that failed and was followed by another."""
    record = attempt.to_record()
    started, ended = record.pop("started"), record.pop("ended")
    return {**record, "after_ms": milliseconds(started), "duration_ms": milliseconds(ended - started)}


def hook_record(run: HookRun, invocation_id: str, tool_id: str, created_at: int) -> JsonObject:
    """Returns the record of a hook's run."""
    return {
        **run.to_record(invocation_id, tool_id, created_at),
        "after_ms": milliseconds(run.started),
        "duration_ms": milliseconds(run.ended - run.started),
    }


def request_record(request: ApprovalRequest) -> JsonObject:
    """Returns the record of a question to a person."""
    record: dict[str, Any] = msgspec.to_builtins(request)
    for name in ("binding", "seal"):  # proofs for the inbox, of no use to a reader
        record.pop(name, None)
    return {**record, "requested_at": iso(request.requested_at), "expires_at": iso(request.expires_at)}


def answer_record(answer: Answer) -> JsonObject:
    """Returns the record of a person's answer."""
    return {
        "verdict": answer.verdict,
        "by": answer.by,
        "channel": answer.channel,
        "answered_at": iso(answer.answered_at),
        "reason": answer.reason,
    }


class PhaseRun(msgspec.Struct, frozen=True):
    """One run of a phase; a call that waited goes through some phases twice."""

    phase: Phase
    is_run: bool
    end: int = 0
    """Nanoseconds since the call was planned."""
    duration: int | None = None
    """Nanoseconds; None for the first phase after a wait, whose beginning nobody recorded."""

    def to_record(self) -> JsonObject:
        """Returns it as JSON."""
        record: dict[str, Any] = {"phase": self.phase, "ran": self.is_run}
        if self.is_run:
            record["ended_after_ms"] = milliseconds(self.end)
            record["duration_ms"] = None if self.duration is None else milliseconds(self.duration)
        return record


def phase_runs(rows: Sequence[StoredEntry], segments: Sequence[Segment]) -> tuple[PhaseRun, ...]:
    """Lists every run of a phase in order; phases that did not run are placed where they would have."""
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


class FieldDifference(msgspec.Struct, frozen=True):
    """One field that differs."""

    path: str
    """Dotted, from the top; `$` is the whole value."""
    kind: str
    """`added`, `removed` or `changed`."""
    before: Any = None
    after: Any = None


def differences(before: object, after: object) -> tuple[FieldDifference, ...]:
    """Lists every field that differs, in the order of `before`, added ones after the others of their object.

    It keeps a list of what is left to compare and does not call itself, so values may be nested as deep as they like.
    """
    found: list[FieldDifference] = []
    left: list[tuple[str, Any, Any]] = [("", before, after)]
    while left:
        path, old, new = left.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            left.extend(reversed(_pairs_of_members(old, new, path)))
        elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            left.extend((f"{path}[{number}]", old[number], new[number]) for number in reversed(range(len(old))))
        elif old is MISSING:
            found.append(FieldDifference(path, "added", after=new))
        elif new is MISSING:
            found.append(FieldDifference(path, "removed", before=old))
        # To Python 1, 1.0 and True are equal; on record they differ.
        elif old != new or type(old) is not type(new):
            found.append(FieldDifference(path or "$", "changed", old, new))
    return tuple(found)


def _pairs_of_members(before: JsonObject, after: JsonObject, path: str) -> list[tuple[str, Any, Any]]:
    """Pairs the members of two objects, each with its path; `MISSING` stands for one that an object lacks."""
    names = [*before, *(name for name in after if name not in before)]
    return [(f"{path}.{name}" if path else name, before.get(name, MISSING), after.get(name, MISSING)) for name in names]
