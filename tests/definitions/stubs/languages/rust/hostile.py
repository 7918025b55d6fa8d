"""Definitions that try to break out of what is generated of them, or to be too wide for a line."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.definitions.stubs.languages.rust.crates import Given
from tests.schema.fitting.schemas import schema_of

TEXTS = (
    "*/ fn main() {} /*",
    '"; compile_error!("out"); "',
    'r#"raw"# "## "### end',
    "```\nassert!(false);\n```",
    '    assert!(false, "indented code");\n\n    panic!();',
    "- a list\n\n      panic!();\n>     panic!();",
    "~~~rust\npanic!()\n~~~",
    "<script>alert(1)</script> [link](javascript:alert(1)) [`Foo`] \\< \\\\",
    "carriage\rreturn\r\nand \x00 \x07 \x1b[31m \x7f \x85 controls",
    "separators \u2028 and \u2029 and \u200b and \ufeff",
    "bidi \u202e reversed \u2066 isolate \u2069",
    '#![feature(rustc_private)]\n#[path = "/etc/passwd"]\nmod stolen;',
    "ends with a backslash \\",
    "trailing blanks   \n\t\n",
    "${x} #{y} {z} %s $name `tick`",
    "größe 水 \U0001f600 e\u0301",
    "///! \n//! inner",
    "",
    " ",
    "r#type",
    "w" * 140,
)
_WORDS = (
    "id",
    "user",
    "Value",
    "String",
    "type",
    "self",
    "Self",
    "option",
    "Vec",
    "größe",
    "水",
    "2fa",
    "http",
    "extra",
    "rest",
)


def name_of(chance: Random) -> str:
    """A name of any length and any characters."""
    if chance.random() < 0.25:
        return chance.choice(TEXTS)
    count = chance.choice((1, 1, 2, 3, 6, 12))
    return chance.choice("_- .").join(chance.choice(_WORDS) for _ in range(count))


def spoiled(schema: Any, chance: Random) -> Any:
    """A schema with hostile names, descriptions, defaults and values put into it."""
    if isinstance(schema, list):
        return [spoiled(each, chance) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: spoiled(each, chance) for key, each in schema.items()}
    if isinstance(made.get("properties"), dict):
        for _ in range(chance.randint(0, 3)):
            made["properties"][name_of(chance)] = _leaf(chance)
        made["description"] = chance.choice(TEXTS)
    return made


def _leaf(chance: Random) -> Any:
    kinds: list[Any] = [
        {"type": "string", "default": chance.choice(TEXTS), "pattern": chance.choice(("^a\\p{L}$", "\\d+", "^\\S*$"))},
        {"enum": [chance.choice(TEXTS), *(name_of(chance) for _ in range(3))]},
        {"const": chance.choice([*TEXTS, 1, 1.5, True, -(2**40), 10**25])},
        {"enum": [1, -5, chance.choice((2**40, 2**63, 2**70))]},
        {"type": "integer", "minimum": chance.choice((0, -1)), "maximum": chance.choice((2**63, 2**64 - 1, 2**70))},
        {
            "type": ["array", "null"],
            "prefixItems": [{"type": "string"}, {"type": "integer"}],
            "items": False,
            "minItems": 2,
        },
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": ["null", "number"]}], "minItems": 1},
        {"type": "object", "additionalProperties": {"type": ["object", "null"], "properties": {name_of(chance): {}}}},
        {"oneOf": [_tagged(chance, "a"), _tagged(chance, chance.choice(TEXTS)), _tagged(chance, "c")]},
        {"type": ["string", "number", "boolean", "null"]},
        {"type": "null"},
        {"type": "array", "items": {"$ref": "#"}},
        {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
    ]
    return {**chance.choice(kinds), "description": chance.choice(TEXTS)}


def _tagged(chance: Random, tag: str) -> dict[str, Any]:
    properties = {"kind": {"const": tag}, name_of(chance): {"type": "string"}}
    return {"type": "object", "properties": properties, "required": ["kind"]}


def tools(seed: int, count: int) -> list[Given]:
    """Some tools, the same for the same seed."""
    chance = Random(seed)
    made: dict[str, Given] = {}
    while len(made) < count:
        name = name_of(chance) + chance.choice(("", f" {len(made)}"))
        output = spoiled(schema_of(chance), chance) if chance.random() < 0.4 else None
        made[name] = Given(
            name,
            spoiled(schema_of(chance), chance),
            output,
            chance.choice(TEXTS),
            title=chance.choice(TEXTS),
            tags=tuple(chance.choice((*_WORDS, *TEXTS)) for _ in range(chance.choice((0, 0, 2, 9, 20)))),
        )
    return list(made.values())
