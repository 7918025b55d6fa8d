"""What a tool's own format says of it that the canonical model has no field for, and a list of functions has no place for."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.definitions.beyond import beyond
from ferrule.model.tool import Tool


def own_words(tool: Tool) -> Iterator[str]:
    """Keys of the source's own, as a loss names them: `aml.transport`, `anthropic.cache_control`."""
    return (f"{tool.dialect}.{name}" for name in beyond(tool))
