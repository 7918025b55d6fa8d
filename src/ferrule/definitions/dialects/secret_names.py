"""What a tool's credentials are called, whatever dialect says it: names, never where a secret is kept and never its value."""

from __future__ import annotations

from typing import Any

from ferrule.model.credentials import BadCredentials, read_credentials

_REQUIREMENTS = frozenset({"authorization", "secrets", "user_id"})


def requirements_of(credentials: Any) -> dict[str, Any] | None:
    """The credentials of any dialect as OXP requires them (OXP-14 to OXP-17); None when nothing is required by name."""
    if isinstance(credentials, dict) and not _REQUIREMENTS.isdisjoint(credentials):
        return credentials
    if isinstance(credentials, dict) and "scheme" in credentials:
        return _of_scheme(credentials)
    names = secret_names(credentials)
    return {"secrets": [{"id": name} for name in names]} if names else None


def secret_names(credentials: Any) -> tuple[str, ...]:
    """The names by which secrets and providers are asked for."""
    if isinstance(credentials, list):
        return tuple(name for name in credentials if isinstance(name, str) and name)
    if not isinstance(credentials, dict):
        return ()
    if isinstance(credentials.get("environment"), list):
        return secret_names(credentials["environment"])
    needed = _of_scheme(credentials) if "scheme" in credentials else credentials
    items = [item for key in ("secrets", "authorization") for item in _items(needed, key)]
    return tuple(dict.fromkeys(item["id"] for item in items if isinstance(item.get("id"), str) and item["id"]))


def _items(needed: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    found = (needed or {}).get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _of_scheme(written: dict[str, Any]) -> dict[str, Any] | None:
    """Credentials of an AML transport: a secret by its name, a token by who gives it; a role of the platform needs neither."""
    try:
        credentials = read_credentials(written)
    except BadCredentials:
        return None
    if credentials.scheme == "oauth2":
        provider = {"id": credentials.provider or credentials.label}
        return {"authorization": [{**provider, "oauth2": {"scopes": list(credentials.scopes)}}]}
    if credentials.ref is None or not credentials.ref.label:
        return None
    return {"secrets": [{"id": credentials.ref.label}]}
