"""Writes and reads tools for Anthropic's messages, with examples of arguments as far as they can be shown to a model.

`functions.py` handles the list around the tools; this file knows how Anthropic writes one tool.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.definitions.content.extension import decode_raw
from ferrule.definitions.formats.entries import UnreadableTool
from ferrule.definitions.formats.functions import FunctionDefinition, FunctionList
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.definitions.formats.offer import PreparedTool
from ferrule.definitions.formats.openai import NAMES
from ferrule.model.tool import Tool, raw
from ferrule.model.value import JsonObject
from ferrule.schema.internal_fields import find_internal, internal_fields
from ferrule.schema.merging import is_same
from ferrule.schema.validation.validators import compile_schema

MOST = 5


class _Payload(msgspec.Struct, gc=False):
    input_contract: Any = None


_payload = msgspec.json.Decoder(_Payload).decode


def list_examples(tool: Tool, schema: JsonObject) -> list[JsonObject]:
    """Returns examples that match a schema, without those with fields that models never send; they are only a help (AT-56)."""
    given = [
        example
        for example in (*_list_contract_examples(tool), *_list_schema_examples(tool))
        if isinstance(example, dict)
    ]
    if not given:
        return []
    fields = internal_fields(tool)
    check = compile_schema(bytes(raw(schema)))
    fitting = [example for example in given if not find_internal(example, fields) and check.is_valid(example)]
    distinct: list[JsonObject] = []
    for example in fitting:
        if not any(is_same(example, other) for other in distinct):
            distinct.append(example)
    return distinct[:MOST]


def _list_contract_examples(tool: Tool) -> list[object]:
    # A look at the bytes: few tools have examples, and decoding takes time.
    if b'"examples"' not in bytes(tool.payload):
        return []
    try:
        contract = _payload(tool.payload).input_contract
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    found = contract.get("examples") if isinstance(contract, dict) else None
    return found if isinstance(found, list) else []


def _list_schema_examples(tool: Tool) -> list[object]:
    if b'"examples"' not in bytes(tool.input_schema):
        return []
    written = decode_raw(tool.input_schema)
    found = written.get("examples") if isinstance(written, dict) else None
    return found if isinstance(found, list) else []


_HINTS = ("strict", "defer_loading")


class Anthropic(FunctionList):
    """`tools` of messages."""

    name = "anthropic"
    title = "Anthropic"
    rule = NameRule("A-Za-z0-9_-", 128)
    deferred_rule = NAMES
    profile = "anthropic"
    strict_profile = "anthropic-strict"
    can_defer = True
    schema_keys = frozenset({"input_schema"})

    def claims(self, definition: JsonObject) -> bool:
        """Returns True for a name with an `input_schema`. OXP's definitions have one, too, and an id beside it."""
        return "name" in definition and "input_schema" in definition and "id" not in definition

    def read_definition(self, definition: JsonObject) -> FunctionDefinition:
        """Reads a tool; those that run at Anthropic have no schema."""
        kind = definition.get("type")
        if kind not in (None, "custom"):
            raise UnreadableTool(
                f"{kind!r} is a tool of Anthropic's own",
                ("type",),
                "whoever calls the model's service lists it there",
                is_expected=isinstance(kind, str),
            )
        if "input_schema" not in definition:
            raise UnreadableTool(
                "the tool has no schema", ("input_schema",), 'write `"input_schema": {"type": "object"}`'
            )
        hints = {key: definition[key] for key in _HINTS if isinstance(definition.get(key), bool)}
        return FunctionDefinition(
            definition.get("name"), definition.get("description"), definition["input_schema"] or {}, hints
        )

    def write_definition(self, each: PreparedTool, is_deferred: bool) -> JsonObject:
        """Returns the tool, with its matching examples."""
        written: JsonObject = {"name": each.name}
        if each.description:
            written["description"] = each.description
        written["input_schema"] = each.schema
        if each.is_strict:
            written["strict"] = True
        if is_deferred:
            written["defer_loading"] = True
        examples = list_examples(each.tool, each.schema)
        if examples:
            written["input_examples"] = examples
        return written


FORMAT = Anthropic()
