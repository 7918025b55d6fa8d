"""Puts credentials into a request. They are added last, so that no plan, reference or record holds them."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.contracts.credentials import RequestCredentials
from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.credentials import Credentials
from ferrule.runtime.executors.rest.mapping import ReservedPlaces
from ferrule.runtime.executors.rest.values import is_cookie_value, quote

NO_CREDENTIALS = RequestCredentials({})
_COOKIE = "Cookie"


def reserved_by(credentials: Credentials) -> ReservedPlaces:
    """Returns the places that credentials reserve for themselves."""
    keys = [each for each in (credentials, *credentials.others) if each.scheme == "api-key"]
    return ReservedPlaces(
        frozenset(key.header.lower() for key in keys if key.place == "header"),
        frozenset(key.place_name for key in keys if key.place == "query"),
        frozenset(key.place_name for key in keys if key.place == "cookie"),
    )


def add_credentials(
    path: str, headers: Sequence[tuple[str, str]], shown: RequestCredentials
) -> tuple[str, list[tuple[str, str]]]:
    """Adds the credentials that belong in the query and in cookies to a path and headers. Raises ExecutionFailed."""
    if shown.query:
        pairs = "&".join(f"{quote(name)}={quote(value)}" for name, value in shown.query.items())
        path = f"{path}{'&' if '?' in path else '?'}{pairs}"
    if not shown.cookies:
        return path, list(headers)
    for name, value in shown.cookies.items():
        if not (is_cookie_value(value) and is_cookie_value(name) and "=" not in name):
            raise ExecutionFailed(
                "credential_missing",
                f"the secret for the cookie {name!r} has characters that no cookie can hold",
                code="credential_shape",
            )
    # A request has one Cookie header, so the definition's own cookies stand in the same one.
    written = [value for name, value in headers if name.lower() == "cookie"]
    cookies = "; ".join([*written, *(f"{name}={value}" for name, value in shown.cookies.items())])
    return path, [*(pair for pair in headers if pair[0].lower() != "cookie"), (_COOKIE, cookies)]
