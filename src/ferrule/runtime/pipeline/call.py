"""One call on its way through the phases, and which call is running here.

A call is mutable, owned by the runner alone, and gone when it has ended or waits: what lasts are the ledger's rows.
What it always has stands on `Call`; the rest stands in four parts (`call_parts.py`), each with its owners:

    part       field                                     filled by
    inputs     model_input                               whoever plans the call
               arguments                                 parse_schema
               observable_input                          parse_schema, prepare_observable_input
               permission_input                          permission
               call_input, mutations, new_mutations      parse_schema, pre_hooks; an approver who edits
    judgement  decisions                                 permission
               hooks, hook_context, hook_stop            every phase that runs hooks
               hook_permission, hook_allows              pre_hooks
               answer                                    whoever ends a call that waited
    flight     parent, batch                             whoever plans the call
               place, slipped, deadline                  schedule; a batch takes places early
               live                                      whoever listens to the call, or the first phase that has to wait
               ticket                                    execute
               is_detached                               the driver, when the caller goes away
               surfacing                                 pulse
               sequence                                  live, when it ends; waiting, when the call goes on
    ending     has_run, output, is_bare                  execute
               stop                                      the driver; closing phases that fail the call
               result, is_plain_result                   map_result, or the driver for a call that gave nothing;
                                                         changed by post_hooks and persist_result
               payload, clean_notes                      persist_result

Inputs are JSON bytes, so no hook, check or tool can change what was recorded; `arguments` is a copy to work with.
`RUNNING` is the one context variable of the pipeline: a tool that calls other tools, in threads and tasks of its own, is
their parent and never waits for itself (docs/decisions/0014-scheduling.md).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec.structs import replace

from ferrule.contracts.executor import Waiting
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.credentials import NO_CALL_SECRETS, CallSecrets
from ferrule.model.decision import Decision
from ferrule.model.failure import Stop
from ferrule.model.lifecycle import STATES, TRANSITIONS, State, check_transition
from ferrule.model.value import JsonValue
from ferrule.runtime.pipeline.call_parts import UNJUDGED, CallEnding, CallFlight, CallInputs, CallJudgement
from ferrule.runtime.pipeline.prepared import UNRESOLVED, Prepared
from ferrule.runtime.pipeline.session import Session

if TYPE_CHECKING:
    from ferrule.runtime.pipeline.services import Services
    from ferrule.runtime.scheduler.scheduler import LanePlace

_CODES = {state: number for number, state in enumerate(STATES)}
_MOVES = {old: {new: _CODES[new] for new in news} for old, news in TRANSITIONS.items()}


class CallOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller may say about one call besides its arguments."""

    idempotency_key: str | None = None
    timeout_seconds: float | None = None
    native_call_id: str | None = None
    """The id the caller's protocol gave the call (AT-259)."""
    retry_of: str | None = None
    """The invocation this one repeats (AT-103)."""
    priority: int = 0
    """Higher goes first among calls that wait for a limit."""
    client: frozenset[str] = frozenset()
    """What the calling client can be asked for."""
    handed: CallSecrets = NO_CALL_SECRETS
    """Credentials that the caller gives its tool with this call. Never stored."""
    is_exact: bool = False
    """True: arguments that do not fit the schema are refused, also where it is plain what was meant."""
    trace_id: str | None = None
    """The trace that the caller counts this call among; for the record."""

    def __post_init__(self) -> None:
        """A time limit that is no number of seconds is over already."""
        limit = self.timeout_seconds
        if limit is not None and not limit >= 0:
            msgspec.structs.force_setattr(self, "timeout_seconds", 0.0)


NO_OPTIONS = CallOptions()
OWN_NOTES = frozenset({"batch", "parent", "scheduler"})
"""Notes of ours that say nothing about a result."""
NO_STATE = b"\0"
"""What the ledger has of a tool that waits and left nothing behind: that it waits has to show."""


class Recorded(msgspec.Struct, gc=False):
    """What the ledger has of a call already: a call that was started, or that comes back from waiting."""

    seq: int
    """Its last row: nothing may have happened since."""
    mark_state: str
    """The state the ledger's table has it in."""
    request: ApprovalRequest | None = None
    answers: tuple[Answer, ...] = ()
    waiting: bytes = b""
    """What an executor that waits left behind."""
    received: JsonValue = None
    """What it waited for."""
    asked_about: bytes | None = None
    """The input the question was about, before anybody edited it; None when it was the model's."""


