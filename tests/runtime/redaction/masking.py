"""Schemas with sensitive members, and what a mask leaves of a value."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.runtime.redaction.sensitive_input import Mask
from tests.runtime.pipeline.arguments.contracts import tool

TEXT: dict[str, Any] = {"type": "string"}
SECRET: dict[str, Any] = {"type": "string", "sensitive": True}


def mask_by_schema(schema: Any, value: Any, **contract: Any) -> Any:
    mask = Mask.of(tool(schema, **contract))
    assert mask is not None
    return msgspec.json.decode(mask.mask_json(msgspec.json.encode(value)))
