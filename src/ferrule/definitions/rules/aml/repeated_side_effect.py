"""Actions that may happen twice."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.transport import read_transport
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import MISSING, is_integer

_POLICY = ("transport", "retry_policy")
_DEFAULT_ATTEMPTS = 3
"""The attempts of a `retry_policy` without `max_attempts` (AML-87)."""


class RepeatedSideEffect(Rule):
    """An action sent by POST or PATCH is not retried.

    Why: a call that failed may still have done its work; a second one does it again.
    Bad:  {max_attempts: 3, on_status: [503]} on an action with `POST /send`
    Good: {max_attempts: 1, on_status: []}
    """

    code = "AML-46"
    name = "repeated-side-effect"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at `max_attempts`, or at `on_status` where that is not written."""
        if read_transport(subject).kind != "rest-api" or subject.get("type") != "action":
            return
        on_status = subject.get(*_POLICY, "on_status")
        if not isinstance(on_status, list) or not on_status or subject.has_error_below((*_POLICY, "on_status")):
            return
        endpoint = subject.get("transport", "endpoint")
        if not isinstance(endpoint, str) or not endpoint.startswith(("POST ", "PATCH ")):
            return
        attempts = subject.get(*_POLICY, "max_attempts")
        if attempts is MISSING:
            if subject.has_error_below((*_POLICY, "max_attempts")):
                return
            attempts, at = _DEFAULT_ATTEMPTS, (*_POLICY, "on_status")
        else:
            at = (*_POLICY, "max_attempts")
        if is_integer(attempts) and attempts > 1:
            method = endpoint.split(" ", 1)[0]
            message = f"an action sent by {method} may be repeated up to {attempts} times"
            yield Finding(self.code, at, message, Severity.WARNING, "set `max_attempts: 1`")
