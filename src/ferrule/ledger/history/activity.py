"""Counts the calls of the last hour, minute by minute as their rows come: how many, how they ended, how long they
took.

A call counts in the minute of its last row. Latency leaves out waiting for people, and calls that were refused before
they ran. Memory is bounded at any rate: times are histograms, and beyond a number of callers only totals are counted,
which the report says. Rows must come in the order of the ledger; `recent_activity.py` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from ferrule.ledger.history.histogram import Histogram, find_bucket, merge_histograms
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.journal import Header, StoredEntry
from ferrule.model.lifecycle import PHASES, STATES

MINUTE = 60_000_000
MINUTES = 60
"""How many are kept, the one that is not over included."""
SLOT = 5_000_000
SLOTS = 12
"""Shorter stretches, for the number of calls in the last minute."""
MOST_CELLS = 20_000
MOST_OPEN = 20_000
_MOST_HEADERS = 8_192
_MOST_TOOLS = 32
OTHER_TOOLS = ""
"""Stands for failing tools beyond that number."""

Ending = Literal["succeeded", "failed", "denied", "canceled"]
ENDINGS: dict[str, Ending] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "timed_out": "failed",
    "validation_failed": "failed",
    "schema_parse_failed": "failed",
    "denied": "denied",
    "blocked": "denied",
    "canceled": "canceled",
}
"""The ending that each last state counts as. A denial by a rule or a person is no failure."""
UNREACHED = frozenset({"dependency_unavailable", "timeout", "rate_limited"})
"""Failures that say something about the system behind a tool; others show that it answers."""
_EXECUTE = PHASES.index("execute")
_RUNNING = STATES.index("running")


class CallScope(NamedTuple):
    """The calls to count: all, those of a tenant, or those of one principal in it."""

    tenant: str | None = None
    principal: str | None = None


EVERYBODY = CallScope()


class Counts:
    """The calls of one scope in one minute, or in several merged."""

    __slots__ = ("answered", "canceled", "denied", "failed", "failing", "latency", "refused", "succeeded")

    def __init__(self) -> None:
        self.succeeded = 0
        self.failed = 0
        self.denied = 0
        self.canceled = 0
        self.latency = Histogram()
        """Latency of calls that ran and succeeded or failed, in microseconds; without waiting for people."""
        self.answered = Histogram()
        """How long people took to answer, in microseconds."""
        self.failing: dict[str, int] = {}
        """Failed calls by the name their tool was called by."""
        self.refused: dict[str, int] = {}
        """Denied calls in the same way: viewers who may not know the tool see them as failed (`hide_tools`)."""

    @property
    def calls(self) -> int:
        """The number of calls that ended."""
        return self.succeeded + self.failed + self.denied + self.canceled

    def count_call(self, ending: Ending, tool: str, bucket: int | None) -> None:
        """Counts one call. `bucket`: of its latency; None when it never ran."""
        if bucket is not None and ending in ("succeeded", "failed"):
            self.latency.add_to(bucket)
        if ending == "succeeded":
            self.succeeded += 1
        elif ending == "failed":
            self.failed += 1
            self._count_name(self.failing, tool)
        elif ending == "denied":
            self.denied += 1
            self._count_name(self.refused, tool)
        else:
            self.canceled += 1

    def _count_name(self, counts: dict[str, int], tool: str) -> None:
        """Counts a tool's name, up to a limit that does not depend on how its calls ended."""
        is_known = tool in self.failing or tool in self.refused
        is_room = is_known or len(self.failing.keys() | self.refused.keys()) < _MOST_TOOLS
        name = tool if is_room else OTHER_TOOLS
        counts[name] = counts.get(name, 0) + 1

    def hide_tools(self, is_hidden: Callable[[str], bool]) -> Counts:
        """Returns the counts for a viewer who may not know some tools: a denial would reveal that the tool exists, so
        such calls count as failed, like those of unknown tools. `is_hidden` takes the name of a tool."""
        # Calls counted together may be of a hidden tool, so all of them count as such.
        hidden = {name: calls for name, calls in self.refused.items() if name == OTHER_TOOLS or is_hidden(name)}
        if not hidden:
            return self
        # A copy, because the same counts serve viewers who may know these tools.
        visible = merge_counts([self])
        for name, calls in hidden.items():
            del visible.refused[name]
            visible.denied -= calls
            visible.failed += calls
            visible.failing[name] = visible.failing.get(name, 0) + calls
        return visible


