"""The whole story of one call, from its rows alone (AT-143, AT-252): who, what, why, how long, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from ferrule.ledger.history.details import attempts_of, json_of, milliseconds
from ferrule.ledger.history.order import Entered, steps_of
from ferrule.ledger.history.story_parts import (
    Difference,
    PhaseRun,
    answer_record,
    attempt_record,
    differences,
    hook_record,
    mutation_records,
    phase_runs,
    request_record,
    who_and_what,
)
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.decision import Decision
from ferrule.model.failure import ToolError
from ferrule.model.journal import Header, HookRun, Kind, Mutation, ResultPayload, Segment, StoredEntry, header_of
from ferrule.model.lifecycle import TERMINAL, State
from ferrule.model.news import Cancellation, Fact, LateResult, cancellations, facts_of, late_results, progress_records
from ferrule.model.retry import Attempt
from ferrule.model.timestamps import iso

_NOTED = (
    "scheduler",
    "batch",
    "abort_reason",
    "persistence",
    "redactions",
    "context_modifiers",
    "cache",
    "native_refs",
)
"""Notes of which the story is told as they are."""
_WHENCE = ("native_call_id", "retry_of", "parent", "trace_id")
_LISTS = frozenset({"attempts", "redactions", "context_modifiers", "native_refs"})
INPUTS = ("model_input", "observable_input", "permission_input", "call_input")


class InputView(msgspec.Struct, frozen=True):
    """One of the four inputs, sensitive members masked."""

    name: str
    value: Any
    differences: tuple[Difference, ...] = ()
    """From the input before it."""


class Move(msgspec.Struct, frozen=True):
    """One change of state."""

    before: State | None
    state: State
    at: int
    """Microseconds since 1970."""


class RowNote(msgspec.Struct, frozen=True):
    """One row of the ledger."""

    seq: int
    kind: Kind
    at: int
    outcome: str
    hash: str
    """Its place in the chain: covers the row and every row before it."""
    is_erased: bool


class RuleNote(msgspec.Struct, frozen=True):
    """One rule of the policy, and whether it applied."""

    rule_ref: str
    behavior: str
    source: str
    is_matched: bool
    why: str
    """What made it match, or the first thing that did not fit."""


class Considered(msgspec.Struct, frozen=True):
    """What the policy says about its rules and one call."""

    rules: tuple[RuleNote, ...] = ()
    remark: str = ""
    """What to know about them: the policy has changed since, the tool is gone."""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the ledger knows about one call."""

    invocation_id: str
    header: Header
    status: str
    """The state it is in."""
    created_at: int
    ended_at: int | None
    result_status: str
    error: ToolError | None
    result: ResultPayload | None
    """None while there is none, and when it was erased."""
    inputs: tuple[InputView, ...]
    is_erased: bool
    """True when inputs or result were destroyed."""
    mutations: tuple[Mutation, ...]
    hooks: tuple[HookRun, ...]
    decisions: tuple[Decision, ...]
    considered: Considered
    """Rules of the policy as it is now, matched or not; empty when nobody asked it."""
    requests: tuple[ApprovalRequest, ...]
    answers: tuple[Answer, ...]
    phases: tuple[PhaseRun, ...]
    moves: tuple[Move, ...]
    notes: dict[str, Any]
    rows: tuple[RowNote, ...]
    """Its rows in the ledger, its news among them."""
    progress: tuple[dict[str, Any], ...] = ()
    """The standard's `tool_progress` records."""
    cancellations: tuple[Cancellation, ...] = ()
    late_results: tuple[LateResult, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    """Those that failed and were followed by another."""
    delegations: tuple[dict[str, Any], ...] = ()
    """Of a task: who handed it on to whom, when and why."""
    reminders: tuple[int, ...] = ()
    """Of a task: when people were told again, in microseconds since 1970."""

    @property
    def duration_ms(self) -> float | None:
        """From planning to the end; None while it goes on."""
        return None if self.ended_at is None else milliseconds((self.ended_at - self.created_at) * 1000)

    @property
    def final_input(self) -> Any:
        """What ran, or would have; None when it was erased."""
        return self.inputs[-1].value if self.inputs else None

    def to_record(self) -> dict[str, Any]:
        """As JSON; see docs/guide/events-and-explain.md."""
        return {
            "invocation_id": self.invocation_id,
            "status": self.status,
            "created_at": iso(self.created_at),
            "ended_at": None if self.ended_at is None else iso(self.ended_at),
            "duration_ms": self.duration_ms,
            **who_and_what(self.header),
            **{name: self.notes[name] for name in _WHENCE if name in self.notes},
            "inputs": [msgspec.to_builtins(view) for view in self.inputs],
            "is_erased": self.is_erased,
            "mutations": mutation_records(self.mutations, self.invocation_id, self.created_at),
            "hooks": [hook_record(run, self.invocation_id, self.header.tool_id, self.created_at) for run in self.hooks],
            "decisions": [made.to_record(self.invocation_id, number) for number, made in enumerate(self.decisions)],
            "rules": [msgspec.to_builtins(rule) for rule in self.considered.rules],
            "rules_remark": self.considered.remark,
            "requests": [request_record(request) for request in self.requests],
            "answers": [answer_record(answer) for answer in self.answers],
            "phases": [run.to_record() for run in self.phases],
            "transitions": [{"from": move.before, "to": move.state, "at": iso(move.at)} for move in self.moves],
            "result": self._result_record(),
            "rows": [{**msgspec.to_builtins(row), "at": iso(row.at)} for row in self.rows],
            "progress": list(self.progress),
            "cancellations": [one.to_record() for one in self.cancellations],
            "late_results": [late.to_record() for late in self.late_results],
            "attempts": [attempt_record(attempt) for attempt in self.attempts],
            "delegations": list(self.delegations),
            "reminders": [iso(at) for at in self.reminders],
            **{name: self.notes[name] for name in _NOTED if self.notes.get(name)},
        }

    def _result_record(self) -> dict[str, Any] | None:
        if not self.result_status:
            return None
        record: dict[str, Any] = {"status": self.result_status}
        if self.error is not None:
            record["error"] = msgspec.to_builtins(self.error)
        if self.result is not None:
            record["content"] = list(self.result.content)
            record["structured_content"] = self.result.structured_content
            if self.result.model_facing_content is not None:
                record["model_facing_content"] = list(self.result.model_facing_content)
            record.update(self.result.rest)
        return record


Rules: TypeAlias = Callable[[Story], Considered]
"""Asks the policy which of its rules apply to a call."""
_decode_result = msgspec.msgpack.Decoder(ResultPayload).decode


def story_of(rows: Sequence[StoredEntry], news: Sequence[StoredEntry] = (), *, rules: Rules | None = None) -> Story:
    """The story of one call, from all its rows in order and its news. Raises ValueError without rows."""
    if not rows:
        raise ValueError("a call without rows has no story")
    segments = [row.segment() for row in rows]
    last, moves = segments[-1], _moves(rows, segments)
    status = moves[-1].state if moves else rows[-1].outcome
    ended_at = moves[-1].at if moves and status in TERMINAL else None
    facts, notes = facts_of(segments, news), _notes(segments)
    story = Story(
        invocation_id=rows[0].call,
        header=header_of(segments[0]),
        status=status,
        created_at=segments[0].created_at,
        ended_at=ended_at,
        result_status=last.status,
        error=last.error,
        result=_result(rows[-1]),
        inputs=_inputs(rows),
        is_erased=any(row.is_erased for row in rows),
        mutations=tuple(mutation for segment in segments for mutation in segment.mutations),
        hooks=tuple(run for segment in segments for run in segment.hooks),
        decisions=tuple(decision for segment in segments for decision in segment.decisions),
        considered=Considered(),
        requests=tuple(segment.request for segment in segments if segment.request is not None),
        answers=tuple(segment.answer for segment in segments if segment.answer is not None),
        phases=phase_runs(rows, segments),
        moves=moves,
        notes=notes,
        rows=tuple(_note(row) for row in sorted([*rows, *news], key=lambda row: row.seq)),
        progress=tuple(progress_records(rows[0].call, facts)),
        cancellations=tuple(cancellations(facts, status, ended_at)),
        late_results=tuple(late_results(news)),
        attempts=attempts_of(notes),
        delegations=tuple(_delegation(fact) for fact in facts if fact.event == "tool.invocation.delegated"),
        reminders=tuple(fact.at for fact in facts if fact.event == "tool.invocation.reminded"),
    )
    return story if rules is None else msgspec.structs.replace(story, considered=rules(story))


def _delegation(fact: Fact) -> dict[str, Any]:
    return {"at": iso(fact.at), **{name: fact.data.get(name) for name in ("by", "to", "reason")}}


def _notes(segments: Sequence[Segment]) -> dict[str, Any]:
    """What is rare, as it was last. A list begins again when a call goes on in another process; the story has all of it."""
    notes: dict[str, Any] = {}
    for segment in segments:
        for name, value in segment.notes.items():
            before = notes.get(name)
            if name in _LISTS and isinstance(before, list) and isinstance(value, list):
                notes[name] = value if value[: len(before)] == before else [*before, *value]
            else:
                notes[name] = value
    return notes


def _moves(rows: Sequence[StoredEntry], segments: Sequence[Segment]) -> tuple[Move, ...]:
    moves: list[Move] = []
    for row, segment in zip(rows, segments, strict=True):
        for step in steps_of(row, segment):
            if isinstance(step.fact, Entered):
                before = moves[-1] if moves else None
                at = max(segment.created_at + step.at // 1000, before.at if before else 0)
                moves.append(Move(before.state if before else None, step.fact.state, at))
    return tuple(moves)


def _inputs(rows: Sequence[StoredEntry]) -> tuple[InputView, ...]:
    """The four inputs as they were last. None in a payload means "as the one before"."""
    found: dict[str, bytes] = {}
    for row in rows:
        payload = row.inputs()
        current: bytes | None = None
        for name in INPUTS if payload is not None else ():
            current = getattr(payload, name) or current
            if current is not None:
                found[name] = current
    values = [(name, json_of(found[name])) for name in INPUTS if name in found]
    befores = [values[0][1], *(value for _, value in values)] if values else []
    return tuple(
        InputView(name, value, differences(before, value))
        for (name, value), before in zip(values, befores, strict=False)
    )


def _result(row: StoredEntry) -> ResultPayload | None:
    payload = row.inputs()
    return None if payload is None or payload.result is None else _decode_result(payload.result)


def _note(row: StoredEntry) -> RowNote:
    return RowNote(row.seq, row.kind, row.at, row.outcome, row.hash.hex(), row.is_erased)
