"""Soundness: checks whether a schema is valid, a value fits, and a pattern is a regular expression.

Asserts no formats and fetches nothing. Draft meta-schemas come compiled with jsonschema-rs; the table below says which
keywords hold further schemas in which draft.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from ferrule.model.hints import nearest
from ferrule.model.value import JsonObject, JsonValue, Path, dig, format_path
from ferrule.schema.mirrored_headers import find_mirrored
from ferrule.schema.pointers import find_at, read_pointer
from ferrule.schema.validation.ecma import pattern_defect

if TYPE_CHECKING:
    import jsonschema_rs


class SchemaDefect(NamedTuple):
    """A defect of a schema, at the offending keyword."""

    path: Path
    message: str
    """The end of a sentence that begins with the keyword."""
    hint: str | None = None
    """The remedy, where there is one."""

    def sentence(self) -> str:
        """Returns the defect with the keyword it is about, and the member that has it."""
        where = f"`{format_path(self.path[-2:])}`" if self.path else "the schema"
        return f"{where} {self.message}"


class _Draft(NamedTuple):
    """One version of JSON Schema: its meta-schema, and the keywords that hold further schemas."""

    meta: jsonschema_rs.Validator
    single: frozenset[str]
    lists: frozenset[str]
    maps: frozenset[str]
    leading: frozenset[str]
    """All of them together."""
    identity: str
    """The keyword that gives a schema its own address, `$id` or `id`."""


_EXPECTED = {
    "type": "must be a JSON Schema type (string, number, integer, boolean, object, array, null) or a list of those",
    "required": "must be a list of distinct property names",
    "enum": "must be a list of values",
    "properties": "must map property names to schemas",
    "items": "must be a schema",
    "additionalProperties": "must be true, false or a schema",
    "$ref": "must be a reference, as text",
    "pattern": "must be a regular expression, as text",
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), "must be a list of one or more schemas"),
    **dict.fromkeys(("not", "if", "then", "else", "contains", "propertyNames"), "must be a schema"),
    **dict.fromkeys(("$defs", "definitions", "patternProperties"), "must map names to schemas"),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        "must be a whole number, 0 or more",
    ),
    **dict.fromkeys(("minimum", "maximum"), "must be a number"),
    "multipleOf": "must be a number above 0",
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly", "deprecated"), "must be true or false"),
    **dict.fromkeys(("title", "description", "format", "$comment"), "must be text"),
}
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_ADDRESSES = {
    "http://json-schema.org/draft-04/schema": "4",
    "http://json-schema.org/draft-06/schema": "6",
    "http://json-schema.org/draft-07/schema": "7",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
}
_CLASSES = {
    "4": "Draft4Validator",
    "6": "Draft6Validator",
    "7": "Draft7Validator",
    "2019-09": "Draft201909Validator",
    "2020-12": "Draft202012Validator",
}
_SINGLE = frozenset({"additionalProperties", "not", "items"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
_MAPS = frozenset({"properties", "patternProperties", "definitions", "dependencies"})
_SINCE_6 = frozenset({"contains", "propertyNames"})
_SINCE_7 = _SINCE_6 | {"if", "then", "else"}
_SINCE_2019 = _SINCE_7 | {"contentSchema", "unevaluatedItems", "unevaluatedProperties"}


@cache
def _library() -> Any:
    """Loads jsonschema-rs when first needed: most AML files never need it."""
    return import_module("jsonschema_rs")


@lru_cache(maxsize=8)
def _draft(version: str) -> _Draft:
    address = next(address for address, name in _ADDRESSES.items() if name == version)
    meta = getattr(_library(), _CLASSES[version])({"$schema": address, "$ref": address}, validate_formats=False)
    single, lists, maps = _SINGLE, _LISTS, _MAPS
    single |= {"6": _SINCE_6, "7": _SINCE_7, "2019-09": _SINCE_2019, "2020-12": _SINCE_2019}.get(version, frozenset())
    if version == "2020-12":
        lists |= {"prefixItems"}
    else:
        single |= {"additionalItems"}
        lists |= {"items"}
    if version.startswith("20"):
        maps |= {"$defs", "dependentSchemas"}
    return _Draft(meta, single, lists, maps, single | lists | maps, "id" if version == "4" else "$id")


def fits(schema: JsonObject | bool, value: JsonValue) -> bool:
    """Returns True when a value is valid for a schema, and when the schema itself cannot be used."""
    try:
        library = _library()
        return bool(library.is_valid(schema, value, draft=library.Draft7, validate_formats=False, offline=True))
    except Exception:  # an unusable schema is another rule's finding
        return True


def schema_defects(schema: object) -> list[SchemaDefect]:
    """Returns every place where a JSON Schema validator rejects the schema, one per keyword.

    The dialect is that of `$schema`; without one, a schema that either draft 2020-12 or draft-07 accepts is valid.
    """
    if isinstance(schema, bool):
        return []
    if not isinstance(schema, dict):
        return [SchemaDefect((), "must be a schema: a mapping, true or false")]
    return _defects(schema) or _header_defects(schema)


def _header_defects(schema: JsonObject) -> list[SchemaDefect]:
    """Returns the defect of parameters that are to be headers: clients would reject the whole tool."""
    try:
        find_mirrored(schema)
    except ValueError as problem:
        return [SchemaDefect((), f"cannot be used by MCP clients: {problem}")]
    return []


def _defects(schema: JsonObject) -> list[SchemaDefect]:
    address = schema.get("$schema")
    version = _ADDRESSES.get(address.removesuffix("#")) if isinstance(address, str) else None
    if version is not None:
        return _Examination(schema, _draft(version)).defects()
    modern = _Examination(schema, _draft("2020-12")).defects()
    if not modern:
        return modern
    # Neither draft accepts it: the one with fewer complaints is more likely the one its author meant.
    older = _Examination(schema, _draft("7")).defects()
    return older if len(older) <= len(modern) else modern


class _Examination:
    """One schema under one draft: visits every schema position once, targets of `$ref` included."""

    def __init__(self, schema: JsonObject, draft: _Draft) -> None:
        self.schema = schema
        self.draft = draft
        self.found: dict[Path, str] = {}
        self.seen: dict[int, JsonObject] = {}
        self.roots: list[tuple[Path, JsonObject]] = [((), schema)]
        self.anchors_wanted: list[tuple[Path, str]] = []

    def defects(self) -> list[SchemaDefect]:
        while self.roots:
            path, root = self.roots.pop()
            if id(root) not in self.seen:
                self._examine_tree(path, root)
        if self.anchors_wanted:
            self._check_anchors()
        return [SchemaDefect(path, message, _hint(self.schema, path)) for path, message in self.found.items()]

    def _examine_tree(self, path: Path, root: JsonObject) -> None:
        # One question about the whole tree spares one per schema in it: nearly all schemas are sound.
        is_sound = _accepts(self.draft.meta, root)
        leading, identity, seen = self.draft.leading, self.draft.identity, self.seen
        stack = [(path, root, self.schema)]
        while stack:
            path, node, resource = stack.pop()
            if id(node) in seen:  # an alias: reported where it is written
                continue
            seen[id(node)] = node
            if not is_sound:
                self._check_keywords(path, node)
            # Up to draft 7 an address that begins with `#` is an anchor and leaves the base as it was.
            if identity in node and isinstance(node[identity], str) and not node[identity].startswith("#"):
                resource = node
            if "$ref" in node:
                self._check_reference(path, "$ref", node["$ref"], resource)
            if "$dynamicRef" in node:
                self._check_reference(path, "$dynamicRef", node["$dynamicRef"], resource)
            if "pattern" in node:
                self._check_pattern((*path, "pattern"), node["pattern"])
            if not leading.isdisjoint(node):
                stack += [(below, member, resource) for below, member in reversed(self._below(path, node))]

    def _below(self, path: Path, node: JsonObject) -> list[tuple[Path, JsonObject]]:
        draft = self.draft
        below: list[tuple[Path, JsonObject]] = []
        for keyword, operand in node.items():
            if keyword not in draft.leading:
                continue
            if isinstance(operand, dict):
                if keyword in draft.maps:
                    if keyword == "patternProperties":
                        for name in operand:
                            self._check_pattern((*path, keyword, name), name)
                    below += [((*path, keyword, name), m) for name, m in operand.items() if isinstance(m, dict)]
                elif keyword in draft.single:
                    below.append(((*path, keyword), operand))
            elif isinstance(operand, list) and keyword in draft.lists:
                below += [((*path, keyword, index), m) for index, m in enumerate(operand) if isinstance(m, dict)]
        return below

    def _check_keywords(self, path: Path, node: JsonObject) -> None:
        """Checks one schema alone against the meta-schema: the schemas inside it are blanked out, so each error is its
        own."""
        alone = {keyword: self._blank_members(keyword, operand) for keyword, operand in node.items()}
        if _accepts(self.draft.meta, alone):
            return
        for keyword, operand in alone.items():
            if _accepts(self.draft.meta, {keyword: operand}):
                continue
            wrong = self._wrong_members(keyword, operand)
            for name in wrong:
                self.found.setdefault((*path, keyword, name), "must be a schema: a mapping, true or false")
            if not wrong:
                self.found.setdefault((*path, keyword), self._complaint(keyword, operand))

    def _wrong_members(self, keyword: str, operand: object) -> list[str | int]:
        """Returns the members of a list or mapping of schemas that are none; empty when the fault is not in a member."""
        meta = self.draft.meta
        if isinstance(operand, dict) and keyword in self.draft.maps:
            return [name for name, member in operand.items() if not _accepts(meta, {keyword: {name: member}})]
        if isinstance(operand, list) and keyword in self.draft.lists:
            return [index for index, member in enumerate(operand) if not _accepts(meta, {keyword: [member]})]
        return []

    def _blank_members(self, keyword: str, operand: object) -> object:
        draft = self.draft
        if isinstance(operand, dict):
            if keyword in draft.maps:
                return {name: {} if isinstance(member, dict) else member for name, member in operand.items()}
            return {} if keyword in draft.single else operand
        if isinstance(operand, list) and keyword in draft.lists:
            return [{} if isinstance(member, dict) else member for member in operand]
        return operand

    def _complaint(self, keyword: str, operand: object) -> str:
        if keyword in _EXPECTED:
            return _EXPECTED[keyword]
        error = next(iter(self.draft.meta.iter_errors({keyword: operand})), None)
        text = f"is wrong: {error.message}" if error is not None else "is not allowed here"
        return text if len(text) <= 160 else text[:157] + "…"

    def _check_pattern(self, path: Path, pattern: object) -> None:
        if isinstance(pattern, str):
            reason = pattern_defect(pattern)
            if reason is not None:
                self.found.setdefault(path, f"is no regular expression by ECMA-262: {reason}")

    def _check_reference(self, path: Path, keyword: str, reference: object, resource: JsonObject) -> None:
        if not isinstance(reference, str) or not reference.startswith("#") or reference == "#":
            return
        fragment = unquote(reference[1:])
        if not fragment.startswith("/"):
            self.anchors_wanted.append(((*path, keyword), fragment))
            return
        for root, base in ((self.schema, ()), (resource, None)):
            found = find_at(root, read_pointer(fragment))
            if found is None:
                continue
            target, steps = found
            if isinstance(target, dict) and base is not None:
                # The target may lie outside every schema keyword, where the walk would not come by.
                self.roots.append((steps, target))
            return
        self.found.setdefault((*path, keyword), f"points at {reference[:80]!r}, which does not exist in this schema")

    def _check_anchors(self) -> None:
        names: set[Any] = set()
        for node in self.seen.values():
            names.update(node[word] for word in ("$anchor", "$dynamicAnchor") if isinstance(node.get(word), str))
            identity = node.get(self.draft.identity)
            if isinstance(identity, str):
                names.add(identity.partition("#")[2])
        for path, name in self.anchors_wanted:
            if name not in names:
                self.found.setdefault(path, f"points at '#{name[:80]}', which does not exist in this schema")


def _hint(schema: JsonObject, path: Path) -> str | None:
    """Returns a hint for the most common mistakes."""
    if not path:
        return None
    keyword, operand = path[-1], dig(schema, path)
    if keyword == "type":
        if operand is None or (isinstance(operand, list) and None in operand):
            return 'the type is the word "null", in quotes'
        return nearest(operand, _TYPES) if isinstance(operand, str) else None
    if keyword == "required" and isinstance(operand, bool):
        return "list the property's name in the `required` of the schema around it"
    if keyword == "$ref" and isinstance(operand, str):
        return "write what it should point at, for example under `$defs`, or correct the pointer"
    return None


def _accepts(meta: jsonschema_rs.Validator, schema: JsonObject) -> bool:
    try:
        return meta.is_valid(schema)
    except Exception:  # text that is no Unicode: nothing a schema keyword would be
        return len(schema) == 1
