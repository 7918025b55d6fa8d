"""Writes and reads tools for Anthropic's messages, with examples of arguments as far as they can be shown to a model.

The list around the tools is `functions.py`; this file knows how Anthropic writes one tool.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.definitions.content.extension import decode_raw
from ferrule.definitions.formats.entries import Unreadable
from ferrule.definitions.formats.functions import FunctionList, Said
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.definitions.formats.offer import Offered
from ferrule.definitions.formats.openai import NAMES
from ferrule.model.tool import Tool, raw
from ferrule.schema.internal_fields import find_internal, internal_fields
from ferrule.schema.validation.validators import compile_schema

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
    check = compile_schema(bytes(raw(schema)))
    fitting = [example for example in given if not find_internal(example, fields) and check.is_valid(example)]
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

    def claims(self, definition: dict[str, Any]) -> bool:
        """A name with an `input_schema`. OXP's definitions have one, too, and an id beside it."""
        return "name" in definition and "input_schema" in definition and "id" not in definition

    def said(self, definition: dict[str, Any]) -> Said:
        """What a tool says; those that run at Anthropic have no schema."""
        kind = definition.get("type")
        if kind not in (None, "custom"):
            raise Unreadable(
                f"{kind!r} is a tool of Anthropic's own",
                ("type",),
                "whoever calls the model's service lists it there",
                is_expected=isinstance(kind, str),
            )
        if "input_schema" not in definition:
            raise Unreadable("the tool has no schema", ("input_schema",), 'write `"input_schema": {"type": "object"}`')
        hints = {key: definition[key] for key in _HINTS if isinstance(definition.get(key), bool)}
        return Said(definition.get("name"), definition.get("description"), definition["input_schema"] or {}, hints)

    def written(self, each: Offered, is_deferred: bool) -> dict[str, Any]:
        """The tool, with examples where it has some that fit."""
        written: dict[str, Any] = {"name": each.name}
        if each.description:
            written["description"] = each.description
        written["input_schema"] = each.schema
        if each.is_strict:
            written["strict"] = True
        if is_deferred:
            written["defer_loading"] = True
        examples = examples_of(each.tool, each.schema)
        if examples:
            written["input_examples"] = examples
        return written


FORMAT = Anthropic()