class SystemCalls:
    """The calls that reached one system in one minute, or in several merged."""

    __slots__ = ("calls", "latency", "unreached")

    def __init__(self) -> None:
        self.calls = 0
        self.unreached = 0
        """Those that found it down, too slow or too busy."""
        self.latency = Histogram()
        """Latency of running alone, in microseconds."""


class ActivityReport(NamedTuple):
    """The calls of one scope in the last hour."""

    minutes: list[tuple[int, Counts]]
    """The last hour, the oldest first: when each minute began (microseconds since 1970), and its calls."""
    whole: Counts
    last_minute: int
    """Calls that ended in the last 55 to 60 seconds."""
    is_whole: bool
    """False when there were more callers than are counted apart, so that some of these calls are missing."""


class _Minute:
    __slots__ = ("cells", "is_cut", "systems")

    def __init__(self) -> None:
        self.cells: dict[CallScope, Counts] = {}
        self.systems: dict[str, SystemCalls] = {}
        self.is_cut = False


class _Glance(msgspec.Struct, array_like=True, gc=False):
    """A `Segment`, only as far as it is counted."""

    header: msgspec.Raw
    created_at: int
    phases: list[int]
    states: list[int]
    decisions: msgspec.Raw
    mutations: msgspec.Raw
    hooks: msgspec.Raw
    status: str
    error: msgspec.Raw
    request: msgspec.Raw
    answer: msgspec.Raw


class _ErrorGlance(msgspec.Struct, gc=False):
    error_class: str


class _CallOwner(NamedTuple):
    scopes: tuple[CallScope, ...]
    tool_id: str
    tool_name: str


class _Open:
    """The state of a call that has not ended."""

    __slots__ = ("asked_at", "ran_at", "waited", "waited_before", "waiting_since")

    def __init__(self) -> None:
        self.waiting_since: int | None = None
        """Nanoseconds since it was planned; None while it does not wait for a person."""
        self.asked_at: int | None = None
        """When a person was asked: microseconds since 1970."""
        self.waited = 0
        """For people so far."""
        self.ran_at: int | None = None
        self.waited_before = 0
        """How much of `waited` was before it ran."""

    def advance(self, row: StoredEntry, glance: _Glance) -> None:
        if self.waiting_since is not None and glance.states:
            # The low five bits of a code are the state, the others its time.
            self.waited += max(0, (glance.states[0] >> 5) - self.waiting_since)
            self.waiting_since = None
        if self.ran_at is None:
            for code in glance.states:
                if code & 31 == _RUNNING:
                    self.ran_at, self.waited_before = code >> 5, self.waited
                    break
        if row.kind in ("parked", "unknown"):
            # A wait for a queue's reply is the tool's own time.
            request = _decode_request(glance.request)
            if request is not None and not request.requirement.is_reply_only:
                self.asked_at = request.requested_at
                self.waiting_since = glance.states[-1] >> 5 if glance.states else (row.at - glance.created_at) * 1000

    def take_answer(self, answer: Answer) -> int | None:
        """Returns how long a person took; None for an answer that no person gave. Each question is answered once."""
        asked, self.asked_at = self.asked_at, None
        return None if asked is None else max(0, answer.answered_at - asked)


_decode_glance = msgspec.msgpack.Decoder(_Glance).decode
_decode_header = msgspec.msgpack.Decoder(Header).decode
_decode_wrong = msgspec.msgpack.Decoder(_ErrorGlance | None).decode
_decode_request = msgspec.msgpack.Decoder(ApprovalRequest | None).decode
_decode_answer = msgspec.msgpack.Decoder(Answer | None).decode


