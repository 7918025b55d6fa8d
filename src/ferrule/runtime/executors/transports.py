"""Finds the executor of a tool's transport. Each is loaded when its first tool is called; its drivers are loaded with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ferrule.contracts.executor import ExecutionFailed, Executor, Run, Support
from ferrule.contracts.receiver import Receiver
from ferrule.contracts.registry import Registry
from ferrule.infra.lockfile.oxp_tools import SERVER_DIALECT
from ferrule.model.tool import Tool
from ferrule.model.upstreams import McpProgram
from ferrule.runtime.executors.builtin import TRANSPORTS

if TYPE_CHECKING:
    from ferrule.runtime.executors.surroundings import Surroundings

_registry: Registry[Callable[[Surroundings], Executor]] = Registry("transport", TRANSPORTS)
HUMAN = "human"
MCP = "mcp"
OXP = "oxp"


class _Transport(msgspec.Struct):
    type: Any = None


class _Payload(msgspec.Struct):
    type: Any = None
    transport: _Transport | None = None


_decode = msgspec.json.Decoder(_Payload).decode


def transport_of(tool: Tool) -> str | None:
    """What a tool's definition says about how it is reached; None when it says nothing, or nothing that is known."""
    if tool.dialect == "mcp":
        return MCP
    if tool.dialect == SERVER_DIALECT:
        return OXP
    if tool.dialect != "aml":
        return None
    try:
        payload = _decode(tool.payload)
    except msgspec.DecodeError:
        return None
    if payload.type == HUMAN:
        return HUMAN
    kind = payload.transport.type if payload.transport is not None else None
    return kind if isinstance(kind, str) and kind in TRANSPORTS else None


class TransportExecutor:
    """All transports, behind one door."""

    support = Support(cancel=True)

    def __init__(self, surroundings: Callable[[], Surroundings], programs: Iterable[McpProgram] = ()) -> None:
        """`surroundings`: what executors are given, made when the first one needs it. `programs`: those that do the work of tools
        which are defined here, whatever transport their definitions name."""
        self._surroundings = surroundings
        self._programs = tuple(programs)
        self._made: dict[str, Executor] = {}

    def can_run(self, tool: Tool) -> bool:
        """True for a tool that a program runs, or whose definition names a transport."""
        return self._kind(tool) is not None

    def has_program(self, tool: Tool) -> bool:
        """True for a tool whose work a program of `[mcp.programs]` does."""
        return any(each.runs(tool.tool_id) for each in self._programs)

    def _kind(self, tool: Tool) -> str | None:
        return MCP if self.has_program(tool) else transport_of(tool)

    def prepare(self, tool: Tool) -> Run:
        """The tool's runner. Raises ExecutionFailed (`setup_required`, with what is missing)."""
        return self.behind(tool).prepare(tool)

    def receiver(self, tool: Tool) -> Receiver | None:
        """What brings answers from outside for a tool; None when nothing does."""
        find: Callable[[Tool], Receiver | None] | None = getattr(self.behind(tool), "receiver", None)
        return find(tool) if find is not None else None

    def reply_value(self, tool: Tool, value: Any) -> Any:
        """The answer in what a receiver brought for a tool."""
        read: Callable[[Tool, Any], Any] | None = getattr(self.behind(tool), "reply_value", None)
        return value if read is None else read(tool, value)

    def behind(self, tool: Tool) -> Executor:
        """The executor of a tool's transport. Raises ExecutionFailed when its driver is not installed."""
        kind = self._kind(tool)
        if kind is None:
            raise ExecutionFailed("setup_required", f"the definition of {tool.tool_id!r} names no transport")
        made = self._made.get(kind)
        if made is None:
            made = self._made[kind] = _registry.get(kind)(self._surroundings())
        return made

    async def aclose(self) -> None:
        """Let go of every connection and process."""
        made, self._made = list(self._made.values()), {}
        for executor in made:
            await executor.aclose()
