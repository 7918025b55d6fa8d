"""The contract of a policy, which decides permission. The engine compiles a program per tool and caller; the program
decides calls.

Rulings that no argument can change are made when the program is compiled, so that the common call costs nothing here.
This module knows no rule and no policy file.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol

import msgspec

from ferrule.model.decision import Ruling
from ferrule.model.surface import SurfaceEntry, SurfaceRequest
from ferrule.model.tool import SafetyFacts


class JudgedCall(msgspec.Struct, frozen=True, gc=False):
    """The call as it would run: the facts a program may use."""

    arguments: dict[str, Any]
    """A copy of the permission input; a program that changes it changes nothing."""
    facts: SafetyFacts
    """The tool's facts with expressions evaluated for this input."""
    now: int
    """Microseconds since 1970."""


class PolicyProgram(Protocol):
    """The policy for one tool and one caller."""

    fixed: Ruling | None
    """The ruling, when it does not depend on the call."""
    denies_statically: Ruling | None
    """A deny that needs no IO: what `deny_before_io` asks before any preflight (AT-39)."""

    def decide(self, judged: JudgedCall) -> Ruling | Awaitable[Ruling]:
        """Returns the ruling for one call. An exception means no: the pipeline fails closed and records it."""

    def early_deny(self, judged: JudgedCall) -> Ruling | None:
        """Returns the deny that static rules give this call, before anything is probed; None when they do not deny it."""


class PolicyEngine(Protocol):
    """Every rule in force, whatever its source."""

    digest: str
    """Of everything it decides by: equal digests decide equally."""
    text: str
    """The rules in readable form, kept in the ledger so that old decisions can be explained."""

    def program(self, entry: SurfaceEntry, request: SurfaceRequest) -> PolicyProgram:
        """Compiles the policy for this tool and caller."""

    def groups_of(self, person: str) -> frozenset[str]:
        """Returns the groups that the policy puts a person in."""

    def surface_ruling(self, entry: SurfaceEntry, request: SurfaceRequest) -> Ruling | None:
        """Returns a deny that holds for every call of the tool, so that the surface can block it; None when there is
        none."""


class Classification(msgspec.Struct, frozen=True):
    """A classifier's judgement of one call."""

    behavior: str
    """`allow`, `ask` or `deny`."""
    confidence: float
    """0 to 1."""
    reason: str


class Classifier(Protocol):
    """A judge of the input of a call: a visible input to the decision, never a hidden one."""

    name: str

    def classify(self, entry: SurfaceEntry, subject: object) -> Classification | Awaitable[Classification]:
        """Judges one call. `subject` is what the tool's `classifier_input` points at, else all arguments."""
