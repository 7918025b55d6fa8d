"""Database connections by role that lack a part."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.transport import read_transport
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import is_blank

_BLOCK = ("transport", "credentials")
_SERVER = ("host", "port", "database", "username")
_NEEDED = {
    "postgresql": _SERVER,
    "mysql": _SERVER,
    "mssql": _SERVER,
    "rds-data-api": ("cluster_arn", "database"),
    "bigquery": ("project",),
}


class IncompleteConnection(Rule):
    """A database reached by iam-role has its connection fields in the credentials.

    postgresql, mysql and mssql: host, port, database, username. rds-data-api: cluster_arn, database. bigquery: project.

    Why: there is no secret that could hold them.
    Bad:  {scheme: iam-role}
    Good: {scheme: iam-role, host: db.internal, port: 5432, database: orders, username: agent}
    """

    code = "AML-69"
    name = "incomplete-connection"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each field the engine needs."""
        transport = read_transport(subject)
        if transport.kind != "database" or transport.scheme != "iam-role":
            return
        engine, credentials = subject.get("transport", "engine"), transport.credentials
        if not isinstance(engine, str):
            return
        for field in _NEEDED.get(engine, ()):
            if field not in credentials:
                yield Finding(self.code, (*_BLOCK, field), f"{engine} by iam-role needs `{field}` in the credentials")
            elif is_blank(credentials[field]):
                yield Finding(self.code, (*_BLOCK, field), f"`{field}` is empty")
