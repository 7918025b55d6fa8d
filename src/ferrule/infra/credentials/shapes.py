"""The members that a `service-account` secret, and `iam-role` credentials of a database, must have (AML-68, AML-69)."""

from __future__ import annotations

from collections.abc import Mapping

_SERVERS = ("host", "port", "database", "username", "password")

ACCOUNTS: dict[str, tuple[str, ...]] = {
    "aws": ("access_key_id", "secret_access_key"),
    "gcp": ("type", "project_id", "private_key", "client_email"),
    "azure": ("tenant_id", "client_id", "client_secret"),
}
"""Of functions and queues, by provider. Kafka has no shape of its own: its executor says what it needs."""
DATABASES: dict[str, tuple[str, ...]] = {
    "postgresql": _SERVERS,
    "mysql": _SERVERS,
    "mssql": _SERVERS,
    "bigquery": ("project",),
    "snowflake": ("account", "warehouse", "username", "password"),
    "rds-data-api": ("cluster_arn", "database", "username", "password"),
}
"""Of databases with a secret, by engine."""
ROLES: dict[str, tuple[str, ...]] = {
    "postgresql": ("host", "port", "database", "username"),
    "mysql": ("host", "port", "database", "username"),
    "mssql": ("host", "port", "database", "username"),
    "bigquery": ("project",),
    "rds-data-api": ("cluster_arn", "database"),
}
"""Of databases that are reached by role, by engine."""


def required_members(transport_type: str, which: str, scheme: str = "service-account") -> tuple[str, ...]:
    """Returns the members that a transport's credentials must have; `which` is the provider or the engine."""
    if transport_type == "database":
        return (ROLES if scheme == "iam-role" else DATABASES).get(which, ())
    if scheme == "service-account" and transport_type in ("lambda", "message-queue"):
        return ACCOUNTS.get(which, ())
    return ()


def why_misshapen(members: Mapping[str, object], required: tuple[str, ...]) -> str | None:
    """Returns what is wrong with the required members, in one line and without a value; None when nothing is."""
    absent = [name for name in required if members.get(name) in (None, "")]
    if absent:
        return f"lack {', '.join(map(repr, absent))}; add what is missing"
    for name in required:
        value = members[name]
        if name == "port":
            if not _is_port(value):
                return "have a 'port' that is no number from 1 to 65535"
        # Never show the value: it is a secret.
        elif not isinstance(value, str):
            return f"have a {name!r} that is no text"
    if "type" in required and members["type"] != "service_account":
        return "have a 'type' other than 'service_account'; use a service account's key"
    return None


def _is_port(value: object) -> bool:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 5:
        value = int(value)
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65_536
