"""Errors of a generated client's calls: one for each of Ferrule's error classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RETRIES = ("retry", "retry_later")


class CallError(Exception):
    """A call that has no result."""

    error_class = ""
    """One of Ferrule's classes; empty where the server never came to run the call."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        invocation_id: str = "",
        status: int = 0,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        """A finer, stable name; new ones may appear."""
        self.invocation_id = invocation_id
        self.status = status
        """Of HTTP; 0 where there was no answer."""
        self.details: Mapping[str, object] = details or {}
        """All that the server told."""
        retry = self.details.get("retry")
        told: Mapping[str, object] = retry if isinstance(retry, dict) else {}
        self.is_retry_safe = told.get("retry_safe") is True
        """Whether the same call may be made again without harm: nothing would be done
        twice. It may well fail again."""
        seconds = self.details.get("retry_after")
        self.retry_after_seconds = float(seconds) if isinstance(seconds, int | float) else None
        self.recoverability = str(self.details.get("recoverability", ""))
        """What would help: `retry`, `change_arguments`, …"""
        self.is_retryable = self.is_retry_safe and self.recoverability in _RETRIES
        """Whether the same call may be made again, and could succeed then."""


class TransportError(CallError):
    """The server could not be reached, or what it said was no answer."""


class RequestRefusedError(CallError):
    """The server refused the request itself: no or a wrong token, too many calls, …"""


class CallTimeoutError(CallError):
    """The caller's own patience was over; the call was canceled at the server."""


class PendingError(CallError):
    """The call has not ended: it waits for a person, or goes on in the background.

    To wait for it, call with `wait_seconds`. To ask for it later, also in another
    program: `caller.result(error.invocation_id, GetWeatherOutput)`.
    """

    def __init__(self, message: str, *, state: str, **known: Any) -> None:
        super().__init__(message, **known)
        self.state = state
        """`awaiting_approval`, `running`, …"""
        self.expires_at = str(self.details.get("expires_at") or "")
        """Until when it waits; empty where nobody said."""

    @property
    def awaits_approval(self) -> bool:
        """True while a person has to allow the call."""
        return self.state == "awaiting_approval"


class UnknownToolError(CallError):
    """No such tool, or none that this caller may see."""

    error_class = "unknown_tool"


class SchemaNotLoadedError(CallError):
    """The tool has to be looked up before it is called."""

    error_class = "schema_not_loaded"


class SchemaValidationFailedError(CallError):
    """The arguments do not fit the tool's schema."""

    error_class = "schema_validation_failed"


class InvalidArgumentsError(CallError):
    """The arguments fit the schema, and yet make no sense."""

    error_class = "invalid_arguments"


class SetupRequiredError(CallError):
    """Something has to be set up first."""

    error_class = "setup_required"


class CredentialMissingError(CallError):
    """A credential is missing."""

    error_class = "credential_missing"


class CapabilityGapError(CallError):
    """Nothing here can run the tool."""

    error_class = "capability_gap"


class SandboxViolationError(CallError):
    """The tool reached for what it may not have."""

    error_class = "sandbox_violation"


class HookBlockedError(CallError):
    """A hook or a guardrail stopped it."""

    error_class = "hook_blocked"


class PermissionDeniedError(CallError):
    """The policy denies it."""

    error_class = "permission_denied"


class ApprovalRejectedError(CallError):
    """A person said no."""

    error_class = "approval_rejected"


class PolicyBlockedError(CallError):
    """A rule of the surface stops it."""

    error_class = "policy_blocked"


class CanceledError(CallError):
    """The call was canceled."""

    error_class = "canceled"


class SiblingCanceledError(CallError):
    """It was given up because another call failed."""

    error_class = "sibling_canceled"


class StreamingFallbackDiscardedError(CallError):
    """Its attempt was thrown away."""

    error_class = "streaming_fallback_discarded"


class ToolTimeoutError(CallError):
    """The tool took too long."""

    error_class = "timeout"


class RateLimitedError(CallError):
    """Too many calls; `retry_after_seconds` tells when to come back."""

    error_class = "rate_limited"


class DependencyUnavailableError(CallError):
    """Something that the tool needs does not answer."""

    error_class = "dependency_unavailable"


class ExecutionFailedError(CallError):
    """The tool failed."""

    error_class = "execution_failed"


class PartialFailureError(CallError):
    """Some of it was done."""

    error_class = "partial_failure"


class ResultTooLargeError(CallError):
    """The result is larger than a result may be."""

    error_class = "result_too_large"


class ResultRedactedError(CallError):
    """The result may not be shown."""

    error_class = "result_redacted"


BY_CLASS: dict[str, type[CallError]] = {
    each.error_class: each for each in CallError.__subclasses__() if each.error_class
}
"""The error of each class. A class that is not in here yet is a CallError."""
