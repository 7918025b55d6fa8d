"""Tools at random: any schema, names and texts that try to get out of where they are written."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.definitions.stubs.languages.python.stub_modules import Given
from tests.schema.fitting.schemas import schema_of

TEXTS = (
    '"""',
    "'''",
    '"""\nimport os\nos.abort()\n"""',
    "\\",
    '\\"""',
    'ends with a quote"',
    "ends with a backslash\\",
    "\n",
    "\r\n",
    "\x0c",
    "\x00\x1b[31m\x7f\x85",
    "\u2028line\u2029separators",
    "bidi \u202e and \u2066 marks \u200b",
    "# fmt: off",
    "# type: ignore",
    "# mypy: ignore-errors",
    "# noqa",
    "-*- coding: utf-7 -*-",
    "{x!r} %s ${y} {{z}}",
    "*/ --> ]]> `tick`",
    "\ttab",
    "  blanks  ",
    "größe 水 \U0001f600 e\u0301",
    "class",
    "None",
    "self",
    "import",
    "__class__",
    "__init__",
    "_private",
    "model_config",
    "str",
    "dict",
    "field",
    "msgspec",
    "UNSET",
    "Any",
    "Literal",
    "2fa",
    "",
    " ",
    "ﬁ ª ١",
    "w" * 130,
    "words and words " * 12,
)


def hostile(chance: Random, name: str) -> Given:
    """A tool with such names and texts all over."""
    schema = _spiced(chance, schema_of(chance))
    return Given(name, schema, schema if chance.random() < 0.5 else None, text_of(chance))


def plain(chance: Random, name: str) -> Given:
    """A tool with any schema."""
    return Given(name, schema_of(chance), schema_of(chance) if chance.random() < 0.3 else None)


def text_of(chance: Random) -> str:
    """One or several of the texts."""
    return "".join(chance.choice(TEXTS) for _ in range(chance.choice((1, 1, 2, 4))))


def _spiced(chance: Random, schema: Any) -> Any:
    if isinstance(schema, list):
        return [_spiced(chance, each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _spiced(chance, each) for key, each in schema.items()}
    if "type" in made or "enum" in made:
        words = ("description", "default", "title")
        made |= {word: text_of(chance) for word in words if chance.random() < 0.3}
    if isinstance(made.get("properties"), dict) and chance.random() < 0.6:
        added = {text_of(chance): _member(chance) for _ in range(chance.randint(1, 4))}
        made["properties"] = made["properties"] | added
    return made


def _member(chance: Random) -> dict[str, Any]:
    texts = sorted({text_of(chance) for _ in range(3)})
    return chance.choice(
        [
            {"type": "string", "description": text_of(chance)},
            {"enum": texts},
            {"enum": [*texts, None, 1, True, 2.5]},
            {"const": text_of(chance)},
            {"type": ["integer", "null"]},
            {"type": "object", "properties": {text_of(chance): {}}, "additionalProperties": {"type": "integer"}},
            {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {}}}, {"type": "array"}]},
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        ]
    )
