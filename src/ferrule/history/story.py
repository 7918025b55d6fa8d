"""The whole story of one call, from its rows alone (AT-143, AT-252): who, what, why, how long, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from ferrule.history.details import json_of, milliseconds
from ferrule.history.differences import Difference, differences
from ferrule.history.order import Entered, steps_of
from ferrule.history.timing import PhaseRun, phase_runs
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.decision import Decision
from ferrule.model.failure import ToolError
from ferrule.model.journal import Header, HookRun, Kind, Mutation, ResultPayload, Segment, StoredEntry, header_of
from ferrule.model.lifecycle import TERMINAL, State
from ferrule.model.timestamps import iso

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
            **_who_and_what(self.header),
            **{name: self.notes[name] for name in ("native_call_id", "retry_of") if name in self.notes},
            "inputs": [msgspec.to_builtins(view) for view in self.inputs],
            "is_erased": self.is_erased,
            "mutations": [_mutation(mutation) for mutation in self.mutations],
            "hooks": [_hook(run) for run in self.hooks],
            "decisions": [made.to_record(self.invocation_id, number) for number, made in enumerate(self.decisions)],
            "rules": [msgspec.to_builtins(rule) for rule in self.considered.rules],
            "rules_remark": self.considered.remark,
            "requests": [_request(request) for request in self.requests],
            "answers": [_answer(answer) for answer in self.answers],
            "phases": [run.to_record() for run in self.phases],
            "transitions": [{"from": move.before, "to": move.state, "at": iso(move.at)} for move in self.moves],
            "result": self._result_record(),
            "rows": [{**msgspec.to_builtins(row), "at": iso(row.at)} for row in self.rows],
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
            record.update(self.result.rest)
        return record


Rules: TypeAlias = Callable[[Story], Considered]
"""Asks the policy which of its rules apply to a call."""
_decode_result = msgspec.msgpack.Decoder(ResultPayload).decode


def story_of(rows: Sequence[StoredEntry], *, rules: Rules | None = None) -> Story:
    """The story of one call, from all its rows in order. Raises ValueError without rows."""
    if not rows:
        raise ValueError("a call without rows has no story")
    segments = [row.segment() for row in rows]
    last, moves = segments[-1], _moves(rows, segments)
    status = moves[-1].state if moves else rows[-1].outcome
    story = Story(
        invocation_id=rows[0].call,
        header=header_of(segments[0]),
        status=status,
        created_at=segments[0].created_at,
        ended_at=moves[-1].at if status in TERMINAL else None,
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
        notes={name: value for segment in segments for name, value in segment.notes.items()},
        rows=tuple(_note(row) for row in rows),
    )
    return story if rules is None else msgspec.structs.replace(story, considered=rules(story))


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


def _who_and_what(header: Header) -> dict[str, Any]:
    names = (
        "tool_id", "tool_name", "tool_version", "tool_digest", "namespace", "dialect", "is_read_only", "principal",
        "agent", "channel", "tenant", "run_id", "surface_id", "catalog_digest", "policy_digest",
    )  # fmt: skip
    return {name: getattr(header, name) for name in names}


def _mutation(mutation: Mutation) -> dict[str, Any]:
    record = msgspec.structs.asdict(mutation)
    at = record.pop("at")
    return {**record, "changed_fields": list(mutation.changed_fields), "after_ms": milliseconds(at)}


def _hook(run: HookRun) -> dict[str, Any]:
    return {
        "hook_id": run.hook_id,
        "hook_event": run.hook_event,
        "after_ms": milliseconds(run.started),
        "duration_ms": milliseconds(run.ended - run.started),
        "outputs": list(run.outputs),
    }


def _request(request: ApprovalRequest) -> dict[str, Any]:
    record: dict[str, Any] = msgspec.to_builtins(request)
    for name in ("binding", "seal"):  # proofs for the inbox, of no use to a reader
        record.pop(name, None)
    return {**record, "requested_at": iso(request.requested_at), "expires_at": iso(request.expires_at)}


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "verdict": answer.verdict,
        "by": answer.by,
        "channel": answer.channel,
        "answered_at": iso(answer.answered_at),
        "reason": answer.reason,
    }
