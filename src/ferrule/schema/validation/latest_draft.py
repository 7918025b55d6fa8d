"""Translates schemas of older drafts into 2020-12: the result accepts what a validator of the older draft accepts, and
no more.

`validators.py` says which draft that is, a subschema with a `$schema` of its own included. Keywords that the older
draft does not know are left out, since 2020-12 would apply them. Addresses (`$id`, `id`, anchors) are removed: every
reference is a pointer from the root, and targets at places without a schema move to `$defs`. Two things cannot be
expressed in 2020-12: that draft-04 takes 1.0 for no integer, and that draft-06 and draft-07 check a text against its
`contentEncoding` and `contentMediaType`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec

from ferrule.model.value import JsonObject, Path, dig
from ferrule.schema.merging import bounds_in_numbers
from ferrule.schema.pointers import write_fragment
from ferrule.schema.references import SchemaAddresses, SchemaResource
from ferrule.schema.validation.validators import compile_schema
from ferrule.schema.walk import LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, map_members, members

LATEST_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_LATEST = 2020
_DRAFTS = {"Draft4Validator": 4, "Draft6Validator": 6, "Draft7Validator": 7, "Draft201909Validator": 2019}
_MAY_BE_OLD = re.compile(
    rb'"(?:items"\s*:\s*\[|\$id"\s*:\s*"[^"]*#|(?:\$schema|prefixItems|dependent\w+|unevaluated\w+|m(?:in|ax)Contains|deprecated'
    rb'|contentSchema|\$anchor|\$vocabulary|\$dynamic\w+|\$recursive\w+)")'
)
"""Matches every schema that states its draft, or that only an older draft accepts."""
_NAMES_OLD = re.compile(rb'"\$schema"\s*:\s*"[^"]*(?:draft-0|2019-09)')
_SINCE = {
    **dict.fromkeys(("const", "contains", "propertyNames"), 6),
    **dict.fromkeys(("if", "then", "else"), 7),
    **dict.fromkeys(
        ("$defs", "$anchor", "$vocabulary", "$recursiveRef", "$recursiveAnchor", "contentSchema", "dependentSchemas",
         "dependentRequired", "unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains"),
        2019,
    ),
    **dict.fromkeys(("prefixItems", "$dynamicRef", "$dynamicAnchor"), 2020),
}  # fmt: skip
"""The draft that brought a keyword."""
_ADDRESSES = frozenset({"$schema", "$id", "$anchor", "$vocabulary", "$recursiveAnchor"})
_NOTES: dict[str, type] = {
    **dict.fromkeys(("$comment", "title", "description", "contentEncoding", "contentMediaType"), str),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), bool),
    "examples": list,
}
"""Keywords that only annotate, and the type 2020-12 wants them to have; older drafts do not know all of them."""
_VALUED = frozenset(
    ["type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
     "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxProperties", "minProperties", "required", "format"]
)  # fmt: skip
_HOMES = ("definitions", "$defs")
_REPLACED = frozenset({"additionalItems", "dependencies"})
_DEPENDENT = frozenset({"dependentRequired", "dependentSchemas"})
_BESIDE_REF = _VALUED | SCHEMA_KEYWORDS | LIST_KEYWORDS | (MAP_KEYWORDS - {"definitions"})
"""Keywords without effect beside a `$ref` up to draft-07."""


def latest_draft(schema: bytes) -> JsonObject | None:
    """Translates a schema of an older draft into 2020-12, without `$schema`; None where it is in it already.

    An invalid schema stays as it is, but for its `$schema`: calls of it are rejected. Raises RecursionError for one
    that is nested without end.
    """
    if _MAY_BE_OLD.search(schema) is None:
        return None
    try:
        written: Any = msgspec.json.decode(schema)
    except (msgspec.DecodeError, UnicodeDecodeError):  # numbers or characters that nothing can check
        return None
    if not isinstance(written, dict) or (written.get("$schema") == LATEST_DRAFT and not _NAMES_OLD.search(schema)):
        return None
    draft = _draft_of_calls(schema)
    translation = _Translation(written, draft) if draft is not None else None
    if translation is not None and translation.is_needed:
        return translation.translate()
    if written.get("$schema") in (None, LATEST_DRAFT):
        return None
    return {keyword: operand for keyword, operand in written.items() if keyword != "$schema"}


def _draft_of_calls(schema: bytes) -> int | None:
    """Returns the draft that calls are checked by; None when none accepts the schema."""
    try:
        return _DRAFTS.get(type(compile_schema(schema)).__name__, _LATEST)
    except Exception:  # an invalid schema has no meaning to translate
        return None


@lru_cache(maxsize=256)
def draft_of(address: str) -> int | None:
    """Returns the draft that a `$schema` names: 4, 6, 7, 2019 or 2020; None when the validator does not know it."""
    try:
        validator = jsonschema_rs.validator_for({"$schema": address}, validate_formats=False, offline=True)
    except Exception:  # an unknown address names no draft
        return None
    return _DRAFTS.get(type(validator).__name__, _LATEST)


class _Translation:
    """One schema being translated. Paths lead from its root; `_moved` maps them to paths of the new one."""

    def __init__(self, root: JsonObject, draft: int) -> None:
        self._root = root
        self._places: dict[Path, SchemaResource] = {}
        self._addresses = SchemaAddresses(root)
        self._moved: dict[Path, Path] = {}
        self._references: list[tuple[JsonObject, Path]] = []
        """New schemas whose `$ref` is still to be written, and what it means."""
        self._survey(root, (), SchemaResource(draft))

    @property
    def is_needed(self) -> bool:
        """True when anything in it is of an older draft."""
        return any(place.draft < _LATEST for place in self._places.values())

    def translate(self) -> JsonObject:
        """Returns the schema in 2020-12."""
        new: JsonObject = self._schema(self._root, (), ())
        while self._references:  # grows while what is referred to is written
            holder, target = self._references.pop()
            if target not in self._moved:
                self._move_to_definitions(new, target)
            holder["$ref"] = write_fragment(self._moved[target])
        return new

    def _move_to_definitions(self, new: JsonObject, target: Path) -> None:
        """Writes a referenced part under `$defs`, when no schema is expected where it was."""
        if target not in self._places:
            around = target
            while around not in self._places:
                around = around[:-1]
            self._survey(dig(self._root, target), target, self._places[around])
        home = new.setdefault("$defs", {})
        name = _free(str(target[-1]), home)
        home[name] = True
        home[name] = self._schema(dig(self._root, target), target, ("$defs", name))

    def _survey(self, schema: object, path: Path, around: SchemaResource) -> None:
        """Records how each schema is read, and by which addresses it can be referred to."""
        if not isinstance(schema, dict):
            self._places[path] = around
            return
        said = schema.get("$schema")
        draft = (draft_of(said) if isinstance(said, str) and path else None) or around.draft
        place = self._places[path] = self._addresses.enter(schema, path, around._replace(draft=draft))
        # A keyword that the draft does not know holds no schemas.
        for steps, member in members(_read(schema, draft)):
            self._survey(member, path + steps, place)

    def _target(self, reference: object, place: SchemaResource) -> Path | None:
        found = self._addresses.find(reference, place) if isinstance(reference, str) else None
        return found.path if found is not None and isinstance(found.value, dict | bool) else None

    def _schema(self, schema: Any, path: Path, new_path: Path) -> Any:
        """Translates the schema at one path for another path."""
        self._moved.setdefault(path, new_path)
        if not isinstance(schema, dict):
            return schema
        place = self._places[path]
        known = _read(schema, place.draft)
        made: JsonObject = {}
        for keyword, operand in known.items():
            below, new_below = (*path, keyword), (*new_path, keyword)
            if keyword in ("$ref", "$recursiveRef"):
                self._refer(made, known, keyword, place)
            elif keyword in _HOMES and isinstance(operand, dict):
                self._define(made.setdefault("$defs", {}), operand, below, (*new_path, "$defs"))
            elif keyword == "items" and isinstance(operand, list):
                made["prefixItems"] = self._translate_list(operand, below, (*new_path, "prefixItems"))
            elif keyword not in _REPLACED or place.draft == _LATEST:
                made[keyword] = self._operand(keyword, operand, below, new_below)
        if place.draft < _LATEST:
            self._replace(made, known, path, new_path)
        return made

    def _replace(self, made: JsonObject, known: JsonObject, path: Path, new_path: Path) -> None:
        """Rewrites keywords that 2020-12 replaced."""
        if "additionalItems" in known and "prefixItems" in made:
            rest = (*path, "additionalItems")
            made["items"] = self._schema(known["additionalItems"], rest, (*new_path, "items"))
        if made.get("prefixItems") == []:
            del made["prefixItems"]
        if isinstance(known.get("dependencies"), dict):
            if not made.keys().isdisjoint(_DEPENDENT):  # 2019-09 has both
                made["allOf"] = [*made.get("allOf", ()), {}]
                new_path = (*new_path, "allOf", len(made["allOf"]) - 1)
                made = made["allOf"][-1]
            self._depend(made, known["dependencies"], (*path, "dependencies"), new_path)

    def _operand(self, keyword: str, operand: object, path: Path, new_path: Path) -> object:
        return map_members(
            keyword, operand, lambda member, steps: self._schema(member, path + steps[1:], new_path + steps[1:])
        )

    def _translate_list(self, operand: list[object], path: Path, new_path: Path) -> list[object]:
        return [self._schema(member, (*path, at), (*new_path, at)) for at, member in enumerate(operand)]

    def _refer(self, made: JsonObject, known: JsonObject, keyword: str, place: SchemaResource) -> None:
        # No address is left, so there is one root, and a recursive reference means the same to everybody.
        target = self._target(known["$ref"], place) if keyword == "$ref" else place.home
        if target is None:
            made[keyword] = known[keyword]
        elif keyword == "$recursiveRef" and "$ref" in known:
            made["$dynamicRef"] = write_fragment(self._moved.get(target, ()))
        else:
            # Keeps its place among the keywords; `translate` fills it in once every target has moved.
            made["$ref"] = ""
            self._references.append((made, target))

    def _define(self, home: JsonObject, operand: JsonObject, path: Path, new_path: Path) -> None:
        for name, member in operand.items():
            new_name = _free(name, home)
            home[new_name] = True
            home[new_name] = self._schema(member, (*path, name), (*new_path, new_name))

    def _depend(self, made: JsonObject, operand: JsonObject, path: Path, new_path: Path) -> None:
        for name, member in operand.items():
            if isinstance(member, list):
                made.setdefault("dependentRequired", {})[name] = member
            else:
                written = self._schema(member, (*path, name), (*new_path, "dependentSchemas", name))
                made.setdefault("dependentSchemas", {})[name] = written


def _read(schema: JsonObject, draft: int) -> JsonObject:
    """Returns the keywords that have an effect in the schema's draft, written as 2020-12 has them."""
    is_alone = draft <= 7 and "$ref" in schema
    known = {
        keyword: operand
        for keyword, operand in schema.items()
        if _SINCE.get(keyword, 0) <= draft
        and keyword not in _ADDRESSES
        and not (is_alone and keyword in _BESIDE_REF)
        and isinstance(operand, _NOTES.get(keyword, object))
    }
    if draft == 4:
        known.pop("id", None)
        bounds_in_numbers(known)
    return known


def _free(name: str, taken: JsonObject) -> str:
    """Returns a name that is not taken yet."""
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found
