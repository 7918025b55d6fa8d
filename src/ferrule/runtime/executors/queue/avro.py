"""Codec between JSON values and Avro's binary form. The Avro schema is derived from a JSON Schema, or written by the author.

In a derived schema an object is a record, an optional or nullable member a union with null, an integer `long`, a number
`double`, a base64 string `bytes`, an enum of plain words an enum; what Avro cannot express (any type, alternatives) is a
string of JSON. Used by `formats.py`; knows no queue.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ferrule.infra.drivers import load_driver
from ferrule.model.value import JsonObject

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNNAMED = re.compile(r"[^A-Za-z0-9_]")
_ALTERNATIVES = ("oneOf", "anyOf", "allOf", "const")
_REGISTRY = b"\0"


class BadSchema(ValueError):
    """A schema that cannot be expressed in Avro, or that Avro does not accept."""


class BadAvroValue(ValueError):
    """A value that does not fit its Avro schema, or bytes that cannot be decoded with it."""


class Codec(NamedTuple):
    """One type: its Avro schema, and the conversions to and from JSON."""

    schema: Any
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


class AvroFormat:
    """Writer and reader of one Avro schema."""

    def __init__(self, codec: Codec, schema_id: int | None = None) -> None:
        """Raises BadSchema, and ExecutionFailed when the driver is not installed."""
        self._fastavro = load_driver("fastavro")
        try:
            self._parsed = self._fastavro.parse_schema(codec.schema)
        except Exception as error:  # the library raises a dozen types, and bare ones for what is not a schema at all
            raise BadSchema(f"Avro does not take it: {type(error).__name__}: {error}") from None
        self.schema = codec.schema
        self._codec = codec
        self._head = b"" if schema_id is None else _REGISTRY + schema_id.to_bytes(4, "big")

    def write(self, value: object) -> bytes:
        """Encodes a JSON value. Raises BadAvroValue."""
        buffer = io.BytesIO()
        try:
            self._fastavro.schemaless_writer(buffer, self._parsed, self._codec.encode(value), strict_allow_default=True)
        except BadAvroValue:
            raise
        except Exception as error:  # the library lets through whatever Python raises for a value of the wrong type
            raise BadAvroValue(f"it does not fit the Avro schema ({type(error).__name__})") from None
        return self._head + buffer.getvalue()

    def read(self, body: bytes) -> Any:
        """Decodes bytes, all of them, into a JSON value. Raises BadAvroValue."""
        if self._head and body[:1] == _REGISTRY and len(body) >= len(self._head):
            body = body[len(self._head) :]
        buffer = io.BytesIO(body)
        try:
            found = self._fastavro.schemaless_reader(buffer, self._parsed)
            value = msgspec.to_builtins(self._codec.decode(found), str_keys=True)
        except Exception as error:  # bytes from outside: whatever the library raises, they are not readable
            raise BadAvroValue(f"it cannot be read with the Avro schema ({type(error).__name__})") from None
        if buffer.read(1):
            raise BadAvroValue("it is longer than the Avro schema says")
        return value


def codec_of(schema: object) -> Codec:
    """Returns the codec of a schema that the author wrote: an object, a list, or JSON text. Raises BadSchema."""
    if isinstance(schema, str) and schema.lstrip()[:1] in ("{", "["):
        try:
            schema = msgspec.json.decode(schema)
        except msgspec.DecodeError as error:
            raise BadSchema(f"it is no JSON: {error}") from None
    return Codec(schema, lambda value: _with_bytes(value, schema), _return_unchanged)


def derive_codec(schema: JsonObject, name: str, namespace: str = "ferrule") -> Codec:
    """Derives the codec of an object's JSON Schema. Raises BadSchema."""
    record = _record(schema, _avro_name(name))
    return record._replace(schema={**record.schema, "namespace": ".".join(map(_avro_name, namespace.split(".")))})


def _codec(schema: object, name: str) -> Codec:
    if not isinstance(schema, dict) or any(word in schema for word in _ALTERNATIVES):
        return _ANY
    kind = schema.get("type")
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        if len(others) != 1:
            return _ANY
        inner = _codec({**schema, "type": others[0]}, name)
        return _nullable(inner) if "null" in kind else inner
    if "enum" in schema and kind != "string":
        return _ANY
    match kind:
        case "string":
            return _text(schema, name)
        case "integer":
            return _LONG
        case "number":
            return _DOUBLE
        case "boolean":
            return _BOOLEAN
        case "array":
            return _array(_codec(schema.get("items"), f"{name}_item"))
        case "object" if schema.get("properties"):
            return _record(schema, name)
        case "object":
            return _map(_codec(schema.get("additionalProperties"), f"{name}_value"))
        case _:
            return _ANY


def _text(schema: JsonObject, name: str) -> Codec:
    if schema.get("contentEncoding") == "base64":
        return _BYTES
    words = schema.get("enum")
    if words is None:
        return _STRING
    if not all(isinstance(word, str) and _NAME.fullmatch(word) for word in words) or len(set(words)) < len(words):
        return _STRING
    return Codec({"type": "enum", "name": name, "symbols": words}, _require_type(str, "a text"), _return_unchanged)


