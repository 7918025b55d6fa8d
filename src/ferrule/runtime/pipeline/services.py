"""What the phases may use. Everything comes in here; nothing is looked up and nothing is read from the air."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from ferrule.contracts.hook import Hook
from ferrule.contracts.payloads import PayloadStore
from ferrule.contracts.policy import Classifier
from ferrule.contracts.redactor import Redactor
from ferrule.contracts.store import Store
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.persistence import ResultSettings
from ferrule.model.retry import RetrySettings
from ferrule.model.tool import SafetyFacts, Tool

if TYPE_CHECKING:
    from ferrule.runtime.pipeline.breaker import Breakers
    from ferrule.runtime.pipeline.live import InFlight
    from ferrule.runtime.pipeline.retries import RetryBudgets
    from ferrule.runtime.scheduler.scheduler import Scheduler


class Sealing(Protocol):
    """The approval key: seals answers, and keeps sensitive inputs of parked calls unreadable in the ledger."""

    @property
    def secret(self) -> bytes:
        """The key of bindings and seals."""

    def seal(self, invocation_id: str, plain: bytes) -> bytes:
        """Encrypted, bound to the invocation."""

    def open(self, invocation_id: str, sealed: bytes) -> bytes:
        """The plain bytes again. Raises ValueError for anything that was tampered with."""


class Satisfied(Protocol):
    """Whether the answers of people satisfy a request (`runtime/approval/check.py`)."""

    def __call__(
        self, request: ApprovalRequest, answers: Sequence[Answer], *, binding: bytes, key: bytes, now: int
    ) -> str | None:
        """Why they do not; None when they do."""


class CallFacts(Protocol):
    """The safety facts of one call, expressions worked out (`runtime/policy/facts.py`)."""

    def __call__(
        self, tool: Tool, arguments: dict[str, object], classifiers: Mapping[str, Classifier]
    ) -> tuple[SafetyFacts, tuple[str, ...]]:
        """The facts, and what could not be worked out (fail-closed values stand in)."""


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """Clock, ledger, policy and people, as the phases see them."""

    store: Store
    now: Callable[[], int]
    """Microseconds since 1970."""
    tick: Callable[[], int]
    """A monotonic clock in nanoseconds."""
    sealing: Sealing
    unsatisfied: Satisfied
    call_facts: CallFacts
    scheduler: Scheduler
    """Who runs beside whom."""
    live: InFlight
    """The calls in flight in this process."""
    budgets: RetryBudgets
    breakers: Breakers
    """Systems that fail in a row, and are left alone for a while."""
    classifiers: Mapping[str, Classifier] = {}
    hooks: tuple[Hook, ...] = ()
    hook_events: frozenset[str] = frozenset()
    """What any of them waits for."""
    records_behind: bool = True
    """True: read-only calls are recorded behind their answer, within a second; False: before it."""
    parked: Callable[[ApprovalRequest], None] = lambda request: None
    """Told of every request that waits for a person, after it is durable."""

    why_ended: Callable[[str, int], str | None] = lambda channel, now: None
    """Why nothing runs any more that came by a channel: its key has ended at this time. None when it may run. Raises AccessError
    when nobody can tell."""
    redactor: Redactor | None = None
    """What is known to be secret; None when nothing is."""
    payloads: PayloadStore | None = None
    """Where large results go; None: nowhere."""
    results: ResultSettings = ResultSettings()
    retries: RetrySettings = RetrySettings()
    chance: Callable[[], float] = random.random
    """From 0 to 1: spreads attempts."""

    inline_chars: int = 0
    """Up to so many characters a result that is only text goes into its row as it is; worked out of the settings and hooks."""

    def __post_init__(self) -> None:
        force, events = msgspec.structs.force_setattr, frozenset(hook.event for hook in self.hooks)
        force(self, "hook_events", events)
        is_looked_at = "result_persistence" in events or self.results.max_inline_bytes is not None
        force(self, "inline_chars", -1 if is_looked_at else self.results.max_inline_chars)

    def wall(self) -> int:
        """The time by which things expire: the clock, or the ledger's latest time where the clock was set back."""
        return max(self.now(), self.store.high_water())
