"""What is wrong with which parameter, for `parameter_errors` of an input that was refused. It decides nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.tool import Tool
from ferrule.runtime.pipeline.complaints import Complaints
from ferrule.runtime.redaction.sensitive_input import Mask
from ferrule.schema.internal_fields import internal_fields, model_schema
from ferrule.schema.schema_view import SchemaView
from ferrule.schema.validation.compiled import compiled_schema

_LONGEST = 65_536
_MOST = 20


def parameter_errors(tool: Tool, written: bytes) -> dict[str, str]:
    """A message for each parameter that does not fit; empty where that cannot be told apart."""
    if len(written) > _LONGEST:
        return {}
    try:
        arguments = msgspec.json.decode(written)
        internal = internal_fields(tool)
        schema = model_schema(tool, internal)
        errors = list(compiled_schema(bytes(schema)).iter_errors(arguments))
        complaints = Complaints(tool.name, SchemaView(msgspec.json.decode(schema)), Mask.of(tool), internal)
    except Exception:  # it only explains: a schema or an input that nobody can read is told of already
        return {}
    found: dict[str, dict[str, None]] = {}
    for error in errors[:_MOST]:
        told = complaints.each([error], _MOST)
        for name in _parameters(error):
            own = [one.text for one in told if one.path[:1] == (name,)] or [one.text for one in told]
            found.setdefault(name, {}).update(dict.fromkeys(own or ["it does not fit"]))
    return {name: "\n".join(texts) for name, texts in found.items()}


def _parameters(error: Any) -> list[str]:
    """The parameters an error is about."""
    path = tuple(error.instance_path)
    if path:
        return [str(path[0])]
    facts = error.kind.as_dict()
    match error.kind.name:
        case "required" | "dependentRequired":
            return [str(facts["property"])]
        case "additionalProperties" | "unevaluatedProperties":
            return [str(name) for name in facts["unexpected"]]
        case _:
            return []
