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


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one call, besides its arguments."""

    idempotency_key: str | None = None
    timeout_seconds: float | None = None
    native_call_id: str | None = None
    """The id the caller's protocol gave the call (AT-259)."""
    retry_of: str | None = None
    """The invocation this one repeats (AT-103)."""
    priority: int = 0
    """Calls of higher priority go first at a limit."""
    client: frozenset[str] = frozenset()
    """The client requests that the caller supports."""
    handed: CallSecrets = NO_CALL_SECRETS
    """Credentials that the caller gives its tool with this call. Never stored."""
    is_exact: bool = False
    """True: arguments that do not fit the schema are refused, and never repaired."""
    trace_id: str | None = None
    """The caller's trace, for the record."""

    def __post_init__(self) -> None:
        """Treats an invalid timeout as expired."""
        limit = self.timeout_seconds
        if limit is not None and not limit >= 0:
            msgspec.structs.force_setattr(self, "timeout_seconds", 0.0)


NO_OPTIONS = RunOptions()
OWN_NOTES = frozenset({"batch", "parent", "scheduler"})
"""Our own notes, which say nothing about a result."""
NO_STATE = b"\0"
"""The stored state of a waiting tool that left none: an empty value would not show that it waits."""


class Recorded(msgspec.Struct, gc=False):
    """The ledger's record of a call that was started, or that comes back from waiting."""

    seq: int
    """Its last row; the next commit fails when another row was added since."""
    mark_state: str
    """Its state in the ledger's table."""
    request: ApprovalRequest | None = None
    answers: tuple[Answer, ...] = ()
    waiting: bytes = b""
    """The state that a waiting executor left."""
    received: JsonValue = None
    """The reply it waited for."""
    asked_about: bytes | None = None
    """The input in the question, before it was edited; None when it was the model's."""


class Park(msgspec.Struct, frozen=True, gc=False):
    """A phase's step: the call waits, for a person or for the reply its tool asked for."""

    request: ApprovalRequest
    waiting: Waiting | None = None


class DuplicateCall(msgspec.Struct, frozen=True, gc=False):
    """A phase's step: this call duplicates another invocation, which has, or will have, the answer."""

    invocation_id: str


class Rejudge(msgspec.Struct, frozen=True, gc=False):
    """A phase's step: the decision no longer holds and has to be made again."""


class Detached(msgspec.Struct, frozen=True, gc=False):
    """A phase's step: the call goes on without its caller."""

    going_on: Coroutine[Any, Any, Step]
    """The coroutine that returns the phase's step in the end."""
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
    options: RunOptions = NO_OPTIONS
    state: State = "planned"
    states: list[int] = []
    """`offset << 5 | state`, since the last row."""
    phases: list[int] = []
    """`offset << 4 | phase`, since the last row."""
    prepared: Prepared = UNRESOLVED
    """The tool, ready to be called; set by `resolve_tool`."""
    notes: dict[str, Any] = {}
    """Further facts for the record, by name."""
    recorded: Recorded | None = None
    """Its record in the ledger; None before the first row."""
    key: tuple[bytes, bytes] | None = None
    """The idempotency key, scoped, and the input's digest."""
    secrets: frozenset[str] = frozenset()
    """Values that its tool keeps out of everything."""
    judgement: CallJudgement = UNJUDGED
    flight: CallFlight = msgspec.field(default_factory=CallFlight)
    ending: CallEnding = msgspec.field(default_factory=CallEnding)

    def enter(self, state: State) -> None:
        """Enters a state. Raises IllegalTransition."""
        try:
            code = _MOVES[self.state][state]
        except KeyError:
            check_transition(self.state, state)  # raises, unless the call is there already
            return
        self.state = state
        self.states.append((self.tick() - self.origin) << 5 | code)

    def judge(self, decision: Decision) -> None:
        """Adds a decision."""
        self.judgement = replace(self.judgement, decisions=(*self.judgement.decisions, decision))

    def has_rows(self, seq: int, mark_state: str) -> None:
        """Notes that a row of the call is on disk: later events belong to the next row."""
        before = self.recorded
        self.recorded = Recorded(seq, mark_state)
        if before is not None and before.waiting:  # a resumed tool needs its state in the next row too
            self.recorded.waiting, self.recorded.received = before.waiting, before.received
        self.states, self.phases = [], []
        self.inputs.new_mutations = 0
        if self.judgement is not UNJUDGED:
            self.judgement = replace(self.judgement, decisions=(), hooks=())

    @property
    def interrupt_behavior(self) -> str:
        """The tool's reaction to an interruption; a call without a tool yet is stopped."""
        entry = self.prepared.entry
        return entry.tool.facts.interrupt_behavior if entry is not None else "cancel"

    @property
    def is_hurried(self) -> bool:
        """True when its caller allowed less time than its tool: a timeout then says nothing about the tool."""
        given, usual = self.options.timeout_seconds, self.prepared.traits.timeout_seconds
        return given is not None and (usual is None or given < usual)

    def offset(self) -> int:
        """Returns the nanoseconds since the call was planned."""
        return self.tick() - self.origin


Step: TypeAlias = Stop | Park | DuplicateCall | Detached | Rejudge | None
"""The step of a phase: None to go on, or where the call goes instead."""
Opening: TypeAlias = "Callable[[Call, Services], Step | Awaitable[Step]]"
Closing: TypeAlias = "Callable[[Call, Services], Awaitable[None] | None]"


RUNNING: ContextVar[Call | None] = ContextVar("ferrule_running_call", default=None)
"""The call whose tool runs in this context; None outside of tools."""


def place_of(call: Call) -> LanePlace | None:
    """Returns the place of a running call, for the calls inside it; None when it has ended.

    A call that slipped in without a place gets one now.
    """
    if call.state not in ("running", "partial_result"):
        return None
    flight = call.flight
    if flight.slipped is not None:  # only calls whose claim is fixed do without a place
        flight.place, flight.slipped = flight.slipped.settle(call.prepared.require_claim()), None
    return flight.place
