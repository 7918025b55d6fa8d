"""Credential schemes a transport does not know."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.transport import read_transport
from ferrule.model.diagnostic import Finding, Severity

_WEB = frozenset({"none", "api-key", "bearer-token", "oauth2"})
_CLOUD = frozenset({"iam-role", "service-account"})
_ALLOWED = {"rest-api": _WEB, "mcp": _WEB, "lambda": _CLOUD, "message-queue": _CLOUD, "database": _CLOUD}


class MismatchedScheme(Rule):
    """The credential scheme is one the kind of transport uses.

    rest-api and mcp: none, api-key, bearer-token, oauth2. lambda, message-queue and database: iam-role, service-account.

    Why: the driver may have no way to present such a credential.
    Bad:  {type: lambda, …, credentials: {scheme: api-key, …}}
    Good: {type: lambda, …, credentials: {scheme: iam-role}}
    """

    code = "AML-64"
    name = "mismatched-scheme"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at `scheme` when the transport does not usually take it."""
        _, kind, _, scheme = read_transport(subject)
        if kind is not None and scheme is not None and scheme not in _ALLOWED[kind]:
            usual = ", ".join(sorted(_ALLOWED[kind]))
            message = f"the scheme {scheme} is unusual for {kind}"
            path = ("transport", "credentials", "scheme")
            yield Finding(self.code, path, message, Severity.WARNING, f"usual there: {usual}")
