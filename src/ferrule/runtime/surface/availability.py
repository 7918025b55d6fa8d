"""What a tool's interface says about when it can be used and how it is shown (AT-35 to AT-37). Reads nothing else of it."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.tool import Tool

_WITHOUT_INTERFACE = frozenset({"aml", "adl", "oxp"})


class Availability(msgspec.Struct, frozen=True):
    """The partition as written: values may be of any type, and what is not plainly good counts against the tool."""

    is_enabled: Any = True
    requires_setup: Any = False
    required_credentials: Any = ()
    model_requirements: Any = {}
    feature_gate_refs: Any = ()
    schema_visibility: Any = "loaded"
    should_defer: Any = False
    always_load: Any = False

    @property
    def is_always_loaded(self) -> bool:
        """True only for a plain `always_load: true`."""
        return self.always_load is True

    @property
    def is_deferred(self) -> bool:
        """True when its schema is to be fetched before use; a value nobody understands defers too."""
        return self.should_defer not in (False, None) or self.schema_visibility not in ("loaded", None)


class _Payload(msgspec.Struct):
    tool_interface: Availability = Availability()


PLAIN = Availability()
UNREADABLE = Availability(is_enabled="unreadable")
_decode = msgspec.json.Decoder(_Payload).decode


def availability(tool: Tool) -> Availability:
    """What the tool's interface states; defaults where it has none."""
    if tool.dialect in _WITHOUT_INTERFACE:
        return PLAIN
    try:
        return _decode(tool.payload).tool_interface
    except msgspec.DecodeError:
        return UNREADABLE
