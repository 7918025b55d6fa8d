"""What must not be told about a call, taken out of whatever is told: to the ledger, to hooks, to people, to whoever called."""

from __future__ import annotations

from typing import Any

from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.inputs import sensitive_values
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.redaction.redactor import ONLY_GIVEN


def secrets_of(call: Call) -> frozenset[str]:
    """The values that are secret for this call only: its sensitive inputs, and what its tool asked to hide."""
    return call.secrets if call.prepared.mask is None else call.secrets | sensitive_values(call)


def without_secrets(call: Call, services: Services, value: Any) -> Any:
    """A JSON value, or a text, without what is secret; the very value given when there is nothing in it."""
    secrets, redactor = secrets_of(call), services.redactor or ONLY_GIVEN
    if not secrets and redactor.is_idle:
        return value
    return redactor.value(value, secrets)[0]
