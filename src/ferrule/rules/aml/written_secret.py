"""Secrets written into definition files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.rules.aml.transport import transport_of
from ferrule.rules.aml.transport_fields import WRITTEN_SECRETS

_BLOCK = ("transport", "credentials")


class WrittenSecret:
    """Credentials say where a secret is kept and never hold the secret itself.

    Why: definition files are copied, reviewed and published.
    Bad:  {scheme: bearer-token, token: …}
    Good: {scheme: bearer-token, source: env, name: MAIL_TOKEN}
    """

    code: ClassVar[str] = "AML-71"
    name: ClassVar[str] = "written-secret"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """A finding at each key that would hold a secret. The value is never shown."""
        credentials = transport_of(subject).credentials
        if WRITTEN_SECRETS.isdisjoint(credentials):
            return
        for key in credentials:
            if key in WRITTEN_SECRETS:
                hint = "remove it, change the secret, and name its `source` instead"
                message = f"`{key}` would hold a secret in the definition file"
                yield Finding(self.code, (*_BLOCK, key), message, hint=hint, on_key=True)
