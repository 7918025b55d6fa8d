"""Bindings of functions that are not called as tools: resources, prompts and completions, and what they may return.

Each is a tool all the same: read-only, declared so, and run, judged and recorded like any other. A resource returns
contents, a prompt returns messages. Stands below `decorators.py`; does not know the servers that list them.
"""

from __future__ import annotations

import inspect
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from ferrule.errors import BindingError
from ferrule.model.tool import CompletionExposure, Exposure, PromptExposure, ResourceExposure, Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.binding import Binding, ToolOptions
from ferrule.runtime.functions.conversion import to_json
from ferrule.runtime.functions.signature import ABSENT, format_label
from ferrule.runtime.functions.uri_template import InvalidTemplate, UriTemplate, parse_uri_template

_CONTENT = frozenset({"uri", "mimeType", "text", "blob", "_meta"})
_ROLES = ("user", "assistant")
JSON_TYPE, TEXT_TYPE, BINARY_TYPE = "application/json", "text/plain", "application/octet-stream"


def to_contents(value: object, mime_type: str = "") -> JsonObject:
    """Converts a resource's return value to contents: a text, bytes, an object with `text` or `blob`, a list of
    these, or other JSON. None and an empty list mean that nothing is at this address."""
    if value is None:
        return {"contents": []}
    if isinstance(value, list | tuple) and all(map(_is_content, value)):
        return {"contents": [_to_content(member, mime_type) for member in value]}
    return {"contents": [_to_content(value, mime_type)]}


def _is_content(value: object) -> bool:
    if isinstance(value, bytes | bytearray):
        return True
    return isinstance(value, dict) and value.keys() <= _CONTENT and ("text" in value) != ("blob" in value)


def _to_content(value: Any, mime_type: str) -> JsonObject:
    if isinstance(value, str):
        return {"mimeType": mime_type or TEXT_TYPE, "text": value}
    if isinstance(value, bytes | bytearray):
        return {"mimeType": mime_type or BINARY_TYPE, "blob": b64encode(value).decode()}
    if not _is_content(value):
        return {"mimeType": mime_type or JSON_TYPE, "text": msgspec.json.encode(to_json(value)).decode()}
    given = dict(value)
    if isinstance(given.get("blob"), bytes | bytearray):
        given["blob"] = b64encode(given["blob"]).decode()
    given.setdefault("mimeType", mime_type or (BINARY_TYPE if "blob" in given else TEXT_TYPE))
    return given


def to_messages(value: object) -> JsonObject:
    """Converts a prompt's return value to messages: a text or a content block becomes the user's; a message has
    `role` and `content`; a list, or an object with `messages` and a `description`, passes. Raises ValueError."""
    if isinstance(value, dict) and "messages" in value:
        described = {"description": value["description"]} if isinstance(value.get("description"), str) else {}
        return {**described, "messages": list(_iterate_messages(value["messages"]))}
    return {"messages": list(_iterate_messages(value))}


def _iterate_messages(value: object) -> Iterable[JsonObject]:
    for member in value if isinstance(value, list | tuple) else (value,):
        role, content = "user", member
        if isinstance(member, dict) and "role" in member:
            role, content = member["role"], member.get("content")
        if role not in _ROLES:
            raise ValueError(f"{role!r} is not a role; a message is the user's or the assistant's")
        for block in content if isinstance(content, list | tuple) else (content,):
            yield {"role": role, "content": _to_block(block)}


def _to_block(block: object) -> JsonObject:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise ValueError("a message holds a text or a content block")
    if block["type"] == "resource" and isinstance(block.get("resource"), dict):
        return {**block, "resource": _add_resource_type(block["resource"])}
    return block


def _add_resource_type(resource: JsonObject) -> JsonObject:
    """Adds the MIME type that an embedded resource does not state."""
    kind = BINARY_TYPE if "blob" in resource else TEXT_TYPE
    return {**resource, "mimeType": resource.get("mimeType") or kind}


Complete = Callable[..., Any] | Sequence[str]
"""Values of an argument: the values, or a function of what was typed (and of the other arguments) that finds them."""
_KEPT_SECONDS = 600
"""How long the bytes of a large resource are kept after a read; it can be read again."""


