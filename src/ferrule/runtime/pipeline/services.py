"""The services that phases may use: clock, ledger, policy and people. Nothing is looked up elsewhere."""

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
        """Encrypts bytes, bound to the invocation."""

    def open(self, invocation_id: str, sealed: bytes) -> bytes:
        """Decrypts bytes. Raises ValueError for anything that was tampered with."""


class SatisfactionCheck(Protocol):
    """The check whether the answers of people satisfy a request (`runtime/approval/check.py`)."""

    def __call__(
        self, request: ApprovalRequest, answers: Sequence[Answer], *, binding: bytes, key: bytes, now: int
    ) -> str | None:
        """Explains why they do not; None when they do."""


class CallFacts(Protocol):
    """The evaluation of a call's safety facts, with their expressions (`runtime/policy/facts.py`)."""

    def __call__(
        self, tool: Tool, arguments: dict[str, object], classifiers: Mapping[str, Classifier]
    ) -> tuple[SafetyFacts, tuple[str, ...]]:
        """Returns the facts, and those that could not be evaluated (fail-closed values stand in)."""


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """Clock, ledger, policy and people, as the phases see them."""

    store: Store
    now: Callable[[], int]
    """Microseconds since 1970."""
    tick: Callable[[], int]
    """A monotonic clock in nanoseconds."""
    sealing: Sealing
    why_unsatisfied: SatisfactionCheck
    call_facts: CallFacts
    scheduler: Scheduler
    """Orders the calls of all surfaces."""
    live: InFlight
    """The calls in flight in this process."""
    budgets: RetryBudgets
    breakers: Breakers
    """Circuit breakers: systems that fail in a row are not called for a while."""
    classifiers: Mapping[str, Classifier] = {}
    hooks: tuple[Hook, ...] = ()
    hook_events: frozenset[str] = frozenset()
    """The events of all hooks."""
    records_behind: bool = True
    """True: read-only calls are recorded behind their answer, within a second; False: before it."""
    on_parked: Callable[[ApprovalRequest], None] = lambda request: None
    """Receives every request that waits for a person, after it is durable."""

    why_ended: Callable[[str, int], str | None] = lambda channel, now: None
    """Explains why a channel's key is no longer valid; None while it is. Raises AccessError when that is unknown."""
    redactor: Redactor | None = None
    """The known secrets; None when nothing is secret."""
    payloads: PayloadStore | None = None
    """The store of large results; None without one."""
    results: ResultSettings = ResultSettings()
    retries: RetrySettings = RetrySettings()
    chance: Callable[[], float] = random.random
    """Returns 0 to 1: spreads retries."""

    inline_chars: int = 0
    """Up to this length a result that is only text goes into its row unchanged; computed from settings and hooks."""

    def __post_init__(self) -> None:
        force, events = msgspec.structs.force_setattr, frozenset(hook.event for hook in self.hooks)
        force(self, "hook_events", events)
        is_looked_at = "result_persistence" in events or self.results.max_inline_bytes is not None
        # -1: no text is that short, so every result takes the long way.
        force(self, "inline_chars", -1 if is_looked_at else self.results.max_inline_chars)

    def wall(self) -> int:
        """Returns the time by which things expire: the clock, or the ledger's latest time where the clock was set back."""
        return max(self.now(), self.store.high_water())
