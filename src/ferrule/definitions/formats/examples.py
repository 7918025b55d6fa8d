"""Examples of arguments that a definition gives, as far as they can be shown to a model."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.definitions.carried import decoded
from ferrule.model.tool import Tool, raw
from ferrule.schema.internal_fields import internal_fields, internal_sent
from ferrule.schema.validation.compiled import compiled_schema

MOST = 5


class _Payload(msgspec.Struct, gc=False):
    input_contract: Any = None


_payload = msgspec.json.Decoder(_Payload).decode


def examples_of(tool: Tool, schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Examples that fit a schema, without those that hold what models never send; no more than help (AT-56)."""
    given = [example for example in (*_of_contract(tool), *_of_schema(tool)) if isinstance(example, dict)]
    if not given:
        return []
    fields = internal_fields(tool)
    check = compiled_schema(bytes(raw(schema)))
    fitting = [example for example in given if not internal_sent(example, fields) and check.is_valid(example)]
    return [example for number, example in enumerate(fitting) if example not in fitting[:number]][:MOST]


def _of_contract(tool: Tool) -> list[Any]:
    if b'"examples"' not in bytes(tool.payload):
        return []
    try:
        contract = _payload(tool.payload).input_contract
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    found = contract.get("examples") if isinstance(contract, dict) else None
    return found if isinstance(found, list) else []


def _of_schema(tool: Tool) -> list[Any]:
    if b'"examples"' not in bytes(tool.input_schema):
        return []
    written = decoded(tool.input_schema)
    found = written.get("examples") if isinstance(written, dict) else None
    return found if isinstance(found, list) else []
