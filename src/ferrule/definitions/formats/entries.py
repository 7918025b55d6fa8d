"""Finds the tools in a document: one tool, a list, a request that contains a list, or a server's response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonObject, JsonValue, Path

UNREAD = "unread-tool"
LEFT_OUT = "left-out-tool"
REFUSED_NAME = "refused-name"
_CONTAINERS = (
    "tools", "functions", "functionDeclarations", "function_declarations", "toolConfig", "tool_config", "body", "request",
    "params", "result", "config",
)  # fmt: skip
"""Members that hold tools, or an object around them."""
SCHEMAS = frozenset({"parameters", "parametersJsonSchema", "parameters_json_schema", "input_schema", "inputSchema"})
"""The keys under which providers look for a schema."""
_WRAPPERS = frozenset({"function", "toolSpec"})
_DEEPEST = 8


class DocumentEntry(NamedTuple):
    """A value at a place where a tool is expected."""

    path: Path
    value: JsonValue
    group: JsonObject | None = None
    """The members of its group, where lists have named groups."""


class UnreadableTool(Exception):
    """A tool that cannot be read."""

    def __init__(self, message: str, path: Path = (), hint: str | None = None, *, is_expected: bool = False) -> None:
        """`is_expected`: True for a value that is not meant to be a function."""
        super().__init__(message)
        self.path = path
        self.hint = hint
        self.severity = Severity.INFO if is_expected else Severity.ERROR

    def build_finding(self, path: Path) -> Finding:
        """Returns a finding about the tool at a path."""
        return Finding(UNREAD, (*path, *self.path), str(self), self.severity, self.hint)


def find_entries(value: JsonValue, path: Path = (), group: JsonObject | None = None) -> Iterator[DocumentEntry]:
    """Yields the values at places of tools, in the document's order."""
    if isinstance(value, list):
        for number, each in enumerate(value):
            at = (*path, number)
            yield from find_entries(each, at, group) if _has_tools(each, path) else (DocumentEntry(at, each, group),)
    elif _has_tools(value, path):
        assert isinstance(value, dict)
        inner = _read_group(value) or group
        for key in _CONTAINERS:
            if isinstance(value.get(key), list | dict):
                yield from find_entries(value[key], (*path, key), inner)
    elif is_tool_like(value):
        yield DocumentEntry(path, value, group)


def is_tool_like(value: JsonValue) -> bool:
    """Returns True for an object with a name, or a wrapper around one."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("name"), str) or not _WRAPPERS.isdisjoint(value) or "type" in value


def _has_tools(value: JsonValue, path: Path) -> bool:
    """Returns True for an object that contains tools without being one."""
    if not isinstance(value, dict) or len(path) > _DEEPEST:
        return False
    if not SCHEMAS.isdisjoint(value) or not _WRAPPERS.isdisjoint(value):
        return False
    return any(isinstance(value.get(key), list | dict) for key in _CONTAINERS)


def _read_group(value: JsonObject) -> JsonObject | None:
    """Returns a named group of tools (`namespace` of OpenAI's responses), without its tools."""
    if value.get("type") != "namespace" or not isinstance(value.get("name"), str):
        return None
    return {key: member for key, member in value.items() if key != "tools"}
