"""Judges the histories of calls row by row: legal states only, one end, and no run without a required approval.

It keeps only the calls that have not ended, so memory follows the open calls and not the length of the ledger. An
anchor is what a `pruned` row keeps of the rows that were removed: where the chain goes on, and the state they had led
to. `walk` feeds it. It does not know hashes.
"""

from __future__ import annotations

import unicodedata

import msgspec

from ferrule.contracts.ledger import RawRow
from ferrule.ledger.audit.findings import Findings
from ferrule.ledger.chain import ANSWERED, CALL, ENDED, PARKED, STARTED, UNKNOWN
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.journal import Segment
from ferrule.model.lifecycle import STARTS, STATES, TERMINAL, TRANSITIONS, State
from ferrule.model.value import JsonObject

_RUNNING = STATES.index("running")
_FIRST = STARTS | TRANSITIONS["planned"]
"""Every call begins as planned, which is not written down."""
_decode_segment = msgspec.msgpack.Decoder(Segment).decode


class _Brief(msgspec.Struct, gc=False, array_like=True):
    """The first fields of a `Segment`, read quickly; nearly every row needs no more."""

    header: msgspec.Raw
    created_at: int
    phases: msgspec.Raw
    states: list[int]


_decode_brief = msgspec.msgpack.Decoder(_Brief).decode


class History(msgspec.Struct, array_like=True):
    """The state of one open call."""

    state: State | None = None
    is_asked: bool = False
    """True once a person had to be asked."""
    request: ApprovalRequest | None = None
    """The latest question."""
    approvals: list[str] = []
    """The people who approved it as it stands."""
    binding: bytes = b""
    """The binding they approved; an edit voids earlier approvals."""
    is_rejected: bool = False


class Histories:
    """The open calls of the rows fed so far."""

    def __init__(self, findings: Findings, *, is_whole: bool = True) -> None:
        self.open: dict[str, History] = {}
        self._findings = findings
        self._is_whole = is_whole
        self._judged: dict[tuple[str, tuple[int, ...]], str] = {}
        """Whole histories met before, each with what is wrong with it. Few differ."""

    def feed(self, row: RawRow) -> None:
        """Judges the next row of a call."""
        if row.kind == CALL:
            self.feed_whole_call(row.seq, row.call, row.outcome, row.body)
        else:
            self._step(row)

    def feed_whole_call(self, seq: int, call: str, outcome: str, body: bytes) -> None:
        """Judges a call that is one row. Most are."""
        # The low five bits of a code are the state, the others its time.
        states = tuple([code & 31 for code in _decode_brief(body).states])
        problem = self._judged.get((outcome, states))
        if problem is None:
            problem = self._judged[outcome, states] = _find_whole_problem(states, outcome)
        if problem:
            self._findings.add("history", problem, seq, call)
        if call in self.open:
            del self.open[call]
            self._findings.add("history", "is recorded as one whole call, but has rows before", seq, call)
        # `\xa3ask` is the word "ask" in MessagePack: a cheap test before the whole segment is decoded.
        if b"\xa3ask" in body and _RUNNING in states and _has_ask(_decode_segment(body)):
            self._findings.add("approval", "it ran although a person had to be asked", seq, call)

    def _step(self, row: RawRow) -> None:
        segment = _decode_segment(row.body)
        history = self.open.get(row.call)
        if history is None:
            history = self._open_history(row)
        self._move(row, history, segment)
        self._note_request(row, history, segment)
        if row.kind == STARTED or any(code & 31 == _RUNNING for code in segment.states):
            self._check_approved(row, history)
        if row.kind == ENDED:
            self._close_history(row, history)

    def _open_history(self, row: RawRow) -> History:
        history = self.open[row.call] = History()
        if row.kind not in (PARKED, STARTED) and self._is_whole:
            self._report_history(row, "continues a call that has no rows before, or has ended")
        return history

    def _move(self, row: RawRow, history: History, segment: Segment) -> None:
        for code in segment.states:
            number = code & 31
            if number >= len(STATES):
                self._report_history(row, f"names state number {number}, which does not exist")
                continue
            new = STATES[number]
            legal = _FIRST if history.state is None else TRANSITIONS[history.state]
            if new not in legal and (history.state is not None or self._is_whole):
                self._report_history(row, f"goes from {history.state or 'the start'} to {new}, which is not legal")
            history.state = new

    def _note_request(self, row: RawRow, history: History, segment: Segment) -> None:
        history.is_asked = history.is_asked or _has_ask(segment)
        request = segment.request
        if request is not None and row.kind != UNKNOWN and request.purpose == "approval":
            history.is_asked, history.request = True, request
            history.approvals, history.binding, history.is_rejected = [], b"", False
        answer = segment.answer
        if row.kind == ANSWERED and answer is not None:
            self._note_answer(row, history, answer)

    def _note_answer(self, row: RawRow, history: History, answer: Answer) -> None:
        if answer.verdict == "reject":
            history.is_rejected = True
            return
        request = history.request
        if request is not None and history.state in ("awaiting_approval", "approved"):
            self._check_answer(row, request, answer)
        # An edit changes the binding, so it voids the approvals before it.
        if answer.binding != history.binding:
            history.binding, history.approvals = answer.binding, []
        if _normalize_person(answer.by) not in history.approvals:
            history.approvals.append(_normalize_person(answer.by))

    def _check_answer(self, row: RawRow, request: ApprovalRequest, answer: Answer) -> None:
        if answer.channel == request.channel and answer.channel not in request.requirement.channels:
            self._report_approval(row, f"was approved over {answer.channel!r}, the channel that made it")
        requesters = {_normalize_person(name) for name in (request.principal, request.holder) if name}
        if request.requirement.not_requester and _normalize_person(answer.by) in requesters:
            self._report_approval(row, f"was approved by {answer.by!r}, who asked for it and may not")
        if answer.answered_at > request.expires_at:
            self._report_approval(row, f"was approved by {answer.by!r} after the request had expired")

    def _check_approved(self, row: RawRow, history: History) -> None:
        if not history.is_asked:
            return
        needed = 1 if history.request is None else max(1, history.request.requirement.people)
        given = len(history.approvals)
        if history.is_rejected:
            self._report_approval(row, "it ran although a person had rejected it")
        elif given < needed:
            self._report_approval(row, f"it ran with {given} of {needed} approvals")

    def _close_history(self, row: RawRow, history: History) -> None:
        del self.open[row.call]
        if history.state not in TERMINAL and (history.state is not None or self._is_whole):
            self._report_history(row, f"ends a call in state {history.state or 'none'}, which is not an end")
        elif history.state is not None and row.outcome != history.state:
            self._report_history(row, f"says {row.outcome!r}, but the call went to {history.state}")

    def _report_history(self, row: RawRow, problem: str) -> None:
        self._findings.add("history", problem, row.seq, row.call)

    def _report_approval(self, row: RawRow, problem: str) -> None:
        self._findings.add("approval", problem, row.seq, row.call)