class ExposedBinding(Binding):
    """A function of a resource or a prompt."""

    def __init__(
        self,
        function: Callable[..., Any],
        exposure: Exposure,
        complete: Mapping[str, Complete],
        **options: Any,
    ) -> None:
        super().__init__(function, **options)
        self.exposure = exposure
        self._complete = dict(complete)
        if isinstance(exposure, ResourceExposure):
            self.shape = partial(to_contents, mime_type=exposure.mime_type)
        elif isinstance(exposure, PromptExposure):
            self.shape = to_messages

    def isolate(self) -> Binding:
        """Raises BindingError: contents and messages cannot be sent from another process."""
        raise BindingError(f"{self.label} is a resource or a prompt, which cannot run in a process of its own")

    def with_companions(self) -> tuple[Binding, ...]:
        """Returns the binding, followed by the functions that complete its arguments."""
        found = (_Completer(self, name, each) for name, each in self._complete.items() if callable(each))
        return (self, *found)

    def _build_tool(self) -> Tool:
        self._check_names()
        return msgspec.structs.replace(super()._build_tool(), exposed_as=self._with_completions())

    def _with_completions(self) -> Exposure:
        values = {name: tuple(each) for name, each in self._complete.items() if not callable(each)}
        if not values or isinstance(self.exposure, CompletionExposure):
            return self.exposure
        return msgspec.structs.replace(self.exposure, completions=values)

    def _check_names(self) -> None:
        parameters = {each.field: each for each in self.signature.parameters}
        for name in self._complete:
            if name not in parameters:
                raise BindingError(
                    f"{self.label} completes {name!r}, which is none of its parameters; correct the name"
                )
        if not isinstance(self.exposure, ResourceExposure):
            return
        template = parse_template(self.exposure.uri, self.label)
        needed = {name for name, each in parameters.items() if each.default is ABSENT}
        for name in template.names:
            if name not in parameters:
                raise BindingError(f"the address of {self.label} has {name!r}, which is none of its parameters")
        if missing := sorted(needed - set(template.names)):
            raise BindingError(
                f"the address of {self.label} says nothing of its parameter {missing[0]!r}; add {{{missing[0]}}}"
            )
        if loose := sorted(needed & set(template.optional)):
            raise BindingError(
                f"an address may leave {loose[0]!r} out, so that parameter of {self.label} needs a default"
            )

    def _make_output_schema(self) -> JsonObject | None:
        return None

    def _payload(self) -> JsonObject:
        policy = {"scope": "session", "expires_seconds": _KEPT_SECONDS}
        return {**super()._payload(), "output_contract": {"persistence_policy": policy}}


class _Completer(ExposedBinding):
    """A function that finds values of an argument."""

    def __init__(self, of: ExposedBinding, argument: str, function: Callable[..., object]) -> None:
        tool = of.tool
        assert tool is not None  # it makes its own
        name = f"{tool.name}.complete.{argument}"
        said = ToolOptions(
            name=name,
            namespace=tool.namespace,
            description=f"Values for {argument!r} of {tool.name!r}.",
            read_only=True,
            destructive=False,
            concurrency_safe=True,
            timeout_seconds=10.0,
        )
        exposure = CompletionExposure(of=tool.tool_id, argument=argument)
        super().__init__(_wrap_completer(function), exposure, {}, stated=said)
        self.shape = _to_strings


def _to_strings(found: Any) -> list[str]:
    return [str(value) for value in found or ()]


def _wrap_completer(function: Callable[..., Any]) -> Callable[..., object]:
    """Wraps a completer in the one signature that all completers have."""
    try:
        takes = len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise BindingError(f"{format_label(function)} has no signature to read; wrap it in a function") from None
    if not 1 <= takes <= 2:
        raise BindingError(
            f"{format_label(function)} completes an argument: it takes what was typed, and may take the others"
        )

    async def find_async(value: str, arguments: dict[str, Any]) -> object:
        return await function(value, arguments) if takes == 2 else await function(value)

    def find(value: str, arguments: dict[str, Any]) -> object:
        return function(value, arguments) if takes == 2 else function(value)

    chosen: Callable[..., Any] = find_async if inspect.iscoroutinefunction(function) else find
    chosen.__module__ = getattr(function, "__module__", chosen.__module__)
    chosen.__qualname__ = getattr(function, "__qualname__", chosen.__qualname__)
    return chosen


def parse_template(uri: str, where: str) -> UriTemplate:
    """Parses an address or a template of addresses. Raises BindingError."""
    try:
        return parse_uri_template(uri)
    except InvalidTemplate as bad:
        raise BindingError(f"the address {uri!r} of {where} cannot be used: {bad}") from None
