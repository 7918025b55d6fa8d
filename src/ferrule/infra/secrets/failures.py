"""What a store's failure means for a secret: whether another try may help, and what to tell."""

from __future__ import annotations

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.secrets import SecretUnavailable
from ferrule.model.failure import ErrorClass

TIMEOUT_SECONDS = 10.0
"""How long a store may take."""
_PASSING: frozenset[ErrorClass] = frozenset({"dependency_unavailable", "rate_limited", "timeout"})
"""Another try may help."""
_OURS: frozenset[ErrorClass] = frozenset({"setup_required", "policy_blocked"})
"""Not the secret's fault: told as they are."""


def unavailable(label: str, failure: ExecutionFailed) -> Exception:
    """What to raise when the store could not be asked, or did not answer well."""
    if failure.error_class in _OURS:
        return failure
    return SecretUnavailable(
        f"the secret {label!r} cannot be had: {failure.message}",
        is_final=failure.error_class not in _PASSING,
        reference=failure.native_error_ref,
        retry_after=failure.retry_after,
    )
