"""How a tool is reached when it is no tool to a model: a resource has an address, a prompt is chosen by a person.

Reading a resource, getting a prompt and completing an argument are calls like any other: validated, decided, limited and
recorded. Only where they are listed differs, and who picks them.
"""

from __future__ import annotations

from typing import Any

import msgspec


class ResourceExposure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="as", tag="resource"):
    """A tool that is read by its address."""

    uri: str
    """Its address, or a template of addresses (RFC 6570) whose variables are the tool's arguments."""
    mime_type: str = ""
    """Of what it gives, where that is known beforehand."""
    is_template: bool = False
    size: int | None = None
    """Bytes, where that is known beforehand."""
    annotations: dict[str, Any] = {}
    """`audience`, `priority`, `lastModified`, as MCP has them."""
    icons: tuple[dict[str, Any], ...] = ()
    completions: dict[str, tuple[str, ...]] = {}
    """Values that a variable may have, by its name."""


class PromptExposure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="as", tag="prompt"):
    """A tool that gives messages for a conversation."""

    icons: tuple[dict[str, Any], ...] = ()
    completions: dict[str, tuple[str, ...]] = {}
    """Values that an argument may have, by its name."""


class CompletionExposure(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="as", tag="completion"
):
    """A tool that finds values for an argument of a prompt, or for a variable of a template."""

    of: str
    """The id of the tool whose argument it is."""
    argument: str


Exposure = ResourceExposure | PromptExposure | CompletionExposure
