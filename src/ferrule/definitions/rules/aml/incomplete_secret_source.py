"""Secrets that cannot be found because the source is not fully named."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.expect import a_type
from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.transport import read_transport
from ferrule.definitions.rules.aml.transport_fields import SECRET_SCHEMES
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonValue

_BLOCK = ("transport", "credentials")
_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "env": (("name",), ("key",)),
    "aws_secrets_manager": (("secret_id",), ("region", "key")),
    "gcp_secret_manager": (("project", "secret"), ("version", "key")),
    "azure_key_vault": (("vault_url", "secret_name"), ("key",)),
}
"""Required and optional fields of each source."""


class IncompleteSecretSource(Rule):
    """Each `source` has the fields that find the secret, all of them filled texts.

    env: name. aws_secrets_manager: secret_id (region). gcp_secret_manager: project and secret (version).
    azure_key_vault: vault_url and secret_name. Any of them: key, the member of a secret that is a JSON map.

    Why: the secret is looked up only when the tool runs, which is late to find out.
    Bad:  {scheme: bearer-token, source: env}
    Good: {scheme: bearer-token, source: env, name: MAIL_TOKEN}
    """

    code = "AML-63"
    name = "incomplete-secret-source"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each field of the source that is missing, empty or no text."""
        credentials, scheme = read_transport(subject)[2:]
        if scheme not in SECRET_SCHEMES:
            return
        source = subject.get(*_BLOCK, "source")
        if not isinstance(source, str):
            return
        required, optional = _FIELDS.get(source, ((), ()))
        for field in required:
            if field not in credentials:
                yield self._report(field, f"the source {source} needs `{field}`")
            elif problem := _why_unusable(credentials[field]):
                yield self._report(field, f"`{field}` {problem}")
        for field in optional:
            if field in credentials and (problem := _why_unusable(credentials[field])):
                yield self._report(field, f"`{field}` {problem}")

    def _report(self, field: str, message: str) -> Finding:
        return Finding(self.code, (*_BLOCK, field), message)


def _why_unusable(value: JsonValue) -> str | None:
    if not isinstance(value, str):
        return f"must be a string, not {a_type(value)}"
    return None if value.strip() else "is empty"
