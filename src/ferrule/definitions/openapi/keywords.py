"""Converts single keywords of OpenAPI's schemas to AML's subset. Keywords without an equivalent go into the description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrule.definitions.openapi.wording import append_sentences, end_sentence, format_value, shorten_text
from ferrule.model.value import JsonObject, is_integer, is_number
from ferrule.schema.merging import key_of
from ferrule.schema.validation.ecma import pattern_defect
from ferrule.schema.validation.soundness import fits

BINARY = "application/octet-stream"
TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
FORMATS = frozenset({"date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6"})
_SILENT_FORMATS = frozenset(
    {"int32", "int64", "float", "double", "decimal", "number", "integer", "string", "int", "long"}
)
"""Formats that add nothing to the type."""
_SAID_FORMATS = {
    "url": "An address (URL).",
    "hostname": "The name of a host.",
    "duration": "A duration (ISO 8601, such as `P1D`).",
}
_LARGEST = 1e300
"""The limit for numbers, which also excludes NaN."""
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_BOUNDS = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
_PLAIN = frozenset({"type", "description", "format", "sensitive", "contentEncoding", "contentMediaType"})
_MOST_DESCRIPTION = 1_200
_NEEDS_SCHEMA = ("not", "if", "dependentSchemas", "dependentRequired", "dependencies", "propertyNames", "contains")


class _Keywords:
    """The converted keywords of one schema, and their problems."""

    __slots__ = ("out", "problems", "said")

    def __init__(self) -> None:
        self.out: JsonObject = {}
        self.said: list[str] = []
        """Sentences for the description."""
        self.problems: list[tuple[str, str]] = []
        """Pairs of a keyword and its problem."""


_USUAL = frozenset(
    ["type", "description", "properties", "required", "items", "additionalProperties", "readOnly", "writeOnly", "allOf",
     "oneOf", "anyOf", "discriminator", "xml"]
)  # fmt: skip
"""Keywords that this module ignores or only looks at."""
_NO_PROBLEMS: tuple[tuple[str, str], ...] = ()


def convert_keywords(written: JsonObject) -> tuple[JsonObject, Sequence[tuple[str, str]]]:
    """Converts types, texts, values and bounds: all keywords that hold no schemas. Returns them, and the keywords' problems."""
    kind, text = written.get("type"), written.get("description")
    # Most schemas end here: a type, and perhaps a description.
    if written.keys() <= _USUAL and kind.__class__ is str and kind in TYPES and text.__class__ in _TEXT_OR_NONE:
        if text is None or not (text := shorten_text(text, _MOST_DESCRIPTION)):
            return {"type": kind}, _NO_PROBLEMS
        return {"type": kind, "description": text}, _NO_PROBLEMS
    made = _Keywords()
    out = made.out
    kind = _read_type(written, made)
    if kind is not None:
        out["type"] = kind
    is_bounded = has_values = False
    for key in written:
        handle = _RARE.get(key)
        if handle is not None:
            handle(written, key, made)
        elif key in _BOUNDED:
            is_bounded = True
        elif key in _VALUED:
            has_values = True
    if is_bounded:
        _convert_bounds(written, made)
    if has_values:
        _convert_values(written, made)
    _describe(written, made)
    if "default" in written and is_json(written["default"]):
        if _is_valid_default(out, written["default"]):
            out["default"] = written["default"]
        else:
            made.problems.append(("default", "does not match its own schema; it is left out"))
    return out, made.problems


def _read_type(written: JsonObject, made: _Keywords) -> object:
    said = written.get("type")
    words: list[str]
    if isinstance(said, str) and said in TYPES:
        words = [said]
    elif said is None:
        words = _infer_type(written)
    else:
        given = said if isinstance(said, list) else [said]
        words = list(dict.fromkeys(word for word in given if isinstance(word, str) and word in TYPES))
        if "file" in given:
            words = ["string"]
        elif len(words) < len(given) and said != "any":
            made.problems.append(("type", f"{str(said)[:60]!r} is no type of JSON; it is ignored"))
    is_nullable = written.get("nullable") is True or written.get("x-nullable") is True
    if is_nullable and words and "null" not in words:
        words = [*words, "null"]
    return None if not words else words[0] if len(words) == 1 else words


def _infer_type(written: JsonObject) -> list[str]:
    if "properties" in written or "additionalProperties" in written:
        return ["object"]
    return ["array"] if "items" in written or "prefixItems" in written else []


def _convert_format(written: JsonObject, key: str, made: _Keywords) -> None:
    said = written[key]
    if not isinstance(said, str) or not said:
        return
    if said in FORMATS:
        made.out["format"] = said
    elif said == "password":
        made.out["sensitive"] = True
    elif said in ("byte", "base64"):
        made.out["contentEncoding"] = "base64"
    elif said == "binary":
        made.out.setdefault("contentMediaType", BINARY)
    elif said not in _SILENT_FORMATS:
        made.said.append(_SAID_FORMATS.get(said) or f"Format: {said[:60]}.")


def _copy_content(written: JsonObject, key: str, made: _Keywords) -> None:
    if isinstance(written[key], str):
        made.out[key] = written[key]


