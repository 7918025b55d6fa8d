"""One tool as rules see it: its names, profile, native ids and the arguments that hold paths, commands, addresses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ferrule.model.decision import Risk
from ferrule.model.surface import SurfaceEntry
from ferrule.model.tool import Tool
from ferrule.runtime.policy.facts import depends_on_input
from ferrule.runtime.policy.records import permission_profile, risk_of
from ferrule.runtime.policy.values import Fields, kinds_of_name

_PLAIN = ("source", "type", "description", "title", "notes", "method")
"""Members of a mapping or transport that are no id."""


class ToolView:
    """What no caller and no argument changes."""

    __slots__ = (
        "aliases",
        "asks_facts",
        "fields",
        "has_command",
        "is_approval_required",
        "names",
        "native_ids",
        "risk",
        "tool",
    )

    def __init__(self, tool: Tool) -> None:
        payload: Any = msgspec.json.decode(tool.payload)
        payload = payload if isinstance(payload, dict) else {}
        profile = permission_profile(payload)
        schema: Any = msgspec.json.decode(tool.input_schema)
        self.tool = tool
        self.names = (tool.tool_id, tool.name, f"{tool.namespace}.{tool.name}")
        self.aliases = tuple(name for alias in tool.aliases for name in (alias, f"{tool.namespace}.{alias}"))
        self.native_ids = tuple(dict.fromkeys(_native_ids(payload)))
        self.risk: Risk = risk_of(tool, profile)
        matching = profile.get("rule_matching_fields")
        self.fields = Fields(schema, matching if isinstance(matching, list) else (), _command_field(tool))
        self.has_command = tool.tool_kind == "shell_command" or _names_command(schema)
        self.is_approval_required = tool.approval_required or profile.get("approval_required") is True
        self.asks_facts = depends_on_input(tool.facts)
        """True when some fact is known only once the input is."""

    def requirements(self, entry: SurfaceEntry) -> tuple[str, ...]:
        """Who requires an approval of every call, whatever the rules say."""
        own = ("tool",) if self.is_approval_required and "tool" not in entry.approval_from else ()
        return (*own, *entry.approval_from)


def _command_field(tool: Tool) -> str:
    """The argument of a shell tool that its definition points classifiers at: its command, whatever it is called."""
    written = tool.facts.classifier_input
    is_pointing = tool.tool_kind == "shell_command" and isinstance(written, str) and written.startswith("input.")
    return written.removeprefix("input.") if is_pointing else ""


def _names_command(schema: Any) -> bool:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and any("command" in kinds_of_name(name) for name in properties)


def _native_ids(payload: dict[str, Any]) -> Iterator[str]:
    """Names the tool has elsewhere: its mappings, its interface's native ids, its transport."""
    mappings = payload.get("external_mappings")
    for mapping in mappings if isinstance(mappings, list) else ():
        if isinstance(mapping, dict):
            yield from _ids_of(mapping, mapping.get("source"))
    interface = payload.get("tool_interface")
    native = interface.get("native_ids") if isinstance(interface, dict) else None
    if isinstance(native, dict):
        yield from _ids_of(native, None)
    transport = payload.get("transport")
    if isinstance(transport, dict):
        yield from _ids_of(transport, transport.get("type"))
    if isinstance(payload.get("id"), str):
        yield payload["id"]


def _ids_of(mapping: dict[str, Any], source: Any) -> Iterator[str]:
    for key, value in mapping.items():
        if isinstance(value, str) and key not in _PLAIN:
            yield value
            if isinstance(source, str):
                yield f"{source}:{value}"
