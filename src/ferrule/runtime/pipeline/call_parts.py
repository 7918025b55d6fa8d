"""The parts of a call's record: its inputs, what was judged, what is in flight, and how it ends.

Whoever fills a part sets its fields. Whoever comes later, and cannot go on without a field, asks for it with `require_…`:
one that was not filled yet is a mistake of ours and says so (`output or require_output()` where every call passes: a method costs
more than a look). A field read without asking may be None, and that is an answer.
The table of who fills what stands in `call.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ferrule.contracts.executor import Output
from ferrule.model.approval import Answer
from ferrule.model.decision import Decision
from ferrule.model.failure import Stop
from ferrule.model.journal import HookRun, Mutation, Payload
from ferrule.model.result import Result
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.model.value import JsonValue

if TYPE_CHECKING:
    import asyncio

    from ferrule.runtime.pipeline.call import Call
    from ferrule.runtime.pipeline.live import LiveCall
    from ferrule.runtime.scheduler.scheduler import Lane, QueuePlace


class ReadTooEarly(AssertionError):
    """A mistake of ours: a part of a call was read before it was filled."""

    def __init__(self, part: str, filled_by: str) -> None:
        super().__init__(f"the {part} of the call was read before `{filled_by}` filled it")


class CallInputs(msgspec.Struct, gc=False):
    """The four inputs of a call, as JSON: each is set only where it differs from the one before it."""

    model_input: bytes
    """As the caller sent it; never changed."""
    arguments: dict[str, Any] | None = None
    """The current input, decoded: a copy to work with. A text where the tool takes text."""
    observable_input: bytes | None = None
    """Set when it differs from the input at that time: something in it is masked, or it was changed since."""
    permission_input: bytes | None = None
    """Set when the decision was not on `model_input`."""
    call_input: bytes | None = None
    """Set when it differs from `model_input`."""
    mutations: tuple[Mutation, ...] = ()
    """All of them, from the first row on."""
    new_mutations: int = 0
    """How many are in no row yet."""

    @property
    def current(self) -> bytes:
        """The input as it stands now: what would run."""
        return self.model_input if self.call_input is None else self.call_input

    def mutate(self, mutation: Mutation, arguments: dict[str, Any], changed: bytes) -> None:
        """Take a changed input, and note where it came from (AT-79)."""
        self.arguments = arguments
        self.call_input = changed
        self.mutations += (mutation,)
        self.new_mutations += 1

    def require_arguments(self) -> dict[str, Any]:
        """The current input, decoded."""
        if self.arguments is None:
            raise ReadTooEarly("arguments", "parse_schema")
        return self.arguments


class CallJudgement(msgspec.Struct, frozen=True, gc=False):
    """What the policy, hooks and people said of a call. Frozen: most calls share the empty one (`UNJUDGED`)."""

    decisions: tuple[Decision, ...] = ()
    """Those in no row yet."""
    hooks: tuple[HookRun, ...] = ()
    """Those in no row yet."""
    hook_permission: str = ""
    """The strictest word a hook said, `deny` or `ask`, as `word:message`; an `allow` weighs nothing (AT-152)."""
    hook_allows: tuple[str, ...] = ()
    """Hooks that said `allow`: it counts where the policy makes one of them authoritative (AT-153)."""
    hook_context: tuple[dict[str, Any], ...] = ()
    """What hooks added for the model so far, each block with its hook as `origin` (AT-156)."""
    hook_stop: dict[str, JsonValue] | None = None
    """What a hook said that ended the call."""
    answer: Answer | None = None
    """A person's word on how the call ends, for the row that ends it."""

    def require_decision(self) -> Decision:
        """The last decision."""
        if not self.decisions:
            raise ReadTooEarly("decision", "permission")
        return self.decisions[-1]


UNJUDGED = CallJudgement()


class BatchMembership(msgspec.Struct):
    """What a call knows of its batch."""

    batch_id: str
    policy: SchedulerPolicy
    deferred: dict[str, tuple[dict[str, Any], ...]]
    is_over: bool = False
    """True once nothing can be deferred any more: its calls that go on are by themselves."""


class CallFlight(msgspec.Struct, gc=False):
    """What a call has to do with others, and what is under way of it, in this process."""

    place: QueuePlace | None = None
    """Its place in the scheduler's lane (`runtime/scheduler/queue.py`), while it has one."""
    slipped: Lane | None = None
    """The lane in which it runs without a place (`Lane.slip_in` of `runtime/scheduler/scheduler.py`), while it does."""
    parent: Call | None = None
    """The call whose tool makes this one, while that runs."""
    live: LiveCall | None = None
    """What can be told to stop, and says something (`live.py:LiveCall`), while something can."""
    batch: BatchMembership | None = None
    deadline: float | None = None
    """By the event loop's clock."""
    ticket: int = 0
    """What its breaker gave it (`breaker.py`)."""
    is_detached: bool = False
    """True once it goes on without whoever waited for it."""
    surfacing: asyncio.Future[None] | None = None
    """A row that is being written because the call takes long; whatever comes next waits for it."""
    sequence: int = 0
    """The number of the last progress record of rows before."""


class CallEnding(msgspec.Struct, gc=False):
    """What a tool gave, or what stopped its call, and the result that is made of it."""

    has_run: bool = False
    """True once the executor was reached."""
    output: Output | None = None
    """What the tool gave; None also where the call ends without it."""
    is_bare: bool = False
    """True when its tool gave a value and nothing beside it."""
    stop: Stop | None = None
    """Why the call goes no further; None for a success."""
    result: Result | None = None
    is_plain_result: bool = False
    """True when the result has nothing but its content."""
    payload: Payload | None = None
    """What the last row keeps of inputs and result."""
    clean_notes: dict[str, Any] | None = None
    """The notes, once they were looked through with the result and have nothing to hide."""

    def require_output(self) -> Output:
        """What the tool gave."""
        if self.output is None:
            raise ReadTooEarly("output", "execute")
        return self.output

    def require_stop(self) -> Stop:
        """Why the call goes no further."""
        if self.stop is None:
            raise ReadTooEarly("stop", "stop_call")
        return self.stop

    def require_result(self) -> Result:
        """The result as it stands."""
        if self.result is None:
            raise ReadTooEarly("result", "map_result")
        return self.result
