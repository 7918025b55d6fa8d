"""What fitting did to a schema, one thing at a time, and why a schema cannot be fitted."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.loss import Instead
from ferrule.schema.fitting.steps import Step


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that the fitted schema says otherwise, or not at all."""

    path: str
    """The place in the original schema: `properties/when/format`; empty for the whole."""
    why: str
    """Why, in a sentence without a full stop."""
    instead: Instead = "dropped"
    """What was put in its place; `rewritten` is turned back when an answer is decoded."""
    put: str = ""
    """The words or the name that was put there."""


class Fitted(msgspec.Struct, frozen=True):
    """A schema as a provider takes it. Shared by everyone who asks for the same: read it, do not change it."""

    schema: dict[str, Any]
    steps: tuple[Step, ...] = ()
    """How an answer is turned back; empty where it is what the tool takes."""
    changes: tuple[Change, ...] = ()


class Unfit(Exception):
    """A schema that a provider cannot be given in any way; the message says where, why, and what to do."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path
