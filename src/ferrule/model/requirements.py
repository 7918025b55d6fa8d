"""What an OXP tool requires of whoever calls it (OXP-14 to OXP-17): names, never values."""

from __future__ import annotations

from typing import Any

import msgspec


class Requirements(msgspec.Struct, frozen=True):
    """`requirements` of an OXP definition, read."""

    secrets: frozenset[str] = frozenset()
    """Their ids."""
    authorization: dict[str, tuple[str, ...]] = {}
    """The scopes that are wanted, by the id of who gives the token."""
    user_id: bool = False

    @property
    def is_anything(self) -> bool:
        """False when nothing is required."""
        return bool(self.secrets or self.authorization or self.user_id)


def read_requirements(written: Any) -> Requirements:
    """The requirements of a compiled payload. What is no requirement that is known here is left alone."""
    if not isinstance(written, dict):
        return Requirements()
    authorization: dict[str, tuple[str, ...]] = {}
    for entry in _named(written.get("authorization")):
        oauth2 = entry.get("oauth2")
        scopes = oauth2.get("scopes") if isinstance(oauth2, dict) else None
        said = [scope for scope in scopes if isinstance(scope, str)] if isinstance(scopes, list) else []
        authorization[entry["id"]] = tuple(dict.fromkeys((*authorization.get(entry["id"], ()), *said)))
    secrets = frozenset(entry["id"] for entry in _named(written.get("secrets")))
    return Requirements(secrets, authorization, written.get("user_id") is True)


def _named(entries: Any) -> list[dict[str, Any]]:
    members = entries if isinstance(entries, list) else []
    return [entry for entry in members if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