def _convert_pattern(written: JsonObject, key: str, made: _Keywords) -> None:
    said = written[key]
    problem = pattern_defect(said) if isinstance(said, str) else "it is no text"
    if problem is None:
        made.out["pattern"] = said
    else:
        made.problems.append((key, f"is no regular expression of ECMA-262 ({problem}); it is put into the description"))
        if isinstance(said, str):
            made.said.append(f"Pattern: `{said[:200]}`.")


def _describe_as(sentence: str) -> object:
    def say(written: JsonObject, key: str, made: _Keywords) -> None:
        said = written[key]
        if said is not False and said is not None:
            made.said.append(sentence.format(format_value(said)))

    return say


def _report_missing(written: JsonObject, key: str, made: _Keywords) -> None:
    del written
    made.problems.append((key, "has no equivalent in AML's schemas; only the service checks it"))


_RARE: JsonObject = {
    "format": _convert_format,
    "pattern": _convert_pattern,
    "contentEncoding": _copy_content,
    "contentMediaType": _copy_content,
    "uniqueItems": _describe_as("Each only once."),
    "multipleOf": _describe_as("A multiple of {}."),
    "minProperties": _describe_as("At least {} members."),
    "maxProperties": _describe_as("At most {} members."),
    "deprecated": _describe_as("Deprecated."),
    **dict.fromkeys(_NEEDS_SCHEMA, _report_missing),
}
_VALUED = frozenset({"enum", "const"})
_TEXT_OR_NONE = (str, type(None))
_BOUNDED = frozenset({*_COUNTS, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


def _convert_bounds(written: JsonObject, made: _Keywords) -> None:
    out = made.out
    for key in _COUNTS:
        if key in written:
            count = written[key]
            if is_number(count) and count >= 0 and (is_integer(count) or float(count).is_integer()):
                out[key] = int(count)
            elif count is not None:
                made.problems.append((key, "must be a whole number of at least 0; it is ignored"))
    for key, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        bound, strict = written.get(key), written.get(exclusive)
        if bound is not None and not _is_bound(bound):
            made.problems.append((key, "must be a number; it is ignored"))
            bound = None
        if strict is True and bound is not None:  # 3.0 and 2.0: a boolean beside the bound
            out[exclusive] = bound
            continue
        if bound is not None:
            out[key] = bound
        if _is_bound(strict):
            out[exclusive] = strict
    for lower, upper in _BOUNDS:
        if lower in out and upper in out and out[lower] > out[upper]:
            made.problems.append((lower, f"is greater than `{upper}`, so no value would match; both are ignored"))
            del out[lower], out[upper]


def _is_bound(value: object) -> bool:
    return is_number(value) and -_LARGEST < value < _LARGEST


def _convert_values(written: JsonObject, made: _Keywords) -> None:
    out = made.out
    if "enum" in written:
        values = written["enum"]
        if isinstance(values, list) and values and is_json(values):
            unique: dict[object, Any] = {}
            for value in values:
                unique.setdefault(key_of(value), value)
            kept = list(unique.values())
            kind = out.get("type")
            is_nullable = "null" in kind if isinstance(kind, list) else kind is None and written.get("nullable") is True
            if is_nullable and None not in kept:
                kept = [*kept, None]
            out["enum"] = kept
            _explain_values(written, kept, made)
        else:
            made.problems.append(("enum", "must be a list of at least one value; it is ignored"))
    if "const" in written and is_json(written["const"]):
        out["const"] = written["const"]


def _explain_values(written: JsonObject, values: list[object], made: _Keywords) -> None:
    """Adds the meanings of an enumeration's values from a vendor's extension."""
    told = written.get("x-enum-descriptions") or written.get("x-enumDescriptions")
    if len(values) > 30:
        return
    if isinstance(told, dict):
        pairs = [(value, told.get(str(value))) for value in values]
    elif isinstance(told, list):
        pairs = list(zip(values, told, strict=False))
    else:
        return
    lines = [
        f"{format_value(value)}: {shorten_text(text, 120)}"
        for value, text in pairs
        if isinstance(text, str) and text.strip()
    ]
    if lines:
        made.said.append("; ".join(lines) + ".")


def _describe(written: JsonObject, made: _Keywords) -> None:
    text = written.get("description")
    if not isinstance(text, str) or not text.strip():
        text = written.get("title")
        text = end_sentence(text) if isinstance(text, str) else ""
    if "example" in written or "examples" in written:
        example = _find_example(written)
        if example and "xample" not in text:
            made.said.append(f"Example: {example}.")
    described = append_sentences(shorten_text(text, _MOST_DESCRIPTION), made.said)
    if described:
        made.out["description"] = described


def _find_example(written: JsonObject) -> str:
    many = written.get("examples")
    value = written.get("example", many[0] if isinstance(many, list) and many else None)
    return "" if value is None or isinstance(value, dict | list) else format_value(value)


def is_json(value: object) -> bool:
    """Returns True for a value that JSON can hold; NaN and infinity are none."""
    if isinstance(value, int | float):
        return -_LARGEST < value < _LARGEST
    if isinstance(value, list):
        return all(map(is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(is_json, value.values()))
    return value is None or isinstance(value, str)


def _is_valid_default(schema: JsonObject, default: Any) -> bool:
    kind = schema.get("type")
    if schema.keys() <= _PLAIN and isinstance(kind, str) and kind in _PYTHON_TYPES:
        return isinstance(default, _PYTHON_TYPES[kind])
    if kind is None and schema.keys() <= _PLAIN:
        return True
    return fits(schema, default)
