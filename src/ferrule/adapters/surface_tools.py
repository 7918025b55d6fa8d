"""The tools of a surface as any framework can call them: a name and a schema that its model takes, a text as the answer.

Calls take the same path as every other: a policy's refusal, or that a person has to approve, is told to the model in words.
A call that is cancelled here is cancelled there. It also names the frameworks that adapters make tools for. None is an
extra of Ferrule: a user of an adapter has its framework already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from ferrule.app.blocking import SyncSurface
from ferrule.app.export import export_surface
from ferrule.app.surface import SurfaceHandle
from ferrule.definitions.formats.offer import PreparedTool
from ferrule.errors import ExtraMissing
from ferrule.model.result import Pending, Result
from ferrule.model.value import JsonObject

T = TypeVar("T")


class SurfaceTool:
    """One tool of a surface, for a model of one provider."""

    def __init__(self, surface: SurfaceHandle | SyncSurface, offered: PreparedTool) -> None:
        self._surface = surface
        self._offered = offered
        self.name = offered.name
        """As the provider takes it; the surface may know the tool by another."""
        self.description = offered.description
        self.schema: JsonObject = msgspec.json.decode(msgspec.json.encode(offered.schema))
        """Of the arguments; a copy, for frameworks change it."""
        self.is_strict = offered.is_strict

    async def call(self, arguments: JsonObject | str, native_call_id: str | None = None) -> str:
        """Calls the tool with a model's arguments, an object or its JSON, and returns the text for the model."""
        if not isinstance(self._surface, SurfaceHandle):
            raise TypeError("a surface without `await` has to be called with `call_sync`")
        given = self._decode_arguments(arguments)
        return write_outcome(await self._surface.call(self._offered.tool.name, given, native_call_id=native_call_id))

    def call_sync(self, arguments: JsonObject | str, native_call_id: str | None = None) -> str:
        """Returns the same on a surface without `await`."""
        if not isinstance(self._surface, SyncSurface):
            raise TypeError("this surface has to be called with `await`")
        given = self._decode_arguments(arguments)
        return write_outcome(self._surface.call(self._offered.tool.name, given, native_call_id=native_call_id))

    def _decode_arguments(self, arguments: JsonObject | str) -> JsonObject | bytes:
        """Returns the arguments as the tool takes them. What is no JSON goes on as it is, so that its refusal is on record."""
        if isinstance(arguments, str):
            written = arguments.encode(errors="replace") if arguments.strip() else b"{}"
            try:
                found = msgspec.json.decode(written)
            except (msgspec.DecodeError, RecursionError):
                return written
            if not isinstance(found, dict):
                return written
            arguments = found
        return self._offered.decode_arguments(arguments)


def make_tools(
    surface: SurfaceHandle | SyncSurface, made: Callable[[SurfaceTool], T], provider: str, *, is_strict: bool = False
) -> list[T]:
    """Makes a framework's tool of each tool that the surface shows now. A tool whose schema the provider cannot take is left
    out. `provider`: the format its model takes tools in. Raises WorkspaceError for an unknown one."""
    handle = surface if isinstance(surface, SurfaceHandle) else surface.handle
    loaded = {shown.tool_id for shown in handle.tools().tools}
    offered = export_surface(handle, provider, strict=is_strict).offered
    return [made(SurfaceTool(surface, each)) for each in offered if each.tool.tool_id in loaded]


def write_outcome(outcome: Result | Pending) -> str:
    """Writes for a model how a call ended, or what it waits for."""
    if isinstance(outcome, Pending):
        return (
            f"The call has not run yet; it waits ({outcome.state}). {outcome.message}\n"
            f"Do not make it again: it is known as {outcome.invocation_id}."
        )
    blocks = outcome.content if outcome.model_facing_content is None else outcome.model_facing_content
    texts = [_write_block(block) for block in blocks]
    if texts:
        return "\n".join(texts)
    if outcome.error is not None:
        return f"The call failed ({outcome.error.error_class}): {outcome.error.message}"
    if outcome.structured_content is None:
        return "The call succeeded and gave nothing."
    return msgspec.json.encode(outcome.structured_content).decode()


def _write_block(block: JsonObject) -> str:
    if block.get("type") == "text":
        return str(block.get("text", ""))
    kind = block.get("mimeType") or block.get("type") or "unknown"
    where = block.get("uri") or block.get("name") or ""
    return f"[{kind}{f' at {where}' if where else ''}: not shown as text]"


FRAMEWORKS: Mapping[str, str] = {
    "langchain": "langchain-core>=1.0",
    "openai_agents": "openai-agents>=0.20",
    "pydantic_ai": "pydantic-ai-slim>=2.0",
}
"""The requirement of each adapter, by its module; as in the group `test` of pyproject.toml, whose versions are tested."""


def report_missing_framework(adapter: str) -> ExtraMissing:
    """Returns the error of an adapter whose framework cannot be imported."""
    requirement = FRAMEWORKS[adapter]
    package = requirement.partition(">=")[0]
    return ExtraMissing(f"ferrule.adapters.{adapter} needs the package {package!r}; run: pip install '{requirement}'")
