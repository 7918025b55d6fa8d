"""A ruling that says no, as a decision on record and a stop. Phases 4 (deny before IO) and 7 both end calls this way."""

from __future__ import annotations

from typing import Any

from ferrule.model.decision import Decision, Ruling
from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services


def denied(call: Call, ruling: Ruling, services: Services) -> Stop:
    """The stop of a ruling that says no."""
    call.decisions += (Decision(ruling, services.now()),)
    if call.permission_input is None:
        call.permission_input = call.input
    kind: Any = "policy_blocked" if ruling.is_policy_block else "permission_denied"
    return Stop(kind, ruling.message, policy_refs=ruling.policy_refs)
