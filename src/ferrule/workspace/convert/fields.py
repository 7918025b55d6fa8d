"""Maps each field of a tool to its path in a definition, by dialect."""

from __future__ import annotations

from collections.abc import Mapping

from ferrule.model.tool import FACT_NAMES
from ferrule.model.value import Path
from ferrule.schema.pointers import list_position, unescape_step

_AML: Mapping[str, Path] = {
    "tool_id": ("tool_id",),
    "name": ("tool_id",),
    "version": ("version",),
    "title": ("meta", "name"),
    "description": ("meta", "description"),
    "tags": ("meta", "tags"),
    "owner": ("meta", "owner"),
    "lifecycle": ("status",),
    "tool_kind": ("type",),
    "facts": ("type",),
    "inferred_facts": ("type",),
    "input_schema": ("interface", "input"),
    "output_schema": ("interface", "output"),
    "approval_required": ("approval_required",),
    "max_calls_per_run": ("max_calls_per_run",),
    "credentials": ("transport", "credentials"),
}
_ADL: Mapping[str, Path] = {
    "tool_id": ("id",),
    "name": ("id",),
    "title": ("name",),
    "description": ("description",),
    "tags": ("tags",),
    "input_schema": ("schema",),
    "credentials": ("inject",),
}
_OXP: Mapping[str, Path] = {
    "tool_id": ("id",),
    "namespace": ("id",),
    "title": ("id",),
    "name": ("name",),
    "version": ("version",),
    "description": ("description",),
    "input_schema": ("input_schema", "parameters"),
    "output_schema": ("output_schema",),
    "credentials": ("requirements",),
}
_AGENT_TOOL: Mapping[str, Path] = {
    "input_schema": ("input_contract", "model_input_schema"),
    "runtime_input_schema": ("input_contract", "runtime_input_schema"),
    "output_schema": ("output_contract", "structured_schema"),
    "inferred_facts": ("tool_interface",),
    "approval_required": ("permission_profile", "approval_required"),
    "credentials": ("permission_profile", "credential_refs"),
    **{f"facts.{fact}": ("tool_interface", fact) for fact in FACT_NAMES},
}
_HOMES = {"aml": _AML, "adl": _ADL, "oxp": _OXP, "agent_tool": _AGENT_TOOL}

_MOST_MEMBERS = 100_000
"""A larger number is read as a name: no list of a definition is that long, and the list itself is not available here."""


def find_path(dialect: str, field: str) -> Path | None:
    """Returns the path of a loss's field in a definition; None where the dialect has none. Relative to the definition."""
    whole, _, below = field.partition("/")
    prefix, _, own = whole.partition(".")
    if prefix == dialect and own:
        own = own.removeprefix("tool.") if dialect == "adl" else own
        return tuple(own.split("."))
    homes = _HOMES.get(dialect, {})
    home = homes.get(whole) or homes.get(prefix)
    if home is None:
        return (whole,) if dialect == "agent_tool" and prefix == whole else None
    return (*home, *(_parse_step(one) for one in below.split("/"))) if below else home


def _parse_step(written: str) -> str | int:
    step = unescape_step(written)
    position = list_position(step)
    return step if position is None or position >= _MOST_MEMBERS else position
