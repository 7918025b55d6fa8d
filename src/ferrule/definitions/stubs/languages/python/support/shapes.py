"""Typed values of JSON and back, by a table of the types that were generated.

Decoding goes by the table. Encoding goes by the value: an object of a generated class
is written as its class says, anything else as what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

from .checking import Schema
from .json_text import DecodeError, parsed, written
from .layouts import Layout, Member
from .limits import are_equal, exact
from .records import is_record, made, members_of

T = TypeVar("T")
_KINDS = {str: "string", bool: "boolean", int: "number", float: "number"}


class Types:
    """The generated types of one schema."""

    def __init__(
        self, schema: str, table: str, classes: Mapping[str, Any] | None = None
    ) -> None:
        self.schema = Schema(schema)
        self._table_text = table
        self._classes = classes or {}
        self._table: dict[str, Any] | None = None
        self._layouts: dict[str, Layout] = {}

    @property
    def _declared(self) -> dict[str, Any]:
        """The table, read when it is first needed."""
        table = self._table
        if table is None:
            table = self._table = parsed(self._table_text)
        return table

    def _layout(self, name: str) -> Layout:
        """What a record's class looks like, read when it is first met."""
        if name not in self._layouts:
            said = self._declared[name]
            self._layouts[name] = Layout(
                made_of=self._classes.get(name),
                members=tuple(Member(*each) for each in said["members"]),
                extra=said["extra"],
                extra_shape=said["extra_shape"],
                tag=said["tag"],
            )
        return self._layouts[name]

    def value(self, shape: Any, value: Any, path: str = "") -> Any:
        """The typed value of a JSON value that fits the schema."""
        if isinstance(shape, str):
            is_whole = shape == "int" and isinstance(value, float)
            return int(exact(value)) if is_whole else value
        kind, *rest = shape
        match kind:
            case "named":
                return self._named(rest[0], value, path)
            case "nullable":
                return None if value is None else self.value(rest[0], value, path)
            case "list":
                return [
                    self.value(rest[0], item, f"{path}/{at}")
                    for at, item in enumerate(_list(value, path))
                ]
            case "map":
                return {
                    name: self.value(rest[0], item, f"{path}/{name}")
                    for name, item in _object(value, path).items()
                }
            case "const":
                return rest[0]
            case _:
                return self._tuple(rest, value, path)

    def _tuple(self, rest: list[Any], value: Any, path: str) -> Any:
        shapes, after, is_tuple = rest
        items = [
            self.value(shapes[at] if at < len(shapes) else after, item, f"{path}/{at}")
            for at, item in enumerate(_list(value, path))
        ]
        return tuple(items) if is_tuple else items

    def _named(self, name: str, value: Any, path: str) -> Any:
        said = self._declared[name]
        match said["kind"]:
            case "record":
                return self._record(self._layout(name), _object(value, path), path)
            case "enum":
                return next(each for each in said["values"] if are_equal(each, value))
            case "alias":
                return self.value(said["shape"], value, path)
            case _:
                return self._variant(said, value, path)

    def _record(self, layout: Layout, value: dict[str, Any], path: str) -> Any:
        values: dict[str, Any] = {}
        for member in layout.members:
            if member.wire in value:
                place = f"{path}/{member.wire}"
                values[member.name] = self.value(
                    member.shape, value[member.wire], place
                )
        extra: dict[str, Any] = {}
        if layout.extra:
            extra = {
                name: self.value(layout.extra_shape, item, f"{path}/{name}")
                for name, item in value.items()
                if name not in layout.wires
            }
        return made(layout, values, extra)

    def _variant(self, said: dict[str, Any], value: Any, path: str) -> Any:
        """The first variant that has the tag, or whose schema takes the value."""
        tag = said["tag"]
        for shape, tags, kinds, pointer in said["variants"]:
            if tag is not None:
                is_it = any(are_equal(each, value[tag]) for each in tags)
            else:
                is_it = _kind(value) in kinds and self.schema.accepts(pointer, value)
            if is_it:
                return self.value(shape, value, path)
        raise DecodeError(path, "is none of the types that are known here")

    def json(self, value: Any) -> Any:
        """The JSON value of a typed value."""
        if is_record(value):
            return self._members(value)
        if isinstance(value, dict):
            return {name: self.json(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(item) for item in value]
        return value

    def _name_of(self, kind: type) -> str:
        """The generated class that a class is, or is made of."""
        for each in kind.__mro__:
            name: str = each.__name__
            if name in self._declared and self._classes.get(name) is each:
                return name
        raise TypeError(f"a {kind.__qualname__} is nothing that this tool knows")

    def _members(self, value: Any) -> dict[str, Any]:
        layout = self._layout(self._name_of(type(value)))
        tagged = dict([layout.tag]) if layout.tag else {}
        members = {
            member.wire: self.json(item) for member, item in members_of(layout, value)
        }
        return tagged | members


class Codec(Generic[T]):
    """How one type is read and written."""

    def __init__(self, types: Types, root: str) -> None:
        self._types = types
        self._root = ["named", root]

    @property
    def schema(self) -> str:
        """The JSON Schema of its values."""
        return self._types.schema.text

    def decode(self, data: bytes | str) -> T:
        """The value of a JSON text. Raises DecodeError where it does not fit."""
        return self.checked(parsed(data))

    def checked(self, value: Any) -> T:
        """The typed value of a JSON value. Raises DecodeError where it does not fit."""
        self._types.schema.check(value)
        return self.typed(value)

    def accepts(self, value: Any) -> bool:
        """Whether a JSON value fits."""
        try:
            self._types.schema.check(value)
        except DecodeError:
            return False
        return True

    def typed(self, value: Any) -> T:
        """The same for a value that is known to fit."""
        try:
            return cast(T, self._types.value(self._root, value))
        except RecursionError:
            raise DecodeError("", "is nested too deeply") from None

    def json(self, value: T) -> Any:
        """A typed value as a JSON value."""
        return self._types.json(value)

    def encode(self, value: T) -> bytes:
        """A typed value as a JSON text."""
        return written(self.json(value))


def _object(value: Any, path: str) -> dict[str, Any]:
    """An object: some schemas take what their types do not."""
    if isinstance(value, dict):
        return value
    raise DecodeError(path, "must be an object")


def _list(value: Any, path: str) -> list[Any]:
    if isinstance(value, list):
        return value
    raise DecodeError(path, "must be a list")


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else _KINDS.get(type(value), "null")
