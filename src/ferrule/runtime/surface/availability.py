"""Reads from a tool's definition when it is available, how it is shown, and which credentials it names (AT-35 to
AT-37).

Credentials are read whatever dialect the tool was written in: names and references only, never a value. `filters` and
the app's doctor stand above; nothing here decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject

# Payloads of these dialects have no `tool_interface`, so decoding them would be wasted time.
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
        """True when its schema is to be fetched before use; an invalid value defers too."""
        return self.should_defer not in (False, None) or self.schema_visibility not in ("loaded", None)


class _Payload(msgspec.Struct):
    tool_interface: Availability = Availability()


DEFAULT_AVAILABILITY = Availability()
UNREADABLE = Availability(is_enabled="unreadable")
_decode = msgspec.json.Decoder(_Payload).decode


def read_availability(tool: Tool) -> Availability:
    """Reads the availability in the tool's interface; defaults where it has none."""
    if tool.dialect in _WITHOUT_INTERFACE:
        return DEFAULT_AVAILABILITY
    try:
        return _decode(tool.payload).tool_interface
    except msgspec.DecodeError:
        return UNREADABLE


_SOURCES = ("name", "secret_id", "secret", "secret_name", "function_id", "credential_id", "credential_ref", "id", "ref")
"""Where the ways of naming a secret put its name."""


def list_credential_names(tool: Tool, stated: Availability) -> tuple[str, ...]:
    """Lists the credentials a tool needs before it can run; `?` stands for one without a readable name."""
    names = (
        []
        if tool.credentials is None
        else list(_NAMES.get(tool.dialect, _list_refs)(msgspec.json.decode(tool.credentials)))
    )
    names += _list_refs(stated.required_credentials)
    return tuple(dict.fromkeys(names))


def _list_aml_names(written: object) -> Iterator[str]:
    """Yields the secret's name; for a scheme without one (`iam-role`, `oauth2`) the token's function, else the
    scheme."""
    if not isinstance(written, dict):
        yield "?"
    elif written.get("scheme") != "none":
        name, scheme = _find_name(written), written.get("scheme")
        yield scheme if name == "?" and isinstance(scheme, str) else name
        others = written.get("x-and")
        for each in others if isinstance(others, list) else ():
            yield from _list_aml_names(each)


def _list_adl_names(written: object) -> Iterator[str]:
    yield from _list_refs(written.get("environment") if isinstance(written, dict) else written)


def _list_oxp_names(written: object) -> Iterator[str]:
    """Yields authorization and secrets. The user id of `requirements` is the principal, which every call has."""
    if isinstance(written, dict):
        yield from _list_refs(written.get("authorization"))
        yield from _list_refs(written.get("secrets"))


def _list_refs(written: object) -> Iterator[str]:
    if written is None or written is False:
        return
    for entry in written if isinstance(written, list | tuple) else [written]:
        yield _find_name(entry) if isinstance(entry, dict) else entry if isinstance(entry, str) and entry else "?"


def _find_name(written: JsonObject) -> str:
    return next((name for key in _SOURCES if isinstance(name := written.get(key), str) and name), "?")


_NAMES = {
    "aml": _list_aml_names,
    "adl": _list_adl_names,
    "oxp": _list_oxp_names,
    "oxp_server": _list_oxp_names,
    "mcp": _list_aml_names,
}
