"""Reads the rows of one call into its story (AT-143, AT-252): who, what, why, how long, and how it ended.

The one reader of a call's rows: explanations, records, lists, the inbox, reviews and exports use it. Each part is
computed on first use, so a line in a list costs no more than what it shows. It knows rows and nothing that stores them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.decision import Decision
from ferrule.model.failure import ToolError
from ferrule.model.journal import (
    Header,
    HookRun,
    Mutation,
    ResultPayload,
    Segment,
    StoredEntry,
    header_of,
    state_times,
)
from ferrule.model.lifecycle import STARTS, TERMINAL, TRANSITIONS, State
from ferrule.model.news import (
    CancellationNews,
    Fact,
    LateResult,
    cancellations,
    facts_of,
    late_results,
    progress_records,
)
from ferrule.model.retry import Attempt, attempts_in
from ferrule.model.story_parts import (
    FieldDifference,
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
from ferrule.model.timestamps import iso, milliseconds
from ferrule.model.value import JsonObject, json_or_text

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
"""Notes that the story contains as they are."""
_ORIGIN_NOTES = ("native_call_id", "retry_of", "parent", "trace_id")
_LISTS = frozenset({"attempts", "redactions", "context_modifiers", "native_refs"})
_FIRST = STARTS | TRANSITIONS["planned"]
"""States that rows begin with; that a call was planned goes without saying."""
INPUTS = ("model_input", "observable_input", "permission_input", "call_input")


class InputView(msgspec.Struct, frozen=True):
    """One of the four inputs, sensitive members masked."""

    name: str
    value: Any
    differences: tuple[FieldDifference, ...] = ()
    """From the input before it."""


class Move(msgspec.Struct, frozen=True):
    """One change of state."""

    before: State | None
    state: State
    at: int
    """Microseconds since 1970."""
    reason: str = ""
    """The question, the approver, or the code of the error, where it ended with one."""


class RuleNote(msgspec.Struct, frozen=True):
    """One rule of the policy, and whether it applied."""

    rule_ref: str
    behavior: str
    source: str
    is_matched: bool
    why: str
    """What made it match, or the first thing that did not fit."""


class RuleReview(msgspec.Struct, frozen=True):
    """The policy's rules as they apply to one call."""

    rules: tuple[RuleNote, ...] = ()
    remark: str = ""
    """A remark on the rules: the policy has changed since, the tool is gone."""
    verdict: str = ""
    """The verdict on the call now: `allow`, `ask`, `deny` or `blocked`; empty where that is not known."""


T = TypeVar("T")


class _Part(Generic[T]):
    """A part of a story, computed on first use and cached. `functools.cached_property` takes a lock each time on
    Python 3.11, which costs more than most parts do."""

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    def __get__(self, story: Story, owner: type[Story]) -> T:
        found: T = self._work_out(story)
        story.__dict__[self._name] = found
        return found


