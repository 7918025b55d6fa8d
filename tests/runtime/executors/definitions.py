"""AML files of tools with a transport, as short as they can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

OBJECT = {"type": "object"}


def aml_file(
    tool_id: str,
    transport: Mapping[str, Any],
    *,
    kind: str = "retrieval",
    takes: Mapping[str, Any] = OBJECT,
    gives: Mapping[str, Any] = OBJECT,
    error_codes: Mapping[str, Any] | None = None,
) -> str:
    """The definition, as JSON within its front matter. `takes` and `gives` are JSON Schemas."""
    definition = {
        "spec_version": "1.2",
        "tool_id": tool_id,
        "version": "1.0.0",
        "status": "active",
        "type": kind,
        "meta": {"name": tool_id, "description": "Does what it is told. Nothing else.", "owner": "tests"},
        "interface": {"input": takes, "output": gives},
        "use_guidance": {
            "use_when": ["a test wants it"],
            "avoid_when": ["no test wants it"],
            "side_effects": "Whatever the test wants.",
        },
        "transport": transport,
        **({"error_codes": error_codes} if error_codes else {}),
    }
    return f"---\n{msgspec.json.encode(definition).decode()}\n---\n"