class Park(msgspec.Struct, frozen=True, gc=False):
    """A phase's word that the call waits: for a person, or for what its tool asked for."""

    request: ApprovalRequest
    waiting: Waiting | None = None


class Replay(msgspec.Struct, frozen=True, gc=False):
    """A phase's word that this call is a duplicate: another invocation has, or will have, the answer."""

    invocation_id: str


class Again(msgspec.Struct, frozen=True, gc=False):
    """A phase's word that the decision does not hold any more: it has to be made anew."""


class Detached(msgspec.Struct, frozen=True, gc=False):
    """A phase's word that the call goes on without whoever waited for it."""

    going_on: Coroutine[Any, Any, Step]
    """A coroutine that gives the phase's step in the end."""
    message: str


class Call(msgspec.Struct, gc=False):
    """One call in flight."""

    invocation_id: str
    tool_name: str
    """As the caller wrote it."""
    session: Session
    inputs: CallInputs
    created_at: int
    """Microseconds since 1970."""
    origin: int
    """The monotonic clock when it was planned, in nanoseconds."""
    tick: Callable[[], int]
    options: CallOptions = NO_OPTIONS
    state: State = "planned"
    states: list[int] = []
    """`offset << 5 | state`, since the last row."""
    phases: list[int] = []
    """`offset << 4 | phase`, since the last row."""
    prepared: Prepared = UNRESOLVED
    """The tool, ready to be called; filled by `resolve_tool`."""
    notes: dict[str, Any] = {}
    """What else goes on record, by name."""
    recorded: Recorded | None = None
    """What the ledger has of it already; None while that is nothing."""
    key: tuple[bytes, bytes] | None = None
    """The idempotency key, scoped, and the input's digest."""
    secrets: frozenset[str] = frozenset()
    """Values its tool asked to keep out of everything."""
    judgement: CallJudgement = UNJUDGED
    flight: CallFlight = msgspec.field(default_factory=CallFlight)
    ending: CallEnding = msgspec.field(default_factory=CallEnding)

    def enter(self, state: State) -> None:
        """Go on to a state. Raises IllegalTransition."""
        try:
            code = _MOVES[self.state][state]
        except KeyError:
            check_transition(self.state, state)  # raises, unless the call is there already
            return
        self.state = state
        self.states.append((self.tick() - self.origin) << 5 | code)

    def judge(self, decision: Decision) -> None:
        """Take one more decision."""
        self.judgement = replace(self.judgement, decisions=(*self.judgement.decisions, decision))

    def has_rows(self, seq: int, mark_state: str) -> None:
        """A row of the call is on disk: what comes next belongs to the next one."""
        before = self.recorded
        self.recorded = Recorded(seq, mark_state)
        if before is not None and before.waiting:  # it goes on where its tool left off
            self.recorded.waiting, self.recorded.received = before.waiting, before.received
        self.states, self.phases = [], []
        self.inputs.new_mutations = 0
        if self.judgement is not UNJUDGED:
            self.judgement = replace(self.judgement, decisions=(), hooks=())

    @property
    def interrupt_behavior(self) -> str:
        """What an interruption does to it: its tool says so; a call that has found no tool yet is stopped."""
        entry = self.prepared.entry
        return entry.tool.facts.interrupt_behavior if entry is not None else "cancel"

    @property
    def is_hurried(self) -> bool:
        """True when its caller gave it less time than its tool takes for itself: a timeout then says nothing about the tool."""
        given, usual = self.options.timeout_seconds, self.prepared.traits.timeout_seconds
        return given is not None and (usual is None or given < usual)

    def offset(self) -> int:
        """Nanoseconds since the call was planned."""
        return self.tick() - self.origin


Step: TypeAlias = Stop | Park | Replay | Detached | Again | None
"""What a phase says: nothing (go on), or where the call goes instead."""
Opening: TypeAlias = "Callable[[Call, Services], Step | Awaitable[Step]]"
Closing: TypeAlias = "Callable[[Call, Services], Awaitable[None] | None]"


RUNNING: ContextVar[Call | None] = ContextVar("ferrule_running_call", default=None)
"""The call whose tool runs in this context; None outside of tools."""


def place_of(call: Call) -> LanePlace | None:
    """The place of a call that runs, for the calls inside it; None when it has ended. One that slipped in without a place
    gets one now."""
    if call.state not in ("running", "partial_result"):
        return None
    flight = call.flight
    if flight.slipped is not None:  # only calls whose claim is fixed do without a place
        flight.place, flight.slipped = flight.slipped.settle(call.prepared.require_claim()), None
    return flight.place
