"""The types of a schema's values, as the languages of stubs see them.

`definitions/stubs` makes a tree from each schema; a language (`contracts/language.py`) writes it as source text. It
knows neither.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ferrule.model.value import JsonValue


class Anything(msgspec.Struct, frozen=True):
    """Any JSON value."""


class Null(msgspec.Struct, frozen=True):
    """`null` and nothing else."""


class Boolean(msgspec.Struct, frozen=True):
    """`true` or `false`."""


class Integer(msgspec.Struct, frozen=True):
    """A number without a fraction; `2.0` is one. The bounds are inclusive and None where the schema states none."""

    minimum: int | None = None
    maximum: int | None = None


class Number(msgspec.Struct, frozen=True):
    """Any number."""


class TextType(msgspec.Struct, frozen=True):
    """A string."""

    format: str = ""
    """`date-time`, `uuid`, `uri`, …: shown to the reader, never checked (calls do not check it either); `binary` where
    the schema says `contentEncoding: base64`."""


class Constant(msgspec.Struct, frozen=True):
    """One value: text, a number or a boolean."""

    value: str | int | float | bool


class ListOf(msgspec.Struct, frozen=True):
    """Any number of values of one type."""

    item: Type


class TupleOf(msgspec.Struct, frozen=True):
    """Values by position. Fewer than all of them may be there: `required` says how many must be."""

    items: tuple[Type, ...]
    required: int
    rest: Type | None
    """The type of further items; None when there may be none."""


class MapOf(msgspec.Struct, frozen=True):
    """An object with any names."""

    value: Type


class Nullable(msgspec.Struct, frozen=True):
    """`null` or the type inside, which is not nullable itself."""

    inner: Type


class NamedType(msgspec.Struct, frozen=True):
    """A type that the tree declares. Types may refer to themselves through these."""

    name: str


Type = (
    Anything | Null | Boolean | Integer | Number | TextType | Constant | ListOf | TupleOf | MapOf | Nullable | NamedType
)


class Bound(msgspec.Struct, frozen=True):
    """One limit that every value of a member keeps."""

    keyword: str
    """`minLength`, `maxLength`, `pattern`, `minimum`, `exclusiveMinimum`, `multipleOf`, `minItems`, `minProperties`, …"""
    value: str | int | float


class TypeAnnotations(msgspec.Struct, frozen=True, kw_only=True):
    """The annotations of a type for its reader."""

    description: str = ""
    """As in the schema: it may have lines, and any characters at all."""
    limits: tuple[str, ...] = ()
    """Checks of the schema that the type cannot express, a short clause each: `at most 40 characters`, `matches
    ^[a-z]+$`."""
    bounds: tuple[Bound, ...] = ()
    """Those of the limits that compare with one value, of a member alone: for languages that write checks of them."""
    default: JsonValue = None
    """Documented, never filled in (AML-31)."""
    has_default: bool = False
    examples: tuple[JsonValue, ...] = ()
    is_deprecated: bool = False


SILENT = TypeAnnotations()


class RecordMember(msgspec.Struct, frozen=True, kw_only=True):
    """A member of a record."""

    name: str
    """On the wire: any text, also an empty one."""
    type: Type
    is_required: bool
    words: TypeAnnotations = SILENT


Openness = Literal["closed", "silent", "open"]
"""Whether a record takes members that it does not name: none; any, because nothing was said; or it says which."""


class RecordType(msgspec.Struct, frozen=True, kw_only=True):
    """An object with members. Required, optional and nullable are three different things: see `Member` and `Nullable`."""

    name: str
    members: tuple[RecordMember, ...]
    openness: Openness
    extra: Type | None
    """The type of members that it does not name; None when closed. Those of an `open` record are kept when a value is decoded and
    encoded again; those of a `silent` one may be dropped."""
    pointer: str
    words: TypeAnnotations = SILENT


EnumerationKind = Literal["string", "integer"]


class EnumerationChoice(msgspec.Struct, frozen=True):
    """One value of an enumeration."""

    value: str | int
    word: str
    """The stem of its identifier: never empty, and different from every other of the enumeration."""


class Enumeration(msgspec.Struct, frozen=True, kw_only=True):
    """A closed set of texts or of integers. (Sets of other and of mixed values are unions of constants.)"""

    name: str
    kind: EnumerationKind
    choices: tuple[EnumerationChoice, ...]
    pointer: str
    words: TypeAnnotations = SILENT


JsonKind = Literal["object", "array", "string", "number", "boolean"]
"""What a JSON parser sees of a value. Integers are numbers."""


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One of the types of a union."""

    word: str
    """The stem of its identifier: different from every other of the union."""
    type: Type
    tags: tuple[str | int | bool, ...]
    """The values of the union's tag that mean this variant; empty in a union without a tag."""
    pointer: str
    """Where its schema stands, as a `$ref` would write it (`#/$defs/Pet/oneOf/0`; `~` and `/` in names are `~0` and `~1`, `%` is
    `%25`, anything else stands as it is)."""
    kinds: tuple[JsonKind, ...] = ()
    """The kinds of its values. Without a tag, a value is of the first variant that has its kind among these and whose schema
    accepts it: several variants may stand at one place (`type: [string, object]`) and are told apart by their kinds then."""


class Union(msgspec.Struct, frozen=True, kw_only=True):
    """A value of one of several types. No variant is nullable, and no two have the same type."""

    name: str
    variants: tuple[Variant, ...]
    tag: str | None
    """The member whose value says which variant it is: required in every variant, which are records all. None where there is
    none, and the schemas decide."""
    pointer: str
    words: TypeAnnotations = SILENT


class Alias(msgspec.Struct, frozen=True, kw_only=True):
    """Another name of a type: of a root that is no object, or of a shared definition that is none."""

    name: str
    type: Type
    pointer: str
    words: TypeAnnotations = SILENT


Declaration = RecordType | Enumeration | Union | Alias


class TypeNote(msgspec.Struct, frozen=True):
    """A place where a type is looser than a reader of the schema would expect."""

    pointer: str
    """A JSON pointer into the schema: `#/properties/when`."""
    message: str


class TypeTree(msgspec.Struct, frozen=True):
    """The types of one schema."""

    root: NamedType
    """Always declared: `GetWeatherInput`, `GetWeatherOutput`."""
    declarations: tuple[Declaration, ...]
    """The root first, then in the order in which a reader meets them."""
    notes: tuple[TypeNote, ...] = ()

    def find_declaration(self, name: str) -> Declaration:
        """Returns the declaration of a name."""
        return next(each for each in self.declarations if each.name == name)