def _record(schema: JsonObject, name: str) -> Codec:
    required = set(schema.get("required") or ())
    fields: dict[str, tuple[str, Codec, bool]] = {}
    for member, written in (schema.get("properties") or {}).items():
        field = _avro_name(member)
        if field in fields:
            raise BadSchema(f"{member!r} and {fields[field][0]!r} have one name in Avro; give the schema yourself")
        codec = _codec(written, f"{name}_{field}")
        is_optional = member not in required
        fields[field] = (member, _nullable(codec) if is_optional else codec, is_optional)

    def encode(value: object) -> JsonObject:
        if not isinstance(value, dict):
            raise BadAvroValue("it has to be an object")
        unknown = value.keys() - {member for member, _, _ in fields.values()}
        if unknown:
            raise BadAvroValue(f"the Avro schema has no place for the member {min(unknown)!r}")
        absent = [member for member, _, is_optional in fields.values() if not is_optional and member not in value]
        if absent:
            raise BadAvroValue(f"the member {absent[0]!r} is missing")
        return {field: codec.encode(value.get(member)) for field, (member, codec, _) in fields.items()}

    def decode(value: Any) -> JsonObject:
        read = {
            member: (codec.decode(value[field]), is_optional) for field, (member, codec, is_optional) in fields.items()
        }
        return {member: found for member, (found, is_optional) in read.items() if found is not None or not is_optional}

    written_fields = [
        {"name": field, "type": codec.schema, **({"default": None} if is_optional else {})}
        for field, (_, codec, is_optional) in fields.items()
    ]
    return Codec({"type": "record", "name": name, "fields": written_fields}, encode, decode)


def _array(items: Codec) -> Codec:
    return Codec(
        {"type": "array", "items": items.schema},
        lambda value: [items.encode(each) for each in _require_type(list, "a list")(value)],
        lambda value: [items.decode(each) for each in value],
    )


def _map(values: Codec) -> Codec:
    return Codec(
        {"type": "map", "values": values.schema},
        lambda value: {name: values.encode(each) for name, each in _require_type(dict, "an object")(value).items()},
        lambda value: {name: values.decode(each) for name, each in value.items()},
    )


def _nullable(inner: Codec) -> Codec:
    schema = inner.schema
    if isinstance(schema, list):
        return inner
    return Codec(
        ["null", schema],
        lambda value: None if value is None else inner.encode(value),
        lambda value: None if value is None else inner.decode(value),
    )


def _require_type(kind: type | tuple[type, ...], wanted: str) -> Callable[[Any], Any]:
    def check(value: object) -> Any:
        # In Python true is a whole number.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise BadAvroValue(f"{wanted} is wanted where something else stands")
        return value

    return check


def _integer(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    number: int = _require_type(int, "a whole number")(value)
    if not -(2**63) <= number < 2**63:
        raise BadAvroValue("a whole number does not fit 64 bits")
    return number


def _unbase64(value: object) -> bytes:
    try:
        return base64.b64decode(_require_type(str, "a base64 text")(value), validate=True)
    except (binascii.Error, ValueError) as error:
        if isinstance(error, BadAvroValue):
            raise
        raise BadAvroValue("a base64 text is wanted where another text stands") from None


def _with_bytes(value: object, schema: object) -> Any:
    """Converts a JSON value for a written schema: base64 becomes bytes where that wants them."""
    if schema in ("bytes", {"type": "bytes"}):
        return _unbase64(value)
    if not isinstance(schema, dict):
        return value
    if isinstance(value, dict) and schema.get("type") == "record":
        types = {
            field.get("name"): field.get("type") for field in schema.get("fields") or () if isinstance(field, dict)
        }
        return {name: _with_bytes(each, types.get(name)) for name, each in value.items()}
    if isinstance(value, list) and schema.get("type") == "array":
        return [_with_bytes(each, schema.get("items")) for each in value]
    return value


def _avro_name(text: str) -> str:
    name = _UNNAMED.sub("_", text) or "_"
    return f"_{name}" if name[0].isdecimal() else name


def _return_unchanged(value: object) -> Any:
    return value


_STRING = Codec("string", _require_type(str, "a text"), _return_unchanged)
_LONG = Codec("long", _integer, _return_unchanged)
_DOUBLE = Codec("double", lambda value: float(_require_type((int, float), "a number")(value)), _return_unchanged)
_BOOLEAN = Codec("boolean", _require_type(bool, "true or false"), _return_unchanged)
_BYTES = Codec("bytes", _unbase64, lambda value: base64.b64encode(value).decode())
_ANY = Codec(
    {"type": "string", "contentMediaType": "application/json"},
    lambda value: msgspec.json.encode(value).decode(),
    msgspec.json.decode,
)