def _has_ask(segment: Segment) -> bool:
    return any(decision.ruling.behavior == "ask" for decision in segment.decisions)


def _normalize_person(name: str) -> str:
    """Returns a name in the form that identifies a person: `Ada` and `ada ` are one."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _find_whole_problem(states: tuple[int, ...], outcome: str) -> str:
    """Returns the problem of a call that is one row; empty when there is none."""
    before: State | None = None
    for number in states:
        if number >= len(STATES):
            return f"names state number {number}, which does not exist"
        new = STATES[number]
        if new not in (_FIRST if before is None else TRANSITIONS[before]):
            return f"goes from {before or 'the start'} to {new}, which is not legal"
        before = new
    if before not in TERMINAL:
        return f"is recorded as a whole call, but stops in state {before or 'none'}, which is not an end"
    return "" if outcome == before else f"says {outcome!r}, but the call went to {before}"


class RestoreRecord(msgspec.Struct, array_like=True):
    """A restore that gave up rows, as an `opened` row records it."""

    seq: int
    """The `opened` row."""
    at: int
    first: int
    """The first row number that was given up."""
    last: int | None
    """The last one; None when unknown."""


class Anchor(msgspec.Struct, kw_only=True):
    """The beginning of a pruned ledger."""

    ledger: str
    last: int
    """The last row that was removed."""
    hash: bytes
    """Its hash: the next row follows from it."""
    count: int
    """How many rows were removed, all prunings together."""
    first_at: int
    last_at: int
    switches: list[tuple[str, int]] = []
    """Tools that were off at that row."""
    runs: list[tuple[str, str, int]] = []
    """Counters of runs that went on after it. Those of others are gone."""
    keys: list[tuple[bytes, str, bytes, int]] = []
    """Idempotency keys of calls that went on after it. Those of others are gone."""
    open: list[tuple[str, str, str, str, str, str | None, str, int | None, int]] = []
    """Calls that were open at that row and have ended since, as the table of open calls had them."""
    histories: dict[str, History] = {}
    """Where they stood."""
    restored: list[RestoreRecord] = []


def to_facts(anchor: Anchor, **more: object) -> JsonObject:
    """Makes the body of a `pruned` row."""
    facts: JsonObject = msgspec.to_builtins(anchor, builtin_types=(bytes,))
    return facts | more


def from_facts(facts: JsonObject) -> Anchor:
    """Reads the anchor from the body of a `pruned` row. Raises msgspec.ValidationError."""
    return msgspec.convert(facts, Anchor)
