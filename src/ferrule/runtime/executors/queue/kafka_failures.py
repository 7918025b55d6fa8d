"""What Kafka's failures mean: one table from the names of their types."""

from __future__ import annotations

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.network.guard import Forbidden
from ferrule.model.failure import ErrorClass

_REFUSED: tuple[ErrorClass, str | None] = ("credential_missing", "credential_refused")
_DENIED: tuple[ErrorClass, str | None] = ("permission_denied", "upstream_denied")
_TABLE: dict[str, tuple[ErrorClass, str | None]] = {
    "AuthenticationFailedError": _REFUSED,
    "SaslAuthenticationFailed": _REFUSED,
    "UnsupportedSaslMechanismError": ("setup_required", "sasl_mechanism"),
    "AuthenticationMethodNotSupported": ("setup_required", "sasl_mechanism"),
    "IllegalSaslStateError": ("setup_required", "security_protocol"),
    "TopicAuthorizationFailedError": _DENIED,
    "GroupAuthorizationFailedError": _DENIED,
    "ClusterAuthorizationFailedError": _DENIED,
    "TransactionalIdAuthorizationFailed": _DENIED,
    "MessageSizeTooLargeError": ("invalid_arguments", "message_too_large"),
    "RecordListTooLargeError": ("invalid_arguments", "message_too_large"),
    "RecordTooLargeError": ("invalid_arguments", "message_too_large"),
    "InvalidTopicError": ("setup_required", None),
    "UnknownTopicOrPartitionError": ("execution_failed", "not_found"),
    "PolicyViolationError": ("execution_failed", None),
    "QuotaViolationError": ("rate_limited", None),
    "RequestTimedOutError": ("timeout", None),
    "KafkaTimeoutError": ("timeout", None),
}
"""By type, its parents included. Everything else means that the cluster cannot be had."""


def kafka_failure(what: str, broker: str, error: Exception) -> ExecutionFailed:
    """A failure of the library, or of a connection, as a failure of the call."""
    if isinstance(error, Forbidden):
        return ExecutionFailed(
            "policy_blocked", f"{what}: the Kafka cluster at {broker}: {error}", code="address_forbidden"
        )
    names = [kind.__name__ for kind in type(error).__mro__]
    error_class, code = next((_TABLE[name] for name in names if name in _TABLE), ("dependency_unavailable", None))
    if isinstance(error, TimeoutError):
        error_class = "timeout"
    return ExecutionFailed(
        error_class, f"{what}: Kafka at {broker}: {names[0]}", code=code, native_error_ref=f"kafka:{names[0]}"
    )