class Story:
    """Everything the ledger knows about one call."""

    def __init__(
        self,
        rows: Sequence[StoredEntry],
        news: Sequence[StoredEntry] = (),
        considered: RuleReview = RuleReview(),  # noqa: B008  # frozen
    ) -> None:
        """Takes `rows`: all of the call, in order; `news`: its `news` rows; `considered`: the rules of the current
        policy, matched or not, where they were requested. Raises ValueError without rows."""
        if not rows:
            raise ValueError("a call without rows has no story")
        self.rows = tuple(rows)
        self.news = tuple(news)
        self.considered = considered

    @property
    def invocation_id(self) -> str:
        """The id of the call."""
        return self.rows[0].call

    @_Part
    def segments(self) -> tuple[Segment, ...]:
        """Decodes the body of each row. Raises LedgerDamaged."""
        return tuple(row.segment() for row in self.rows)

    @_Part
    def header(self) -> Header:
        """Decodes the header: who called which tool, through what."""
        return header_of(self.segments[0])

    @property
    def created_at(self) -> int:
        """When it was planned: microseconds since 1970."""
        return self.segments[0].created_at

    @_Part
    def states(self) -> tuple[tuple[State, int], ...]:
        """Lists the states that its rows name, each with the time it was entered: nanoseconds since it was planned."""
        return tuple(pair for segment in self.segments for pair in state_times(segment))

    @_Part
    def moves(self) -> tuple[Move, ...]:
        """Lists every change of state; times never go back (AT-97)."""
        moves: list[Move] = []
        before: State | None = None
        latest = self.created_at
        for segment in self.segments:
            for state, entered in state_times(segment):
                if before is None and state != "planned" and state in _FIRST:
                    before = "planned"
                    moves.append(Move(None, "planned", latest))
                latest = max(latest, self.created_at + entered // 1000)
                moves.append(Move(before, state, latest, _reason(state, segment)))
                before = state
        return tuple(moves)

    @property
    def status(self) -> str:
        """The state it is in."""
        return self.moves[-1].state if self.moves else self.rows[-1].outcome

    @property
    def ended_at(self) -> int | None:
        """When it ended; None while it goes on."""
        return self.moves[-1].at if self.moves and self.status in TERMINAL else None

    @property
    def result_status(self) -> str:
        """Of its result; empty while there is none."""
        return self.segments[-1].status

    @property
    def error(self) -> ToolError | None:
        """What went wrong."""
        return self.segments[-1].error

    @_Part
    def result(self) -> ResultPayload | None:
        """Decodes its result; None while there is none, and when it was erased."""
        payload = self.rows[-1].inputs()
        return None if payload is None or payload.result is None else _decode_result(payload.result)

    @_Part
    def input_values(self) -> JsonObject:
        """Returns the last value of each of the four inputs, by name. None in a payload means "as the one before"."""
        found: dict[str, bytes] = {}
        for row in self.rows:
            payload = row.inputs()
            current: bytes | None = None
            for name in INPUTS if payload is not None else ():
                current = getattr(payload, name) or current
                if current is not None:
                    found[name] = current
        return {name: json_or_text(found[name]) for name in INPUTS if name in found}

    @_Part
    def inputs(self) -> tuple[InputView, ...]:
        """Returns the same, each with its difference from the one before."""
        values = self.input_values
        befores = [*values.values()]
        return tuple(
            # Each beside the input before it; the first beside itself.
            InputView(name, value, differences(before, value))
            for (name, value), before in zip(values.items(), (*befores[:1], *befores), strict=False)
        )

    @property
    def is_erased(self) -> bool:
        """True when inputs or result were destroyed."""
        return any(row.is_erased for row in self.rows)

    @_Part
    def mutations(self) -> tuple[Mutation, ...]:
        """Lists the changes of its input."""
        return tuple(mutation for segment in self.segments for mutation in segment.mutations)

    @_Part
    def hooks(self) -> tuple[HookRun, ...]:
        """Lists the hooks that ran."""
        return tuple(run for segment in self.segments for run in segment.hooks)

    @_Part
    def decisions(self) -> tuple[Decision, ...]:
        """Lists its decisions, in order."""
        return tuple(decision for segment in self.segments for decision in segment.decisions)

    @_Part
    def requests(self) -> tuple[ApprovalRequest, ...]:
        """Lists the questions to people."""
        return tuple(segment.request for segment in self.segments if segment.request is not None)

    @_Part
    def answers(self) -> tuple[Answer, ...]:
        """Lists their answers."""
        return tuple(segment.answer for segment in self.segments if segment.answer is not None)

    @_Part
    def asking(self) -> int | None:
        """Returns the number of the last row that asked people or a channel outside; None when none did."""
        places = (place for place in reversed(range(len(self.rows))) if self.rows[place].kind in ("parked", "unknown"))
        return next(places, None)

    @property
    def answers_since(self) -> tuple[Answer, ...]:
        """The answers to what was asked last."""
        since = () if self.asking is None else self.segments[self.asking + 1 :]
        return tuple(segment.answer for segment in since if segment.answer is not None)

    @_Part
    def phases(self) -> tuple[PhaseRun, ...]:
        """Lists every run of a phase, and the phases that did not run."""
        return phase_runs(self.rows, self.segments)

    @_Part
    def notes(self) -> JsonObject:
        """Merges the rare facts; the last value wins. A list begins again when a call goes on in another process; the
        story joins the parts."""
        notes: dict[str, Any] = {}
        for segment in self.segments:
            for name, value in segment.notes.items():
                before = notes.get(name)
                if name in _LISTS and isinstance(before, list) and isinstance(value, list):
                    notes[name] = value if value[: len(before)] == before else [*before, *value]
                else:
                    notes[name] = value
        return notes

    @property
    def all_rows(self) -> tuple[StoredEntry, ...]:
        """Its rows and its news, in the order of the ledger."""
        return tuple(sorted([*self.rows, *self.news], key=lambda row: row.seq))

    @_Part
    def facts(self) -> list[Fact]:
        """Lists what a tool, a caller or a person reported while it ran."""
        return facts_of(self.segments, self.news)

    @_Part
    def progress(self) -> tuple[JsonObject, ...]:
        """Returns the standard's `tool_progress` records."""
        return tuple(progress_records(self.invocation_id, self.facts))

    @_Part
    def cancellations(self) -> tuple[CancellationNews, ...]:
        """Lists the requests to stop it, and their outcomes."""
        return tuple(cancellations(self.facts, self.status, self.ended_at))

    @_Part
    def late_results(self) -> tuple[LateResult, ...]:
        """Lists results that came after it was given up."""
        return tuple(late_results(self.news))

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Those that failed and were followed by another."""
        return attempts_in(self.notes)

    @property
    def delegations(self) -> tuple[JsonObject, ...]:
        """Of a task: who handed it on to whom, when and why."""
        return tuple(_delegation(fact) for fact in self.facts if fact.event == "tool.invocation.delegated")

    @property
    def reminders(self) -> tuple[int, ...]:
        """Of a task: when people were told again, in microseconds since 1970."""
        return tuple(fact.at for fact in self.facts if fact.event == "tool.invocation.reminded")

    @property
    def duration_ms(self) -> float | None:
        """From planning to the end; None while it goes on."""
        return None if self.ended_at is None else milliseconds((self.ended_at - self.created_at) * 1000)

    @property
    def final_input(self) -> Any:
        """What ran, or would have; None when it was erased."""
        return next(reversed(self.input_values.values()), None)

    def to_record(self) -> JsonObject:
        """Returns the story as JSON; see docs/guide/events-and-explain.md."""
        return {
            "invocation_id": self.invocation_id,
            "status": self.status,
            "created_at": iso(self.created_at),
            "ended_at": None if self.ended_at is None else iso(self.ended_at),
            "duration_ms": self.duration_ms,
            **who_and_what(self.header),
            **{name: self.notes[name] for name in _ORIGIN_NOTES if name in self.notes},
            "inputs": [msgspec.to_builtins(view) for view in self.inputs],
            "is_erased": self.is_erased,
            "mutations": mutation_records(self.mutations, self.invocation_id, self.created_at),
            "hooks": [hook_record(run, self.invocation_id, self.header.tool_id, self.created_at) for run in self.hooks],
            "decisions": [made.to_record(self.invocation_id, number) for number, made in enumerate(self.decisions)],
            "rules": [msgspec.to_builtins(rule) for rule in self.considered.rules],
            "rules_remark": self.considered.remark,
            "verdict_now": self.considered.verdict,
            "requests": [request_record(request) for request in self.requests],
            "answers": [answer_record(answer) for answer in self.answers],
            "phases": [run.to_record() for run in self.phases],
            "transitions": [{"from": move.before, "to": move.state, "at": iso(move.at)} for move in self.moves],
            "result": self._result_record(),
            "rows": [_row_record(row) for row in self.all_rows],
            "progress": list(self.progress),
            "cancellations": [one.to_record() for one in self.cancellations],
            "late_results": [late.to_record() for late in self.late_results],
            "attempts": [attempt_record(attempt) for attempt in self.attempts],
            "delegations": list(self.delegations),
            "reminders": [iso(at) for at in self.reminders],
            **{name: self.notes[name] for name in _NOTED if self.notes.get(name)},
        }

    def _result_record(self) -> JsonObject | None:
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


def _delegation(fact: Fact) -> JsonObject:
    return {"at": iso(fact.at), **{name: fact.data.get(name) for name in ("by", "to", "reason")}}


def _reason(state: State, segment: Segment) -> str:
    if state == "awaiting_approval" and segment.request is not None:
        return segment.request.message
    if state == "approved" and segment.answer is not None:
        return f"approved by {segment.answer.by}"
    if state in TERMINAL and segment.error is not None:
        return segment.error.error_code
    return ""


def _row_record(row: StoredEntry) -> JsonObject:
    """Returns one row as JSON. Its hash is its place in the chain: it covers the row and every row before it."""
    return {
        "seq": row.seq,
        "kind": row.kind,
        "at": iso(row.at),
        "outcome": row.outcome,
        "hash": row.hash.hex(),
        "is_erased": row.is_erased,
    }


_decode_result = msgspec.msgpack.Decoder(ResultPayload).decode
