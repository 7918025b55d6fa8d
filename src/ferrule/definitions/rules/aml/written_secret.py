"""Secrets written into definition files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.transport import read_transport
from ferrule.definitions.rules.aml.transport_fields import WRITTEN_SECRETS
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonValue

_BLOCK = ("transport", "credentials")


class WrittenSecret(Rule):
    """Credentials say where a secret is kept and never hold the secret itself.

    Why: definition files are copied, reviewed and published.
    Bad:  {scheme: bearer-token, token: …}
    Good: {scheme: bearer-token, source: env, name: MAIL_TOKEN}
    """

    code = "AML-71"
    name = "written-secret"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each key that would hold a secret. The value is never shown."""
        credentials = read_transport(subject).credentials
        yield from self._check_keys(credentials, _BLOCK)
        others = credentials.get("x-and")
        for index, each in enumerate(others if isinstance(others, list) else ()):
            if isinstance(each, dict):
                yield from self._check_keys(each, (*_BLOCK, "x-and", index))

    def _check_keys(self, credentials: Mapping[str, JsonValue], path: tuple[str | int, ...]) -> Iterator[Finding]:
        if WRITTEN_SECRETS.isdisjoint(credentials):
            return
        for key in credentials:
            if key in WRITTEN_SECRETS:
                hint = "remove it, change the secret, and name its `source` instead"
                message = f"`{key}` would hold a secret in the definition file"
                yield Finding(self.code, (*path, key), message, hint=hint, on_key=True)
