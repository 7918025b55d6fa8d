"""Exports a surface, or an entire catalog, in the format of a provider or a framework.

exported = export_surface(app.surface(agent="support"), "anthropic")
client.messages.create(model=…, messages=…, **exported.request)
name, arguments = exported.decode_call(block.name, block.input)

A surface's export holds exactly the tools that its model would see (`runtime/surface/render.py`); deferred tools are included
where the provider hides them from its model until they are searched for. Nothing is called, and nothing recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.format import Format, WriteOptions
from ferrule.definitions.content.tokens import TokenCounter, find_counter
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.definitions.formats.entries import find_entries
from ferrule.definitions.formats.functions import FunctionList
from ferrule.definitions.formats.offer import PreparedTool
from ferrule.definitions.formats.requests import RequestStart, is_provider, start_request
from ferrule.errors import WorkspaceError
from ferrule.model.diagnostic import Finding
from ferrule.model.hints import nearest
from ferrule.model.loss import Loss
from ferrule.model.surface import Surface, SurfaceSettings
from ferrule.model.tool import FACT_NAMES, SafetyFacts, Tool
from ferrule.model.value import JsonObject, JsonValue
from ferrule.runtime.surface.render import Rendering, ShownTool, render
from ferrule.schema.internal_fields import model_schema

ESTIMATED = find_counter("")


class TokenCount(msgspec.Struct, frozen=True):
    """The number of tokens that a model reads before the first message."""

    counted_by: str
    """`estimate`, or the tokenizer that counted: `o200k_base`, `tekken`."""
    total: int
    """Of all tools that are shown at once, and the instructions."""
    instructions: int
    tools: dict[str, int]
    """Of each tool that is shown at once, by the name it is written under."""
    deferred: dict[str, int] = {}
    """Of each tool that costs nothing until it is searched for."""


class Exported(msgspec.Struct, frozen=True):
    """Tools for a provider."""

    to: str
    request: dict[str, Any]
    """The beginning of a request: `tools` and what goes with them, in the provider's words."""
    losses: tuple[Loss, ...] = ()
    """Details that the format cannot express."""
    left_out: tuple[Finding, ...] = ()
    """Tools that the format cannot express at all; paths are `(tool_id,)`."""
    names: dict[str, str] = {}
    """Names that had to be changed: the exported name to the tool's own."""
    tokens: TokenCount = TokenCount("estimate", 0, 0, {})
    offered: tuple[PreparedTool, ...] = ()

    def decode_call(self, name: str, arguments: JsonObject) -> tuple[str, JsonObject]:
        """Translates a model's call into the tool's own name and arguments, for `surface.call`.

        Reverses changed names and rewritten schemas. A name that is not in this export comes back unchanged, and the
        surface reports it as unknown.
        """
        for each in self.offered:
            if each.name == name:
                return each.tool.name, each.decode_arguments(arguments)
        return name, arguments

    # The name until now; programs written for it go on working.
    meant = decode_call


class WithoutAwait(Protocol):
    """A surface of `ferrule.open_sync`."""

    @property
    def handle(self) -> SurfaceHandle:
        """The surface behind."""
        ...


def export_surface(
    surface: SurfaceHandle | WithoutAwait, to: str, *, strict: bool = False, counter: TokenCounter = ESTIMATED
) -> Exported:
    """Exports the tools that the model of a surface sees. `strict`: the provider enforces the schemas. Raises WorkspaceError
    for an unknown provider."""
    handle = surface if isinstance(surface, SurfaceHandle) else surface.handle
    return _export_surface(handle.surface, handle.tools(), to, strict, counter)


def export_preview(
    surface: Surface,
    settings: SurfaceSettings,
    to: str,
    *,
    strict: bool = False,
    counter: TokenCounter = ESTIMATED,
) -> Exported:
    """Exports a surface that is not in use yet."""
    return _export_surface(surface, render(surface, settings), to, strict, counter)


