"""Values that fit a schema: random, but the same for the same seed. Knows as much of JSON Schema as the corpus uses."""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Callable
from typing import Any

_DEEP = 6
_WORDS = ("alpha", "Grüße", "two words", "x", "42", "a/b", "q&a=1", "naïve", "100%", "(ok)")
_FORMATS = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:30:00Z",
    "time": "12:30:00Z",
    "duration": "P3D",
    "email": "ann@example.com",
    "hostname": "host.example.com",
    "ipv4": "192.0.2.7",
    "ipv6": "2001:db8::7",
    "uri": "https://example.com/a?b=c",
    "url": "https://example.com/a",
    "uri-reference": "/a?b=c",
    "uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "byte": base64.b64encode(b"bytes").decode(),
}

Resolve = Callable[[str], Any]


class Sampler:
    """Makes values. `share`: how likely a member is that is not required."""

    def __init__(self, seed: int | str, share: float, resolve: Resolve | None = None) -> None:
        self._random = random.Random(seed)
        self._share = share
        self._resolve = resolve

    def value(self, schema: Any, depth: int = 0) -> Any:
        """A value that fits, as far as is understood."""
        if schema is True or schema == {}:
            return self._random.choice(["anything", 7, True])
        schema = self._flat(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        for word in ("oneOf", "anyOf"):
            if schema.get(word):
                return self._branch(schema, word, depth)
        return self._of_type(self._type(schema), schema, depth)

    def _flat(self, schema: Any) -> dict[str, Any]:
        """The schema without references and `allOf` at its top."""
        seen = 0
        while isinstance(schema, dict) and "$ref" in schema and self._resolve is not None and seen < 50:
            seen += 1
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            target = self._resolve(schema["$ref"])
            schema = {"allOf": [target, rest]} if rest else target
        if not isinstance(schema, dict):
            return {}
        if "allOf" in schema:
            made = {key: value for key, value in schema.items() if key != "allOf"}
            for part in schema["allOf"]:
                made = _merged(made, self._flat(part))
            return made
        return schema

    def _branch(self, schema: dict[str, Any], word: str, depth: int) -> Any:
        rest = {key: value for key, value in schema.items() if key != word}
        branches = list(schema[word])
        if depth > _DEEP:
            branches = [each for each in branches if isinstance(each, dict) and each.get("type") == "null"] or branches
        return self.value(_merged(rest, self._flat(self._random.choice(branches))), depth + 1)

    def _type(self, schema: dict[str, Any]) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            plain = [each for each in kind if each != "null"]
            return "null" if "null" in kind and self._random.random() < 0.15 else self._random.choice(plain or ["null"])
        if isinstance(kind, str):
            return kind
        if "properties" in schema or "additionalProperties" in schema or "required" in schema:
            return "object"
        if "items" in schema:
            return "array"
        return "number" if "minimum" in schema or "maximum" in schema else "string"

    def _of_type(self, kind: str, schema: dict[str, Any], depth: int) -> Any:
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "string":
                return self._text(schema)
            case "integer":
                return self._number(schema, whole=True)
            case "number":
                return self._number(schema, whole=False)
            case "boolean":
                return self._random.random() < 0.5
        return None

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        if "transfer" in properties and "max_size_bytes" in properties:
            return self._attachment(properties)
        required = set(schema.get("required") or ())
        made = {}
        for name, inner in properties.items():
            if inner is False:
                continue
            if name in required or (depth < _DEEP and self._random.random() < self._share):
                made[name] = self.value(inner, depth + 1)
        for name in sorted(required - set(properties)):
            made[name] = self.value(schema.get("additionalProperties") or True, depth + 1)
        more = schema.get("additionalProperties")
        least = int(schema.get("minProperties") or 0)
        if isinstance(more, dict) and depth < _DEEP and not properties:
            least = max(least, 1)
        for number in range(least - len(made)):
            made[f"key{number}"] = self.value(more if more is not None else True, depth + 1)
        return made

    def _attachment(self, properties: dict[str, Any]) -> dict[str, Any]:
        """A file that comes with the call (AML-33)."""
        data = self._random.choice([b"plain words", b"\x89PNG\r\n\x1a\n\0\xff", b"%PDF-1.7"])
        made = {
            "transfer": "inline",
            "filename": "file.bin",
            "mime_type": "application/octet-stream",
            "max_size_bytes": 100,
            "content": base64.b64encode(data).decode(),
        }
        for name in made:
            said = properties.get(name) or {}
            if name not in ("transfer", "content") and ("const" in said or "enum" in said):
                made[name] = said.get("const", (said.get("enum") or [None])[0])
        return made

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        least = int(schema.get("minItems") or 0)
        most = min(int(schema.get("maxItems", least + 2)), least + 3)
        wanted = least if depth > _DEEP else self._random.randint(max(least, min(1, most)), max(most, least))
        first = schema.get("prefixItems") or []
        made = [self.value(inner, depth + 1) for inner in first[:wanted]]
        for _ in range(40):
            if len(made) >= wanted:
                break
            value = self.value(schema.get("items", True), depth + 1)
            if not (schema.get("uniqueItems") and value in made):
                made.append(value)
        return made

    def _text(self, schema: dict[str, Any]) -> str:
        if schema.get("contentEncoding") == "base64":
            return base64.b64encode(b"bytes").decode()
        if "pattern" in schema:
            return self._matching(schema["pattern"])
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        text = self._random.choice(_WORDS)
        least, most = int(schema.get("minLength") or 0), int(schema.get("maxLength", 1000))
        while len(text) < least:
            text += self._random.choice("abcdefgh")
        return text[:most].strip() or "a" * max(least, 1)

    def _number(self, schema: dict[str, Any], *, whole: bool) -> int | float:
        low, high = schema.get("minimum"), schema.get("maximum")
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        step = schema.get("multipleOf") or (1 if whole else 0.25)
        start = low if low is not None else above if above is not None else (high or below or 0) - 5 * step
        count = -(-start // step)
        made = [value for index in range(12) if self._within(value := (count + index) * step, low, high, above, below)]
        value = self._random.choice(made) if made else start
        return int(value) if whole else value

    def _within(self, value: float, low: Any, high: Any, above: Any, below: Any) -> bool:
        return (
            (low is None or value >= low)
            and (high is None or value <= high)
            and (above is None or value > above)
            and (below is None or value < below)
        )

    def _matching(self, pattern: str) -> str:
        return "".join(self._piece(operation, argument) for operation, argument in re._parser.parse(pattern))  # type: ignore[attr-defined]

    def _piece(self, operation: Any, argument: Any) -> str:
        name = str(operation)
        if name == "LITERAL":
            return chr(argument)
        if name == "IN":
            return self._piece(*self._random.choice([each for each in argument if str(each[0]) != "NEGATE"]))
        if name == "RANGE":
            return chr(self._random.randint(*argument))
        if name == "CATEGORY":
            return {"CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " "}.get(str(argument), "w")
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, inner = argument
            times = self._random.randint(least, min(int(most), least + 3))
            return "".join(self._piece(*each) for _ in range(times) for each in inner)
        if name == "SUBPATTERN":
            return "".join(self._piece(*each) for each in argument[-1])
        if name == "BRANCH":
            return "".join(self._piece(*each) for each in self._random.choice(argument[1]))
        return "" if name == "AT" else "a"


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Both schemas at once, roughly."""
    made = {**one, **other}
    if "properties" in one and "properties" in other:
        made["properties"] = dict(one["properties"])
        for name, inner in other["properties"].items():
            before = made["properties"].get(name)
            is_both = isinstance(before, dict) and isinstance(inner, dict) and before != inner
            made["properties"][name] = {"allOf": [before, inner]} if is_both else inner
    if "required" in one and "required" in other:
        made["required"] = [*one["required"], *(name for name in other["required"] if name not in one["required"])]
    if "enum" in one and "enum" in other:
        made["enum"] = [value for value in one["enum"] if value in other["enum"]]
    return made
