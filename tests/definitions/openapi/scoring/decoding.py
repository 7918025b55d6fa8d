"""Parameters as OpenAPI says they are written, read back. Written from the specification, without a look at what sends them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, unquote_plus

Fits = Callable[[Any, Any], bool]
"""Whether a value fits a schema."""
Flat = Callable[[Any], dict[str, Any]]
"""A schema without references at its top."""
Pairs = list[tuple[str, str]]
"""Names and values as they were sent, not decoded yet."""


class Wrong(Exception):
    """A request that does not obey the document."""


class Shape(NamedTuple):
    """What is known about a schema without looking at values."""

    kind: str
    """`array`, `object` or `single`."""
    items: Any
    members: Mapping[str, Any]
    rest: Any


def shape_of(schema: Any, flat: Flat, depth: int = 0) -> Shape:
    """The shape of a schema, of its first branch that is no null where it has some."""
    found = flat(schema)
    kind = found.get("type")
    kinds = [each for each in (kind if isinstance(kind, list) else [kind]) if each not in (None, "null")]
    if "array" in kinds or (not kinds and "items" in found):
        return Shape("array", found.get("items", True), {}, True)
    if "object" in kinds or (not kinds and ("properties" in found or "additionalProperties" in found)):
        return Shape("object", True, found.get("properties") or {}, found.get("additionalProperties", True))
    if not kinds and depth < 8:
        for branch in (*(found.get("oneOf") or ()), *(found.get("anyOf") or ())):
            if (inner := shape_of(branch, flat, depth + 1)).kind != "single":
                return inner
    return Shape("single", True, {}, True)


class Decoder:
    """Reads values in all styles."""

    def __init__(self, flat: Flat, fits: Fits) -> None:
        self._flat = flat
        self._fits = fits

    def single(self, text: str, schema: Any) -> Any:
        """A text as the kind of value that the schema wants."""
        candidates: list[Any] = [text]
        for read in (int, float):
            try:
                candidates.append(read(text))
            except ValueError:
                continue
        candidates += [{"true": True, "false": False, "null": None}[text]] if text in ("true", "false", "null") else []
        if text[:1] in "[{":
            with contextlib.suppress(ValueError):
                candidates.append(json.loads(text))
        return next((each for each in candidates if self._fits(each, schema)), text)

    def listed(self, texts: Sequence[str], schema: Any) -> list[Any]:
        return [self.single(text, schema) for text in texts]

    def members(self, pairs: Pairs, shape: Shape) -> dict[str, Any]:
        return {name: self.single(text, shape.members.get(name, shape.rest)) for name, text in pairs}

    def path(self, raw: str, parameter: Mapping[str, Any]) -> Any:
        """A value of a path: `simple`, `label` or `matrix`."""
        style, explode = parameter.get("style", "simple"), parameter.get("explode", False)
        name, schema = parameter["name"], parameter["schema"]
        shape = shape_of(schema, self._flat)
        separator = {"simple": ",", "label": "." if explode else ",", "matrix": ";" if explode else ","}[style]
        if style == "label":
            raw = _after(raw, ".", name)
        elif style == "matrix":
            raw = _after(raw, ";", name)
            if not explode or shape.kind == "single":
                raw = _after(raw, f"{name}=", name)
            elif shape.kind == "array":
                raw = ";".join(_after(each, f"{name}=", name) for each in raw.split(";"))
        return self._separated(raw, separator, explode, shape, schema)

    def header(self, raw: str, parameter: Mapping[str, Any]) -> Any:
        """A value of a header: `simple`, not percent-encoded."""
        schema = parameter["schema"]
        shape = shape_of(schema, self._flat)
        if shape.kind == "single":
            return self.single(raw, schema)
        parts = [part.strip() for part in raw.split(",")]
        if shape.kind == "array":
            return self.listed(parts, shape.items)
        return self.members(_paired(parts, parameter.get("explode", False)), shape)

    def pairs(self, pairs: Pairs, parameter: Mapping[str, Any], plus: bool = False) -> tuple[Any, Pairs] | None:
        """A value of a query, a form or cookies, and the pairs that it was; None when it is not there."""
        name, schema = parameter["name"], parameter["schema"]
        style = parameter.get("style", "form")
        explode = parameter.get("explode", style in ("form", "cookie"))
        shape = shape_of(schema, self._flat)
        decode = unquote_plus if plus else unquote
        if style == "deepObject":
            return self._deep(pairs, name, shape, decode)
        if shape.kind == "object" and explode and style == "form":
            own = [pair for pair in pairs if pair[0] in shape.members]
            return (self.members([(key, decode(text)) for key, text in own], shape), own) if own else None
        own = [pair for pair in pairs if pair[0] == name]
        if not own:
            return None
        if shape.kind == "array" and explode:
            return self.listed([decode(text) for _, text in own], shape.items), own
        if len(own) > 1:
            raise Wrong(f"{name} is there {len(own)} times")
        separator = {"form": ",", "cookie": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}[style]
        raw = own[0][1].replace("|", "%7C") if style == "pipeDelimited" else own[0][1]
        return self._separated(raw, separator, False, shape, schema, decode), own

    def _deep(self, pairs: Pairs, name: str, shape: Shape, decode: Callable[[str], str]) -> tuple[Any, Pairs] | None:
        own = [pair for pair in pairs if pair[0].startswith(f"{name}[") and pair[0].endswith("]")]
        made: dict[str, Any] = {}
        for key, text in own:
            steps = key[len(name) + 1 : -1].split("][")
            inner, schema = made, shape
            for step in steps[:-1]:
                inner = inner.setdefault(step, {})
                schema = shape_of(schema.members.get(step, schema.rest), self._flat)
            wanted = schema.members.get(steps[-1], schema.rest)
            if shape_of(wanted, self._flat).kind == "array":
                items = shape_of(wanted, self._flat).items
                inner.setdefault(steps[-1], []).append(self.single(decode(text), items))
            else:
                inner[steps[-1]] = self.single(decode(text), wanted)
        return (made, own) if own else None

    def _separated(
        self,
        raw: str,
        separator: str,
        explode: bool,
        shape: Shape,
        schema: Any,
        decode: Callable[[str], str] = unquote,
    ) -> Any:
        if shape.kind == "single":
            return self.single(decode(raw), schema)
        parts = raw.split(separator) if raw else []
        if shape.kind == "array":
            return self.listed([decode(part) for part in parts], shape.items)
        return self.members([(decode(key), decode(text)) for key, text in _paired(parts, explode)], shape)


def _after(raw: str, prefix: str, name: str) -> str:
    if not raw.startswith(prefix):
        raise Wrong(f"{name} does not begin with {prefix!r}: {raw!r}")
    return raw[len(prefix) :]


def _paired(parts: Sequence[str], explode: bool) -> Pairs:
    if explode:
        return [(key, text) for key, _, text in (part.partition("=") for part in parts)]
    if len(parts) % 2:
        raise Wrong(f"{len(parts)} parts are no pairs")
    return list(zip(parts[::2], parts[1::2], strict=True))