class Activity:
    """The counts of the last hour."""

    def __init__(self, system_of: Callable[[str], str | None] = lambda tool_id: None) -> None:
        """Begins without rows. `system_of`: the name of the system behind a tool; None for one that has none."""
        self._system_of = system_of
        self._minutes: dict[int, _Minute] = {}
        self._slots: dict[int, dict[CallScope, int]] = {}
        self._open: dict[str, _Open] = {}
        self._headers: dict[bytes, _CallOwner] = {}
        self._cells = 0

    def forget(self) -> None:
        """Clears all counts."""
        self._minutes.clear()
        self._slots.clear()
        self._open.clear()
        self._cells = 0

    def forget_open(self) -> None:
        """Forgets open calls after skipped rows: their state may be outdated."""
        self._open.clear()

    def needs_earlier_rows(self, row: StoredEntry) -> bool:
        """Returns True when a row continues a call whose earlier rows are needed first: `learn` them."""
        return row.kind in ("ended", "answered") and row.call not in self._open

    def learn(self, rows: Iterable[StoredEntry]) -> None:
        """Reads a call's earlier rows, which are not counted."""
        for row in rows:
            try:
                self._get_open(row.call).advance(row, _decode_glance(row.body))
            except msgspec.MsgspecError:
                continue  # the ledger was changed; an audit reports it, and here one call counts less exactly

    def count_row(self, row: StoredEntry) -> None:
        """Counts one row. Ignores rows that belong to no call."""
        try:
            match row.kind:
                case "call":
                    self._count_end(row, _decode_glance(row.body), _Open())
                case "started" | "parked" | "unknown":
                    self._get_open(row.call).advance(row, _decode_glance(row.body))
                case "answered":
                    self._count_answer(row, _decode_glance(row.body))
                case "ended":
                    self._count_end(row, _decode_glance(row.body), self._open.pop(row.call, _Open()))
        except msgspec.MsgspecError:
            return  # damaged: as above

    def trim(self, now: int) -> None:
        """Drops everything older than an hour."""
        first = now // MINUTE - MINUTES + 1
        for minute in [minute for minute in self._minutes if minute < first]:
            self._cells -= len(self._minutes.pop(minute).cells)
        oldest = now // SLOT - SLOTS + 1
        for slot in [slot for slot in self._slots if slot < oldest]:
            del self._slots[slot]

    def report(self, scope: CallScope, now: int) -> ActivityReport:
        """Reports the calls of a scope in the hour before a moment."""
        last, slot = now // MINUTE, now // SLOT
        numbers = range(last - MINUTES + 1, last + 1)
        found = [(number, self._minutes.get(number)) for number in numbers]
        cells = [(number * MINUTE, minute.cells.get(scope, _NONE) if minute else _NONE) for number, minute in found]
        return ActivityReport(
            minutes=cells,
            whole=merge_counts([counts for _, counts in cells]),
            last_minute=sum(self._slots.get(one, {}).get(scope, 0) for one in range(slot - SLOTS + 1, slot + 1)),
            is_whole=scope == EVERYBODY or not any(minute is not None and minute.is_cut for _, minute in found),
        )

    def report_systems(self, now: int) -> dict[str, list[tuple[int, SystemCalls]]]:
        """Reports the calls of each system in the hour before a moment: its minutes that have any, the oldest first."""
        first, last = now // MINUTE - MINUTES + 1, now // MINUTE
        found: dict[str, list[tuple[int, SystemCalls]]] = {}
        for number in sorted(number for number in self._minutes if first <= number <= last):
            for name, reached in self._minutes[number].systems.items():
                found.setdefault(name, []).append((number * MINUTE, reached))
        return found

    # Counting

    def _get_open(self, call: str) -> _Open:
        found = self._open.get(call)
        if found is None:
            found = self._open[call] = _Open()
            if len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]  # its rows are read again when it ends
        return found

    def _count_answer(self, row: StoredEntry, glance: _Glance) -> None:
        opened, answer = self._get_open(row.call), _decode_answer(glance.answer)
        # With more people to come the question still stands.
        if answer is not None and row.outcome != "awaiting_approval":
            self._count_wait(row, glance, opened.take_answer(answer))
        opened.advance(row, glance)

    def _count_end(self, row: StoredEntry, glance: _Glance, opened: _Open) -> None:
        if opened.asked_at is not None and (answer := _decode_answer(glance.answer)) is not None:
            self._count_wait(row, glance, opened.take_answer(answer))
        is_lapsed = opened.asked_at is not None  # it expired unanswered: that says nothing about any system
        opened.advance(row, glance)
        ending = ENDINGS.get(row.outcome)
        if ending is None:
            return
        whose, took = self._find_owner(glance), glance.states[-1] >> 5 if glance.states else 0
        has_run = ending == "succeeded" or opened.ran_at is not None or _find_execute_end(glance.phases) is not None
        bucket = find_bucket(max(0, took - opened.waited) / 1000) if has_run else None
        minute, slot = self._get_minute(row.at), self._slots.setdefault(row.at // SLOT, {})
        for scope in whose.scopes:
            counts = minute.cells.get(scope) or self._get_cell(minute, scope)
            if counts is not None:
                counts.count_call(ending, whose.tool_name, bucket)
                slot[scope] = slot.get(scope, 0) + 1
        system = self._system_of(whose.tool_id)
        if system is not None and not is_lapsed:
            self._count_system_call(minute, system, glance, opened)

    def _count_wait(self, row: StoredEntry, glance: _Glance, took: int | None) -> None:
        if took is None:
            return
        whose, minute = self._find_owner(glance), self._get_minute(row.at)
        for scope in whose.scopes:
            counts = self._get_cell(minute, scope)
            if counts is not None:
                counts.answered.add(took)

    def _count_system_call(self, minute: _Minute, system: str, glance: _Glance, opened: _Open) -> None:
        """Counts a call for the system it reached; one that never ran, or that we stopped, says nothing about it."""
        wrong = _decode_wrong(glance.error)
        kind = wrong.error_class if wrong is not None else ""
        end = _find_execute_end(glance.phases)
        if (end is None and opened.ran_at is None) or kind == "canceled":
            return
        reached = minute.systems.get(system)
        if reached is None:
            reached = minute.systems[system] = SystemCalls()
        reached.calls += 1
        reached.unreached += kind in UNREACHED
        if end is not None:
            before = opened.ran_at if opened.ran_at is not None else _find_end_before(glance.phases)
            reached.latency.add(max(0, end - before - (opened.waited - opened.waited_before)) / 1000)

    def _get_minute(self, at: int) -> _Minute:
        number = at // MINUTE
        minute = self._minutes.get(number)
        if minute is None:
            minute = self._minutes[number] = _Minute()
            self.trim(at)
        return minute

    def _get_cell(self, minute: _Minute, scope: CallScope) -> Counts | None:
        counts = minute.cells.get(scope)
        if counts is None:
            if self._cells >= MOST_CELLS and scope != EVERYBODY:
                minute.is_cut = True
                return None
            counts = minute.cells[scope] = Counts()
            self._cells += 1
        return counts

    def _find_owner(self, glance: _Glance) -> _CallOwner:
        written = bytes(glance.header)
        found = self._headers.get(written)
        if found is None:
            header = _decode_header(written)
            scopes = (EVERYBODY, CallScope(header.tenant), CallScope(header.tenant, header.principal))
            found = _CallOwner(scopes, header.tool_id, header.tool_name)
            if len(self._headers) >= _MOST_HEADERS:
                # Headers repeat from call to call; a full cache is cheaper to rebuild than to order by use.
                self._headers.clear()
            self._headers[written] = found
        return found


_NONE = Counts()
"""The counts of a minute without calls. Never changed."""


def _find_execute_end(phases: Sequence[int]) -> int | None:
    """Finds when `execute` ended: nanoseconds since the call was planned; None for a call that never came so far."""
    # The low four bits of a code are the phase, the others its time.
    return next((code >> 4 for code in reversed(phases) if code & 15 == _EXECUTE), None)


def _find_end_before(phases: Sequence[int]) -> int:
    """Finds when the phase before `execute` ended: nanoseconds since the call was planned."""
    return max((code >> 4 for code in phases if code & 15 < _EXECUTE), default=0)


def merge_counts(minutes: Sequence[Counts]) -> Counts:
    """Merges the counts of several minutes."""
    whole = Counts()
    whole.succeeded = sum(one.succeeded for one in minutes)
    whole.failed = sum(one.failed for one in minutes)
    whole.denied = sum(one.denied for one in minutes)
    whole.canceled = sum(one.canceled for one in minutes)
    whole.latency = merge_histograms(one.latency for one in minutes)
    whole.answered = merge_histograms(one.answered for one in minutes)
    for one in minutes:
        for tool, count in one.failing.items():
            whole.failing[tool] = whole.failing.get(tool, 0) + count
        for tool, count in one.refused.items():
            whole.refused[tool] = whole.refused.get(tool, 0) + count
    return whole
