"""What a format must do that tools come in and go out by, without being a definition format of a workspace: a provider's function
list, the tool list of an MCP server, an OpenAPI document. Nobody finds such files by looking around; somebody names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from ferrule.model.diagnostic import Finding
from ferrule.model.loss import Loss
from ferrule.model.tool import Tool
from ferrule.model.value import JsonValue, Path


class DocumentTool(NamedTuple):
    """A tool that a document holds."""

    tool: Tool
    path: Path
    """Where it stands in the document."""


class Reading(NamedTuple):
    """The tools of a document. One that cannot be read is told, and takes none of the others with it."""

    tools: tuple[DocumentTool, ...]
    findings: tuple[Finding, ...] = ()
    """What could not be read, or not as it was meant; paths are those of the document."""


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to write."""

    is_strict: bool = False
    """Ask the provider to hold its models to the schema, with a schema that is rewritten for it."""
    is_plain: bool = False
    """Write no key of our own, so that what the format cannot say is dropped."""
    deferred: frozenset[str] = frozenset()
    """Ids of tools whose schema the model loads later, where the format can say that."""
    title: str = ""
    """A name for the whole, where the format wants one."""


class Writing(NamedTuple):
    """A document with tools."""

    value: JsonValue
    losses: tuple[Loss, ...] = ()
    """Everything that reading `value` again would not give: no more and no less."""
    left_out: tuple[Finding, ...] = ()
    """Tools that cannot be said at all, each with the reason; paths are `(tool_id,)`."""
    names: Mapping[str, str] = {}
    """Names that had to be changed: the written one to the tool's own."""
    findings: tuple[Finding, ...] = ()
    """What is wrong with tools that are written all the same; paths begin with the tool's id."""


class Format(Protocol):
    """One such format. Stateless; shared between threads."""

    name: str
    """What `--to` takes: `openai`, `anthropic`, `mcp`, `openapi`."""
    title: str
    """What people call it."""

    def detect(self, value: JsonValue) -> bool:
        """True when a document is of this format."""
        ...

    def read(self, value: JsonValue, namespace: str, names: Mapping[str, str]) -> Reading:
        """The tools of a document. `namespace`: for formats that have none. `names`: changed names back to the tools' own."""
        ...

    def write(self, tools: Sequence[Tool], options: WriteOptions) -> Writing:
        """A document with these tools."""
        ...
