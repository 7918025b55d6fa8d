"""One tool written in a dialect by itself, as `ferrule convert` writes it among others."""

from __future__ import annotations

from typing import NamedTuple

from ferrule.definitions.dialects import adl_emit, agent_tool_emit, aml_emit, oxp_emit
from ferrule.model.diagnostic import Finding
from ferrule.model.loss import Loss
from ferrule.model.tool import Tool
from ferrule.model.value import JsonValue


class Emitted(NamedTuple):
    """What is written, and what that does not say."""

    value: JsonValue
    losses: tuple[Loss, ...]
    demands: tuple[Finding, ...] = ()


def emit_adl(tool: Tool) -> Emitted:
    """A manifest with this tool alone."""
    agent, version = adl_emit.choose_agent([tool])
    found = adl_emit.emit_tool(tool, agent, version)
    value, demands = adl_emit.join_manifest([found.value], agent, version)
    return Emitted(value, found.losses, (*found.demands, *demands))


def emit_aml(tool: Tool) -> Emitted:
    """The text of the tool's file."""
    found = aml_emit.emit_tool(tool)
    return Emitted(aml_emit.format_file(found.value), found.losses, found.demands)


def emit_oxp(tool: Tool) -> Emitted:
    """The definition."""
    return Emitted(*oxp_emit.emit_tool(tool))


def emit_agent_tool(tool: Tool) -> Emitted:
    """The declaration, the interface and the profiles."""
    found = agent_tool_emit.emit_tool(tool)
    return Emitted(agent_tool_emit.split_records(tool, found.value), found.losses, found.demands)
