"""Database connections described outside the credentials."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.secret_reference import advise
from ferrule.definitions.rules.aml.transport import read_transport
from ferrule.definitions.rules.aml.transport_fields import CONNECTION_KEYS
from ferrule.model.diagnostic import Finding, Severity

_MISPLACED = CONNECTION_KEYS | {"connection_source"}
_MOVE = "move it into `credentials` (scheme iam-role), or into the secret (scheme service-account)"
_HINTS = {
    "password": "remove it, change the password, and keep it in the secret that `credentials` names",
}


class ExposedConnection(Rule):
    """A database transport says nothing about the connection; all of that is inside `credentials` or the secret.

    Why: host and account are part of what has to be protected, and change with the secret.
    Bad:  transport: {type: database, host: db.internal}
    Good: credentials: {scheme: service-account, source: env, name: DB_CONNECTION}
    """

    code = "AML-57"
    name = "exposed-connection"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each connection key directly under `transport`."""
        transport = read_transport(subject)
        if transport.kind != "database" or _MISPLACED.isdisjoint(transport.block):
            return
        for key in transport.block:
            if key in _MISPLACED:
                message = f"`{key}` does not belong directly under `transport`"
                hint = _HINTS.get(key, _MOVE)
                if key == "connection_source":
                    hint = f"in `credentials`, with `scheme: service-account`, {advise(transport.block[key])}"
                yield Finding(self.code, ("transport", key), message, hint=hint, on_key=True)
