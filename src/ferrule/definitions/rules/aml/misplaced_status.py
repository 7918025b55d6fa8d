"""Error codes that are no HTTP status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.definitions.rules.aml.fields import is_status_code
from ferrule.model.diagnostic import Finding, Severity


class MisplacedStatus:
    """`error_codes` maps HTTP status codes (100 to 599) to a `meaning` and an `agent_action`, both filled in.

    Why: the failing response is looked up by its status, and the model is told both texts.
    Bad:  error_codes: {rate-limit: {meaning: Too many calls}}
    Good: error_codes: {429: {meaning: Too many calls, agent_action: Wait a minute and repeat}}
    """

    code: ClassVar[str] = "AML-36"
    name: ClassVar[str] = "malformed-error-code"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """A finding at each key that is no status code."""
        codes = subject.get("error_codes")
        if isinstance(codes, dict):
            for key in codes:
                if not is_status_code(key):
                    message = f"{key!r} is no HTTP status code from 100 to 599"
                    hint = "write one entry per status, such as `429:`"
                    yield Finding(self.code, ("error_codes", key), message, hint=hint, on_key=True)
