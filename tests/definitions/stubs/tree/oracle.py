"""Whether a value fits a type tree, worked out as stubs do it: by kinds, by tags, and by the schemas at the variants' places."""

from __future__ import annotations

from typing import Any, assert_never

import jsonschema_rs
import msgspec

from ferrule.contracts.type_tree import (
    Alias,
    Anything,
    Boolean,
    Constant,
    Declaration,
    Enumeration,
    Integer,
    ListOf,
    MapOf,
    NamedType,
    Null,
    Nullable,
    Number,
    RecordType,
    TextType,
    TupleOf,
    Type,
    TypeTree,
    Union,
)
from ferrule.definitions.stubs.alternatives import is_whole
from ferrule.definitions.stubs.places import SchemaDocument
from ferrule.schema.fitting.keywords import type_of
from ferrule.schema.merging import key_of
from ferrule.schema.validation.validators import compile_schema


class Oracle:
    """One tree with the schema it was made of."""

    def __init__(self, schema: Any, tree: TypeTree) -> None:
        self._tree = tree
        self._declared = {each.name: each for each in tree.declarations}
        root = schema if isinstance(schema, dict) else {"allOf": [schema]}
        self._root = {"$id": "urn:root", **root}
        self._is_old = SchemaDocument(schema).draft <= 7

    def fits(self, value: Any, at: Type | None = None) -> bool:
        """Whether a value is one of a type; of the root's where none is given."""
        match self._tree.root if at is None else at:
            case Anything():
                return True
            case Null():
                return value is None
            case Boolean():
                return isinstance(value, bool)
            case Integer(lowest, highest):
                if type_of(value) != "number" or not is_whole(value):
                    return False
                return (lowest is None or lowest <= value) and (highest is None or value <= highest)
            case Number():
                return type_of(value) == "number"
            case TextType():
                return isinstance(value, str)
            case Constant(constant):
                return bool(key_of(constant) == key_of(value))
            case ListOf(item):
                return isinstance(value, list) and all(self.fits(each, item) for each in value)
            case TupleOf() as made:
                return self._is_tuple(value, made)
            case MapOf(inner):
                return isinstance(value, dict) and all(self.fits(each, inner) for each in value.values())
            case Nullable(inner):
                return value is None or self.fits(value, inner)
            case NamedType(name):
                return self._is_declared(value, self._declared[name])
            case other:
                assert_never(other)

    def _is_tuple(self, value: Any, made: TupleOf) -> bool:
        if not isinstance(value, list) or len(value) < made.required:
            return False
        after = value[len(made.items) :]
        if after and (made.rest is None or not all(self.fits(each, made.rest) for each in after)):
            return False
        return all(self.fits(each, item) for each, item in zip(value, made.items, strict=False))

    def _is_declared(self, value: Any, declaration: Declaration) -> bool:
        match declaration:
            case RecordType():
                return self._is_record(value, declaration)
            case Enumeration():
                return key_of(value) in {key_of(choice.value) for choice in declaration.choices}
            case Union():
                return self._is_variant(value, declaration)
            case Alias():
                return self.fits(value, declaration.type)
            case other:
                assert_never(other)

    def _is_record(self, value: Any, record: RecordType) -> bool:
        if not isinstance(value, dict):
            return False
        named = {member.name: member for member in record.members}
        if any(member.is_required and member.name not in value for member in record.members):
            return False
        for name, inner in value.items():
            made = named[name].type if name in named else record.extra
            if made is None or not self.fits(inner, made):
                return False
        return True

    def _is_variant(self, value: Any, union: Union) -> bool:
        if union.tag is not None:
            if not isinstance(value, dict) or union.tag not in value:
                return False
            tag = key_of(value[union.tag])
            return any(
                self.fits(value, variant.type)
                for variant in union.variants
                if any(key_of(each) == tag for each in variant.tags)
            )
        for variant in union.variants:
            if type_of(value) in variant.kinds and self.accepts(variant.pointer, value):
                return self.fits(value, variant.type)
        return False

    def accepts(self, pointer: str, value: Any) -> bool:
        """Whether the schema at a place accepts a value."""
        home = "definitions" if self._is_old else "$defs"
        whole = {
            "$id": "urn:whole",
            home: {"root": self._root},
            "allOf": [{"$ref": f"{self._root['$id']}{encoded(pointer)}"}],
        }
        if "$schema" in self._root:
            whole["$schema"] = self._root["$schema"]
        elif self._is_old:
            whole["$schema"] = "http://json-schema.org/draft-07/schema#"
        return compile_schema(msgspec.json.encode(whole)).is_valid(value)


def encoded(pointer: str) -> str:
    """A pointer as a validator wants it: what may not stand in an address is escaped."""
    safe = "/~%#$-_.!*'(),:@&=+;?"
    return "".join(
        one if one.isascii() and (one.isalnum() or one in safe) else "".join(f"%{byte:02X}" for byte in one.encode())
        for one in pointer
    )


def validator(schema: Any) -> jsonschema_rs.Validator | None:
    """The project's validator of a schema; None where it is no schema."""
    try:
        return compile_schema(msgspec.json.encode(schema))
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError):
        return None
