"""Finds the tools in a document, whatever it is wrapped in: one tool, a list, a request that holds one, a server's answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonValue, Path

UNREAD = "unread-tool"
LEFT_OUT = "left-out-tool"
REFUSED_NAME = "refused-name"
_CONTAINERS = (
    "tools", "functions", "functionDeclarations", "function_declarations", "toolConfig", "tool_config", "body", "request",
    "params", "result", "config",
)  # fmt: skip
"""Members that hold tools, or something that does."""
SCHEMAS = frozenset({"parameters", "parametersJsonSchema", "parameters_json_schema", "input_schema", "inputSchema"})
"""The keys under which providers look for a schema."""
_WRAPPERS = frozenset({"function", "toolSpec"})
_DEEPEST = 8


class Entry(NamedTuple):
    """Something in a document that stands where a tool is expected."""

    path: Path
    value: JsonValue
    group: dict[str, Any] | None = None
    """What the group it stands in says of itself, where lists have named groups."""


class Unreadable(Exception):
    """A tool that cannot be read."""

    def __init__(self, message: str, path: Path = (), hint: str | None = None, *, is_expected: bool = False) -> None:
        """`is_expected`: true for what is no function at all and was never meant to be one."""
        super().__init__(message)
        self.path = path
        self.hint = hint
        self.severity = Severity.INFO if is_expected else Severity.ERROR

    def at(self, path: Path) -> Finding:
        """The same as a finding about the tool at a path."""
        return Finding(UNREAD, (*path, *self.path), str(self), self.severity, self.hint)


def entries(value: JsonValue, path: Path = (), group: dict[str, Any] | None = None) -> Iterator[Entry]:
    """What stands where tools do, in the document's order."""
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from (
                entries(each, (*path, number), group) if _holds(each, path) else (Entry((*path, number), each, group),)
            )
    elif _holds(value, path):
        assert isinstance(value, dict)
        inner = _group(value) or group
        for key in _CONTAINERS:
            if isinstance(value.get(key), list | dict):
                yield from entries(value[key], (*path, key), inner)
    elif looks_like_a_tool(value):
        yield Entry(path, value, group)


def looks_like_a_tool(value: JsonValue) -> bool:
    """True for an object with a name, or one of the wrappers around such."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("name"), str) or not _WRAPPERS.isdisjoint(value) or "type" in value


def _holds(value: JsonValue, path: Path) -> bool:
    """True for what holds tools without being one."""
    if not isinstance(value, dict) or len(path) > _DEEPEST:
        return False
    if not SCHEMAS.isdisjoint(value) or not _WRAPPERS.isdisjoint(value):
        return False
    return any(isinstance(value.get(key), list | dict) for key in _CONTAINERS)


def _group(value: dict[str, Any]) -> dict[str, Any] | None:
    """A named group of tools (`namespace` of OpenAI's responses), without its tools."""
    if value.get("type") != "namespace" or not isinstance(value.get("name"), str):
        return None
    return {key: member for key, member in value.items() if key != "tools"}
