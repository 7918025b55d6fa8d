"""What two processes say to each other about one call of a function: JSON, each piece after its length."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.runtime.functions.isolation import Place

HEAD_BYTES = 4
MOST_BYTES = 64 * 1024**2
"""No answer is longer."""


class Asked(msgspec.Struct, frozen=True):
    """One call."""

    place: Place
    tool: str
    arguments: dict[str, Any]
    context: dict[str, Any]
    """The plain members of its context."""


class OutputParts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What of an `Output` can be sent."""

    value: Any = None
    is_empty: bool = False
    content: tuple[dict[str, Any], ...] | None = None
    native_refs: tuple[dict[str, Any], ...] = ()
    artifact_refs: tuple[dict[str, Any], ...] = ()
    resource_refs: tuple[dict[str, Any], ...] = ()
    context_modifiers: tuple[dict[str, Any], ...] = ()
    ui_summary: str | None = None
    search_text: str | None = None
    is_private: bool = False


class Failed(msgspec.Struct, frozen=True):
    """An `ExecutionFailed`."""

    error_class: str
    message: str
    code: str | None = None
    retry_after: float | None = None
    native_error_ref: str | None = None
    is_retryable: bool | None = None


class Said(msgspec.Struct, frozen=True):
    """One thing the other side says: on the way, or, with one of the last three, at the end."""

    progress: dict[str, Any] | None = None
    partial: tuple[dict[str, Any], ...] | None = None
    background: tuple[str, str] | None = None
    native: dict[str, Any] | None = None
    secret: str | None = None
    log: tuple[str, int, str] | None = None
    failed: Failed | None = None
    output: OutputParts | None = None
    given: Any = msgspec.UNSET


def frame(value: Any) -> bytes:
    """A value as it is sent."""
    data = msgspec.json.encode(value)
    return len(data).to_bytes(HEAD_BYTES, "big") + data


def size_of(head: bytes) -> int:
    """How long what follows is."""
    return int.from_bytes(head, "big")
