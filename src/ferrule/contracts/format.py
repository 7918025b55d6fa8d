"""The contract of an exchange format: tools are imported from it and exported to it, but no workspace is written in it.

Examples are a provider's function list, the tool list of an MCP server, an OpenAPI document. Such files are named by
the caller, never discovered. This module knows no single format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from ferrule.model.diagnostic import Finding
from ferrule.model.loss import Loss
from ferrule.model.tool import Tool
from ferrule.model.value import JsonValue, Path


class DocumentTool(NamedTuple):
    """A tool in a document, with its path."""

    tool: Tool
    path: Path
    """Where it stands in the document."""


class Reading(NamedTuple):
    """The tools of a document. One that cannot be read is reported and does not keep the others from being read."""

    tools: tuple[DocumentTool, ...]
    findings: tuple[Finding, ...] = ()
    """Tools and parts that could not be read, or not as intended; paths are those of the document."""


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to write."""

    is_strict: bool = False
    """Ask the provider to hold its models to the schema, with a schema that is rewritten for it."""
    is_plain: bool = False
    """Write no key of our own, so that what the format cannot express is dropped."""
    deferred: frozenset[str] = frozenset()
    """Ids of tools whose schema the model loads later, where the format can say that."""
    title: str = ""
    """A name for the document, where the format wants one."""


class Writing(NamedTuple):
    """A document with tools."""

    value: JsonValue
    losses: tuple[Loss, ...] = ()
    """Everything that reading `value` again would not give: no more and no less."""
    left_out: tuple[Finding, ...] = ()
    """Tools that cannot be expressed at all, each with the reason; paths are `(tool_id,)`."""
    names: Mapping[str, str] = {}
    """Names that had to be changed: the written one to the tool's own."""
    findings: tuple[Finding, ...] = ()
    """What is wrong with tools that are written all the same; paths begin with the tool's id."""


class Format(Protocol):
    """One exchange format. Stateless; shared between threads."""

    name: str
    """What `--to` takes: `openai`, `anthropic`, `mcp`, `openapi`."""
    title: str
    """What people call it."""

    def detect(self, value: JsonValue) -> bool:
        """Returns True when a document is of this format."""
        ...

    def read(self, value: JsonValue, namespace: str, names: Mapping[str, str]) -> Reading:
        """Reads the tools of a document. `namespace`: for formats that have none. `names`: maps changed names back to
        the tools' own."""
        ...

    def write(self, tools: Sequence[Tool], options: WriteOptions) -> Writing:
        """Writes a document with these tools."""
        ...
