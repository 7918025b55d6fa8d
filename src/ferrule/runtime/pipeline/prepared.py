"""A tool of a surface, ready to be called, so that a call is look-ups only. `preparation` makes it, once per surface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from jsonschema_rs import Validator

from ferrule.contracts.executor import Run, Support
from ferrule.contracts.hook import Hook
from ferrule.contracts.policy import PolicyProgram
from ferrule.model.decision import Ruling
from ferrule.model.failure import Stop
from ferrule.model.lifecycle import PHASES, Phase
from ferrule.model.retry import NO_RETRIES, RetryPolicy
from ferrule.model.scheduling import Claim, ModifierPolicy
from ferrule.model.surface import SurfaceEntry
from ferrule.runtime.pipeline.arguments.validation import Arguments
from ferrule.runtime.pipeline.call_parts import ReadTooEarly
from ferrule.runtime.pipeline.locks import NO_LOCKS, LockPlan
from ferrule.runtime.pipeline.tool_facts import ToolTraits
from ferrule.runtime.redaction.sensitive_input import Mask

Turn = Literal["in_line", "beside", "alone"]
InPlace = Literal["always", "without_deadline", "from_first_step", "never"]


class CallRoute(msgspec.Struct, frozen=True, gc=False):
    """The route of a tool's calls, chosen once, when the tool is prepared."""

    idle: int = 0
    """One bit for each phase that has nothing to do for a call without options; the plan leaves it out."""
    turn: Turn = "in_line"
    """How a call gets its turn: from the lane, or without a place in it where nothing is in the way (`beside` others, or
    `alone`). Only calls that read, and that nobody counts, do without."""
    wants_context: bool = True
    """False when the runner declares that it never reads its context: none is made."""
    in_place: InPlace = "never"
    """When its runner is awaited in the call's own task. Only one that reads and stops when it is told to: `always` where it
    keeps to its deadline itself; `from_first_step` where, without a deadline, nobody has to see that it runs until it waits."""

    def leaves_out(self, phase: Phase) -> bool:
        """Returns True for a phase that calls without options skip."""
        return bool(self.idle >> PHASES.index(phase) & 1)


class Prepared(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One tool of one surface, ready to be called."""

    entry: SurfaceEntry | None
    """None for an unknown name."""
    header: msgspec.Raw
    tool_id: str
    refusal: Stop | None = None
    """The reason why it cannot be called from here at all."""
    is_loaded: bool = True
    arguments: Arguments | None = None
    mask: Mask | None = None
    """None when nothing in its input is sensitive."""
    run: Run | None = None
    unready: Stop | None = None
    """The reason why it cannot run although it may be called: no executor, no set-up."""
    preflight: Callable[[dict[str, Any]], Any] | None = None
    program: PolicyProgram | None = None
    fixed: Ruling | None = None
    """The ruling that holds for all arguments."""
    header_ruling: Ruling | None = None
    """An allow that every row of this tool carries in its header already."""
    traits: ToolTraits = ToolTraits()
    validates_output: Validator | None = None
    """The output schema's validator, where there is a schema."""
    support: Support = Support()
    """The abilities of its runner."""
    upstream: str = ""
    """The system behind it, which is left alone when it fails again and again; the tool itself where its runner names none."""
    is_repeatable: bool = False
    """True when another attempt cannot do something twice: it only reads, or its definition or its runner says so."""
    claim: Claim | None = None
    """The scheduler's claim, where it is the same for every call; None where it depends on the input."""
    locks: LockPlan = NO_LOCKS
    is_exclusive: bool = False
    """True when its definition demands that every call runs alone."""
    modifier_policy: ModifierPolicy | None = None
    """The policy of its definition about context modifiers."""
    retry: RetryPolicy = NO_RETRIES
    route: CallRoute = CallRoute()
    hooks: Mapping[str, tuple[Hook, ...]] | None = None
    """The hooks for its calls, by event, in order; None when they have to be matched for every call."""

    def require_entry(self) -> SurfaceEntry:
        """Returns the tool as the surface has it. Raises ReadTooEarly; `resolve_tool` stops calls of unknown names."""
        if self.entry is None:
            raise ReadTooEarly("tool", "resolve_tool")
        return self.entry

    def require_arguments(self) -> Arguments:
        """Returns the validator of its arguments. Raises ReadTooEarly; `resolve_tool` stops calls of refused tools."""
        if self.arguments is None:
            raise ReadTooEarly("schema of the arguments", "resolve_tool")
        return self.arguments

    def require_program(self) -> PolicyProgram:
        """Returns the policy program of its calls. Raises ReadTooEarly."""
        if self.program is None:
            raise ReadTooEarly("policy program", "resolve_tool")
        return self.program

    def require_claim(self) -> Claim:
        """Returns the fixed claim of its calls. Raises ReadTooEarly."""
        if self.claim is None:
            raise ReadTooEarly("claim", "schedule")
        return self.claim


UNRESOLVED = Prepared(entry=None, header=msgspec.Raw(b"\xc0"), tool_id="")
"""The tool of a call before `resolve_tool`."""
