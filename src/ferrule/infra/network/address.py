"""Where a message may go: what `guard.py` lets through, with https unless the host is listed, as settings are told about it."""

from __future__ import annotations

from collections.abc import Collection

from ferrule.errors import SettingsError
from ferrule.infra.network.guard import Forbidden, Guard, Resolve, resolve
from ferrule.infra.network.public import is_public
from ferrule.infra.network.urls import BadUrl, Target, parse_url

__all__ = ["Resolve", "Target", "checked_addresses", "is_public", "parse_target", "resolve"]


def parse_target(url: str, allowed: Collection[str], what: str = "webhook") -> Target:
    """The parts of a URL. Raises SettingsError for one that nothing should be sent to; `what` it is for stands in the message."""
    try:
        target = parse_url(url)
    except BadUrl as error:
        raise SettingsError(f"the {what} address cannot be used: {error}") from None
    if not target.is_secure and not Guard(allowed).lists(target):
        raise SettingsError(
            f"the {what} to {target.host} must use https, or {target.host} must stand in [network] allow"
        )
    return target


def checked_addresses(target: Target, allowed: Collection[str], resolver: Resolve = resolve) -> list[str]:
    """The addresses to connect to, in order. Raises PermissionError when one of them is not public, OSError otherwise."""
    try:
        return Guard(allowed, resolver).addresses(target)
    except Forbidden as error:
        raise PermissionError(str(error)) from None
