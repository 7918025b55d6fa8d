"""Tools with random schemas, long names, hostile names and hostile words: the same ones every time."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import msgspec

from ferrule.model.tool import Tool
from tests.definitions.stubs.languages.typescript.compiled_program import tool_of
from tests.schema.fitting.schemas import schema_of

COUNT = 70
TEXTS = (
    "*/ process.exit(1); /*",
    "@ts-expect-error",
    "// @ts-nocheck",
    "@ts-ignore\n@deprecated never\n{@link x} {@inheritDoc}",
    "prettier-ignore",
    "eslint-disable",
    '"; throw 1; "',
    "'; throw 1; '",
    "`${process.exit(1)}`",
    "\\",
    "\\u0022 \\n",
    "</script><!-- -->",
    "carriage\rreturn\r\nand \x00 \x07 \x1b[31m \x7f \x85 controls",
    "separators \u2028 and \u2029 and \u200b and \ufeff",
    "bidi \u202e reversed \u2066 isolate \u2069",
    "  leading\n trailing  \n\n\n\n- list\n    code",
    "größe 水 水水水 \U0001f600\U0001f1e9\U0001f1ea e\u0301 \u0e01\u0e33 ﬁ ａ",
    "/// <reference path='x' />",
    "#!/usr/bin/env node",
    "//# sourceMappingURL=x",
    "w" * 140,
    "many words " * 30,
    "it's \"quoted\" 'twice'",
    "20 °C → ½ ™ ⭐" + "\U0001f600" * 25,
    "\U0001f600" * 34,
    "",
    " ",
)
NAMES = (
    "class", "constructor", "__proto__", "toString", "valueOf", "prototype", "default", "await", "arguments", "eval", "2fa",
    "a-b", "a_b", "aB", "größe", "水", "", " ", "new\nline", "a.b", "$x", "ferrule", "definition", "Promise", "Array", "index",
    "import", "type", "call", "result", "cancel", "then", "input", "options", "0", "1.5", "-1", "a\u200db", "ªº", "\U0001f600",
    "m²", "x" * 90,
    "a_rather_long_name_of_a_member_that_takes_a_good_part_of_a_line",
    "the_longest_name_that_somebody_could_think_of_in_a_schema_of_his",
)  # fmt: skip
_LEAVES: tuple[dict[str, Any], ...] = (
    {"type": ["string", "null"]},
    {"type": "array", "items": {"type": ["integer", "null"]}},
    {"type": ["array", "null"], "items": {"type": "array", "items": {"type": ["string", "null"]}}},
    {"type": ["object", "null"], "additionalProperties": {"type": ["number", "null"]}},
    {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "boolean"}}},
    {"type": "array", "prefixItems": [{"type": "string"}, {"type": ["number", "null"]}], "minItems": 1, "items": False},
    {"type": ["array", "null"], "prefixItems": [{"type": ["number", "null"]}], "items": {"type": ["string", "null"]}},
    {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string"}}},
    {"enum": list(TEXTS)},
    {"enum": [*range(-20, 40), 9007199254740991, 1000000007]},
    {"enum": ["only_one_value_that_is_quite_long_for_what_it_says_to_a_reader"]},
    {"const": 1e-7},
    {"const": 12345678901234567890},
    {"enum": [1.5, "x", True, None]},
    {"type": "integer", "maximum": 2**64},
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}, {"type": "number"}]},
    {"type": "string", "format": "date-time", "default": "*/ @x", "examples": ["*/", "\u2028"], "deprecated": True},
)


def leaf_of(chance: Random) -> dict[str, Any]:
    """A schema that is hard to lay out, with something said about it."""
    said: dict[str, Any] = {"description": chance.choice(TEXTS)} if chance.random() < 0.5 else {}
    return {**chance.choice(_LEAVES), **said}


def object_of(chance: Random) -> dict[str, Any]:
    """An object with hostile members."""
    names = chance.sample(NAMES, chance.randint(1, 6))
    made: dict[str, Any] = {
        "type": "object",
        "description": chance.choice(TEXTS),
        "properties": {name: leaf_of(chance) for name in names},
        "required": names[: chance.randrange(3)],
    }
    if chance.random() < 0.6:
        made["additionalProperties"] = chance.choice((True, False, leaf_of(chance), {"type": "string"}))
    return made


@cache
def hostile_tools() -> tuple[Tool, ...]:
    """The tools. Some have names that give the same identifiers."""
    chance = Random("typescript")
    tools = []
    for number in range(COUNT):
        name = chance.choice((*NAMES, *TEXTS)) if number % 2 else f"tool_{number}_{'x' * (number % 61)}"
        schema = object_of(chance) if number % 3 else schema_of(chance)
        output = None if number % 5 == 0 else object_of(chance) if number % 2 else schema_of(chance)
        words = {"description": chance.choice(TEXTS), "title": chance.choice(TEXTS)}
        tags = tuple(chance.sample(TEXTS, number % 4))
        tools.append(tool_of(name, schema, output, tool_id=f"shop.{number}.{name}", tags=tags, **words))
    return tuple({_key(each): each for each in tools}.values())


def _key(tool: Tool) -> bytes:
    return msgspec.json.encode((tool.tool_id, tool.name))
