"""Which call is running here: a tool that calls other tools is their parent, and never waits for itself.

The one context variable of the pipeline. A tool may call others through whatever it holds, in threads and tasks of its own;
nothing else could tell that such a call belongs to the one that runs (docs/decisions/0014-scheduling.md).
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

RUNNING: ContextVar[Any] = ContextVar("ferrule_running_call", default=None)
"""The call whose tool runs in this context; None outside of tools."""


def place_of(call: Any) -> Any:
    """The place of a call that runs, for the calls inside it; None when it has ended. One that slipped in without a place
    gets one now."""
    if call.state not in ("running", "partial_result"):
        return None
    if call.slipped is not None:
        call.place, call.slipped = call.slipped.settle(call.prepared.claim), None
    return call.place