def _export_surface(surface: Surface, shown: Rendering, to: str, strict: bool, counter: TokenCounter) -> Exported:
    form = _find_format(to)
    able = surface.request.model_capabilities
    strict = strict and able.get("strict_schemas", True) is True
    later = (
        _list_deferred(surface) if getattr(form, "can_defer", False) and able.get("deferred_refs", True) is True else []
    )
    tools = [*map(_build_shown_tool, shown.tools), *later]
    is_parallel = able.get("parallel_calls", True) is True
    beginning = RequestStart(None, shown.tool_choice, shown.instructions, is_parallel, strict)
    options = WriteOptions(is_strict=strict, is_plain=True, deferred=frozenset(tool.tool_id for tool in later))
    return _export_tools(form, tools, options, beginning, counter)


def export_tools(
    tools: Iterable[Tool], to: str, *, strict: bool = False, title: str = "", counter: TokenCounter = ESTIMATED
) -> Exported:
    """Exports tools without their transport. Raises WorkspaceError for an unknown provider."""
    options = WriteOptions(is_strict=strict, is_plain=True, title=title)
    return _export_tools(_find_format(to), list(tools), options, RequestStart(None, is_strict=strict), counter)


def _find_format(to: str) -> Format:
    if to not in FORMATS.names():
        known = FORMATS.names()
        raise WorkspaceError(f"there is no provider {to!r}; {nearest(to, known) or 'known are ' + ', '.join(known)}")
    return FORMATS.get(to)


def _build_shown_tool(shown: ShownTool) -> Tool:
    """Returns a tool with only the parts that a model sees."""
    return _build_tool(shown.tool_id, shown.name, shown.description, shown.input_schema, shown.strict)


def _list_deferred(surface: Surface) -> list[Tool]:
    return [
        _build_tool(
            entry.tool.tool_id,
            surface.shown_name(entry),
            entry.tool.description,
            model_schema(entry.tool),
            entry.tool.facts.strict,
        )
        for entry in surface.entries.values()
        if entry.standing == "deferred" and entry.is_offered
    ]


def _build_tool(tool_id: str, name: str, description: str, schema: msgspec.Raw, strict: bool) -> Tool:
    return Tool(
        tool_id=tool_id,
        namespace="",
        name=name,
        description=description,
        lifecycle="available",
        tool_kind="function",
        dialect="surface",
        input_schema=schema,
        facts=SafetyFacts(strict=strict),
        inferred_facts=FACT_NAMES,
    )


def _export_tools(
    form: Format, tools: Sequence[Tool], options: WriteOptions, beginning: RequestStart, counter: TokenCounter
) -> Exported:
    written = form.write(tools, options)
    own = {name: called for called, name in written.names.items()}
    choice = own.get(beginning.choice, beginning.choice)
    beginning = beginning._replace(tools=written.value, choice=choice)
    document: Any = written.value
    return Exported(
        to=form.name,
        request=start_request(form.name, beginning) if is_provider(form.name) else document,
        losses=written.losses,
        left_out=written.left_out,
        names=dict(written.names),
        tokens=_count_tokens(written.value, beginning.instructions, counter),
        offered=form.offer(tools, options).tools if isinstance(form, FunctionList) else (),
    )


def _count_tokens(document: JsonValue, instructions: str, counter: TokenCounter) -> TokenCount:
    """Counts the tokens of each tool, written as compact JSON."""
    now: dict[str, int] = {}
    later: dict[str, int] = {}
    for definition in _list_definitions(document):
        counts = later if definition.get("defer_loading") is True else now
        counts[_read_name(definition)] = counter.count(msgspec.json.encode(definition).decode())
    told = counter.count(instructions)
    return TokenCount(counter.name, sum(now.values()) + told, told, now, later)


def _list_definitions(document: JsonValue) -> Iterator[JsonObject]:
    """Yields the tools of a list, or the operations of an OpenAPI document."""
    paths = document.get("paths") if isinstance(document, dict) else None
    if isinstance(paths, dict):
        for item in paths.values():
            members = item.values() if isinstance(item, dict) else ()
            yield from (one for one in members if isinstance(one, dict) and "operationId" in one)
        return
    yield from (entry.value for entry in find_entries(document) if isinstance(entry.value, dict))


def _read_name(definition: JsonObject) -> str:
    if isinstance(definition.get("operationId"), str):
        return str(definition["operationId"])
    for inner in (definition, definition.get("function"), definition.get("toolSpec")):
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            return str(inner["name"])
    return ""
