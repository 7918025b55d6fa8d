"""Credential fields that a scheme does not take."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.transport import read_transport
from ferrule.definitions.rules.aml.transport_fields import CONNECTION_KEYS, CREDENTIAL_KEYS, EXTENSION, WRITTEN_SECRETS
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.model.value import JsonObject

_BLOCK = ("transport", "credentials")
_BARE = frozenset({"scheme"}) | WRITTEN_SECRETS
_CONNECTION = (CREDENTIAL_KEYS | CONNECTION_KEYS) - WRITTEN_SECRETS


class SuperfluousCredentialField(Rule):
    """The schemes none and iam-role take no other fields, except iam-role for a database.

    Why: a field that is never read suggests a protection that is not there.
    Bad:  {scheme: none, source: env, name: MAIL_TOKEN}
    Good: {scheme: none}
    """

    code = "AML-66"
    name = "superfluous-credential-field"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each field besides `scheme`; for a database at unknown ones only (under AML-15)."""
        _, kind, credentials, scheme = read_transport(subject)
        if scheme == "none":
            yield from self._check_extra(credentials, scheme)
        elif scheme == "iam-role":
            if kind == "database":
                yield from _check_unknown(credentials)
            elif kind is not None:
                yield from self._check_extra(credentials, scheme)

    def _check_extra(self, credentials: JsonObject, scheme: str) -> Iterator[Finding]:
        for key in credentials:
            if key not in _BARE and not key.startswith(EXTENSION):
                message = f"the scheme {scheme} takes no `{key}`"
                yield Finding(self.code, (*_BLOCK, key), message, Severity.WARNING, "remove it", on_key=True)


def _check_unknown(credentials: JsonObject) -> Iterator[Finding]:
    for key in credentials:
        if key not in _CONNECTION and key not in WRITTEN_SECRETS and not key.startswith(EXTENSION):
            message, hint = f"unknown key {key!r} in `transport.credentials`", nearest(key, _CONNECTION)
            yield Finding("AML-15", (*_BLOCK, key), message, Severity.WARNING, hint, on_key=True)
