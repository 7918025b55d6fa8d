"""The `transport` of a tool, read once and shared by the rules about it."""

from __future__ import annotations

from typing import NamedTuple, cast

from ferrule.contracts.rule import Subject
from ferrule.model.value import JsonObject

_NAME = "transport"


class Transport(NamedTuple):
    """The sound parts of `transport`; what is missing or reported as an error is None (or empty)."""

    block: JsonObject
    kind: str | None
    credentials: JsonObject
    scheme: str | None


_NONE = Transport({}, None, {}, None)


def read_transport(subject: Subject) -> Transport:
    """Returns the transport of a tool whose structure has been checked."""
    known = cast("Transport | None", subject.memo.get(_NAME))
    if known is None:
        known = subject.memo[_NAME] = _parse_transport(subject)
    return known


def _parse_transport(subject: Subject) -> Transport:
    block = subject.get("transport")
    if not isinstance(block, dict):
        return _NONE
    credentials = subject.get("transport", "credentials")
    if not isinstance(credentials, dict):
        return Transport(block, _get_word(subject, block, "transport", "type"), {}, None)
    scheme = _get_word(subject, credentials, "transport", "credentials", "scheme")
    return Transport(block, _get_word(subject, block, "transport", "type"), credentials, scheme)


def _get_word(subject: Subject, block: JsonObject, *path: str) -> str | None:
    word = block.get(path[-1])
    return word if isinstance(word, str) and not (subject.has_errors and subject.is_reported(path)) else None
