"""The parts of a call's record: its inputs, what was judged, what is in flight, and how it ends.

The owner of a part sets its fields. A later phase that cannot go on without a field calls `require_…`, which raises
ReadTooEarly for a field that is not filled yet (`output or require_output()` on the hot path: a method costs more
than a test). A field read directly may be None, and that is an answer. `call.py` has the table of owners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ferrule.contracts.executor import Output
from ferrule.model.approval import Answer
from ferrule.model.decision import Decision
from ferrule.model.failure import Stop
from ferrule.model.journal import HookRun, Mutation, Payload
from ferrule.model.result import Result
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.model.value import JsonObject, JsonValue

if TYPE_CHECKING:
    import asyncio

    from ferrule.runtime.pipeline.call import Call
    from ferrule.runtime.pipeline.live import LiveCall
    from ferrule.runtime.scheduler.scheduler import Lane, LanePlace


class ReadTooEarly(AssertionError):
    """A bug of the pipeline: a part of a call was read before it was filled."""

    def __init__(self, part: str, filled_by: str) -> None:
        super().__init__(f"the {part} of the call was read before `{filled_by}` filled it")


class CallInputs(msgspec.Struct, gc=False):
    """The four inputs of a call, as JSON: each is set only where it differs from the one before it."""

    model_input: bytes
    """As the caller sent it; never changed."""
    arguments: JsonObject | None = None
    """The current input, decoded: a working copy. A text where the tool takes text."""
    observable_input: bytes | None = None
    """Set when it differs from the input at that time: a member is masked, or it was changed since."""
    permission_input: bytes | None = None
    """Set when the decision was not on `model_input`."""
    call_input: bytes | None = None
    """Set when it differs from `model_input`."""
    mutations: tuple[Mutation, ...] = ()
    """All changes, from the first row on."""
    new_mutations: int = 0
    """How many of them are in no row yet."""

    @property
    def current(self) -> bytes:
        """The input as it stands now, which would run."""
        return self.model_input if self.call_input is None else self.call_input

    def mutate(self, mutation: Mutation, arguments: JsonObject, changed: bytes) -> None:
        """Replaces the input and notes the source of the change (AT-79)."""
        self.arguments = arguments
        self.call_input = changed
        self.mutations += (mutation,)
        self.new_mutations += 1

    def require_arguments(self) -> JsonObject:
        """Returns the current input, decoded. Raises ReadTooEarly."""
        if self.arguments is None:
            raise ReadTooEarly("arguments", "parse_schema")
        return self.arguments


class CallJudgement(msgspec.Struct, frozen=True, gc=False):
    """The judgement of the policy, hooks and people. Frozen: most calls share the empty one (`UNJUDGED`)."""

    decisions: tuple[Decision, ...] = ()
    """Those in no row yet."""
    hooks: tuple[HookRun, ...] = ()
    """Those in no row yet."""
    hook_permission: str = ""
    """The strictest permission of a hook, `deny` or `ask`, as `word:message`; an `allow` has no weight here (AT-152)."""
    hook_allows: tuple[str, ...] = ()
    """Hooks that answered `allow`: counts where the policy makes one of them authoritative (AT-153)."""
    hook_context: tuple[JsonObject, ...] = ()
    """The context that hooks added for the model, each block with its hook as `origin` (AT-156)."""
    hook_stop: dict[str, JsonValue] | None = None
    """The answer of the hook that ended the call."""
    answer: Answer | None = None
    """A person's answer that ends the call, for its last row."""

    def require_decision(self) -> Decision:
        """Returns the last decision. Raises ReadTooEarly."""
        if not self.decisions:
            raise ReadTooEarly("decision", "permission")
        return self.decisions[-1]


UNJUDGED = CallJudgement()


class BatchMembership(msgspec.Struct):
    """A call's membership in a batch."""

    batch_id: str
    policy: SchedulerPolicy
    deferred: dict[str, tuple[JsonObject, ...]]
    is_over: bool = False
    """True once nothing can be deferred any more: remaining calls run by themselves."""


class CallFlight(msgspec.Struct, gc=False):
    """The state of a running call in this process: its place, deadline, parent and live handle."""

    place: LanePlace | None = None
    """Its place in the scheduler's lane (`runtime/scheduler/queue.py`), while it has one."""
    slipped: Lane | None = None
    """The lane in which it runs without a place (`Lane.slip_in` of `runtime/scheduler/scheduler.py`), while it does."""
    parent: Call | None = None
    """The call whose tool made this one, while that runs."""
    live: LiveCall | None = None
    """The handle through which the call is canceled and reports progress (`live.py:LiveCall`), while there is one."""
    batch: BatchMembership | None = None
    deadline: float | None = None
    """By the clock of the event loop."""
    ticket: int = 0
    """The ticket of its circuit breaker (`breaker.py`)."""
    is_detached: bool = False
    """True once it goes on without the caller that waited for it."""
    surfacing: asyncio.Future[None] | None = None
    """A row being written because the call takes long; the next step waits for it."""
    sequence: int = 0
    """The number of the last progress record in earlier rows."""


class CallEnding(msgspec.Struct, gc=False):
    """The output or stop of a call, and the result made of it."""

    has_run: bool = False
    """True once the executor was called."""
    output: Output | None = None
    """The tool's output; None also where the call ends without it."""
    is_bare: bool = False
    """True when the tool returned a value and nothing beside it."""
    stop: Stop | None = None
    """The reason why the call goes no further; None for a success."""
    result: Result | None = None
    is_plain_result: bool = False
    """True when the result has nothing but its content."""
    payload: Payload | None = None
    """The inputs and result for the last row."""
    clean_notes: JsonObject | None = None
    """The notes, once they were checked with the result and have nothing to hide."""

    def require_output(self) -> Output:
        """Returns the tool's output. Raises ReadTooEarly."""
        if self.output is None:
            raise ReadTooEarly("output", "execute")
        return self.output

    def require_stop(self) -> Stop:
        """Returns the stop. Raises ReadTooEarly."""
        if self.stop is None:
            raise ReadTooEarly("stop", "stop_call")
        return self.stop

    def require_result(self) -> Result:
        """Returns the result so far. Raises ReadTooEarly."""
        if self.result is None:
            raise ReadTooEarly("result", "map_result")
        return self.result
