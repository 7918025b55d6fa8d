"""Finds the executor of a tool's transport. Each is imported, with its drivers, when its first tool is called.

The pipeline sees one `TransportExecutor`; the executors of the single transports are listed in `builtin.py`."""

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
    from ferrule.runtime.executors.transport_services import TransportServices

_registry: Registry[Callable[[TransportServices], Executor]] = Registry("transport", TRANSPORTS)
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
    """Returns the transport that a tool's definition names; None when it names none, or an unknown one."""
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
    """The executor of all tools that are reached through a transport."""

    support = Support(cancel=True)

    def __init__(self, services: Callable[[], TransportServices], programs: Iterable[McpProgram] = ()) -> None:
        """`services`: builds the executors' services when the first one needs them. `programs`: MCP programs that run tools
        defined here, whatever transport their definitions name."""
        self._services = services
        self._programs = tuple(programs)
        self._executors: dict[str, Executor] = {}

    def can_run(self, tool: Tool) -> bool:
        """Returns True for a tool that a program runs, or whose definition names a transport."""
        return self._kind(tool) is not None

    def has_program(self, tool: Tool) -> bool:
        """Returns True for a tool that a program of `[mcp.programs]` runs."""
        return any(each.runs(tool.tool_id) for each in self._programs)

    def _kind(self, tool: Tool) -> str | None:
        return MCP if self.has_program(tool) else transport_of(tool)

    def prepare(self, tool: Tool) -> Run:
        """Returns the tool's runner. Raises ExecutionFailed (`setup_required`, with what is missing)."""
        return self.executor_of(tool).prepare(tool)

    def receiver(self, tool: Tool) -> Receiver | None:
        """Returns the receiver of replies for a tool; None when it has none."""
        find: Callable[[Tool], Receiver | None] | None = getattr(self.executor_of(tool), "receiver", None)
        return find(tool) if find is not None else None

    def reply_value(self, tool: Tool, value: object) -> Any:
        """Extracts the answer from what a receiver brought for a tool."""
        read: Callable[[Tool, Any], Any] | None = getattr(self.executor_of(tool), "reply_value", None)
        return value if read is None else read(tool, value)

    def executor_of(self, tool: Tool) -> Executor:
        """Returns the executor of a tool's transport. Raises ExecutionFailed when its driver is not installed."""
        kind = self._kind(tool)
        if kind is None:
            raise ExecutionFailed("setup_required", f"the definition of {tool.tool_id!r} names no transport")
        made = self._executors.get(kind)
        if made is None:
            made = self._executors[kind] = _registry.get(kind)(self._services())
        return made

    async def aclose(self) -> None:
        """Closes every executor, with its connections and processes."""
        made, self._executors = list(self._executors.values()), {}
        for executor in made:
            await executor.aclose()
