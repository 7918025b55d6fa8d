"""Database connections described outside the credentials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ferrule.contracts.rule import Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.rules.aml.transport import transport_of
from ferrule.rules.aml.transport_fields import CONNECTION_KEYS

_MISPLACED = CONNECTION_KEYS | {"connection_source"}


class ExposedConnection:
    """A database transport says nothing about the connection; all of that is inside `credentials` or the secret.

    Why: host and account are part of what has to be protected, and change with the secret.
    Bad:  transport: {type: database, host: db.internal}
    Good: credentials: {scheme: service-account, source: env, name: DB_CONNECTION}
    """

    code: ClassVar[str] = "AML-57"
    name: ClassVar[str] = "exposed-connection"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """A finding at each connection key directly under `transport`."""
        transport = transport_of(subject)
        if transport.kind != "database" or _MISPLACED.isdisjoint(transport.block):
            return
        for key in transport.block:
            if key in _MISPLACED:
                message = f"`{key}` belongs inside `credentials`, not directly under `transport`"
                hint = "name the secret with `source` and its fields" if key == "connection_source" else None
                yield Finding(self.code, ("transport", key), message, hint=hint, on_key=True)
