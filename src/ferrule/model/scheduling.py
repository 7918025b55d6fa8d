"""How calls of one surface share time: which may overlap, in what order results come, which are stopped together
(AT-159 ff.).

Records and settings only; `runtime/scheduler` acts on them.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ferrule.model.value import JsonObject

OrderingPolicy = Literal["preserve_terminal_order", "allow_unordered", "serial"]
YieldPolicy = Literal["progress_immediate_results_ordered", "all_ordered", "unordered_streaming"]
Interrupt = Literal["cancel", "block"]
SiblingPolicy = Literal["ignore", "cancel_siblings", "cancel_dependent"]
ModifierPolicy = Literal["allow_serial_only", "defer_until_batch_complete", "forbid"]
LaneScope = Literal["surface", "principal", "workspace"]
ParallelClass = Literal["read_only", "write", "destructive", "open_world"]
AbortReason = Literal["user_interruption", "sibling_error", "timeout", "fallback", "runtime_shutdown"]
QueueState = Literal["queued", "executing", "completed", "yielded", "discarded"]


class ResourceLock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls that share a key never overlap: `[[scheduler.resource_locks]]`, or a tool's own `resource_locks`."""

    key: str
    """A name, with members of the input in braces: `order:{order_id}`. A member that is absent counts as empty."""
    tool: str = "*"
    """Which tools: an id or a pattern with `*`. A tool's own lock is for itself."""
    mode: Literal["exclusive", "shared"] = "exclusive"
    """Shared holders overlap each other, and no exclusive one."""


class SchedulerPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[scheduler]` in ferrule.toml, and what a `scheduler_policy` record of the standard says."""

    scope: LaneScope = "surface"
    """Whose calls are ordered among themselves: those of one surface, of one principal, or all of this process."""
    max_parallel: Annotated[int, msgspec.Meta(ge=1)] = 32
    """Calls of one lane at once."""
    max_parallel_per_tool: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Calls of one tool at once, in this process."""
    max_parallel_per_principal: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Calls of one principal at once, in this process."""
    max_queued: Annotated[int, msgspec.Meta(ge=1)] = 100_000
    """Calls that may wait in one lane; more are refused with `rate_limited`."""
    ordering_policy: OrderingPolicy = "preserve_terminal_order"
    yield_policy: YieldPolicy = "progress_immediate_results_ordered"
    interrupt_behavior: Interrupt | None = None
    """What an interruption does to running calls; None leaves it to each tool (whose default is `block`)."""
    sibling_failure_policy: SiblingPolicy = "ignore"
    context_modifier_policy: ModifierPolicy = "allow_serial_only"
    parallel_classes: tuple[ParallelClass, ...] = ("read_only", "write", "destructive", "open_world")
    """Kinds of calls that may overlap with others, if they are concurrency-safe at all (AT-163)."""
    resource_locks: tuple[ResourceLock, ...] = ()

    @property
    def is_unordered(self) -> bool:
        """True when results may come as they are ready: both policies have to say so (AT-166)."""
        return self.ordering_policy == "allow_unordered" and self.yield_policy == "unordered_streaming"


DEFAULT_POLICY = SchedulerPolicy()
_STRICTNESS: tuple[ModifierPolicy, ...] = ("defer_until_batch_complete", "allow_serial_only", "forbid")


def stricter(own: ModifierPolicy | None, policy: ModifierPolicy) -> ModifierPolicy:
    """Returns the policy for context modifiers of a call: the tool's own, or the scheduler's where that is stricter."""
    return policy if own is None else max(own, policy, key=_STRICTNESS.index)


class Claim(msgspec.Struct, frozen=True, gc=False):
    """The facts about one call that the scheduler needs, evaluated for its input."""

    tool_id: str
    principal: str
    is_concurrency_safe: bool = False
    is_read_only: bool = False
    is_destructive: bool = True
    is_open_world: bool = True
    requires_exclusive_context: bool = False
    locks: tuple[tuple[str, bool], ...] = ()
    """Keys of resource locks, each with True when it is shared; sorted, each key once."""
    priority: int = 0
    """Higher goes first among those that wait for a limit; within a lane the order of calls is kept where it matters."""

    def to_record(
        self, policy: SchedulerPolicy, *, shown_locks: tuple[tuple[str, bool], ...] | None = None
    ) -> JsonObject:
        """Returns the seven facts of an invocation (AT-159).

        Keys of locks hold members of the input. Where some of those are sensitive, `shown_locks` are the keys computed
        from the copy that others may see.
        """
        locks = self.locks if shown_locks is None else shown_locks
        return {
            "is_concurrency_safe": self.is_concurrency_safe,
            "is_read_only": self.is_read_only,
            "is_destructive": self.is_destructive,
            "is_open_world": self.is_open_world,
            "requires_exclusive_context": self.requires_exclusive_context,
            "context_modifier_policy": policy.context_modifier_policy,
            "resource_locks": [{"key": key, "mode": "shared" if shared else "exclusive"} for key, shared in locks],
        }
