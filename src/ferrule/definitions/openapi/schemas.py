"""Expands the schemas of a document for AML: no references, `allOf` merged, recursion and size limited.

Each reference is expanded once for each direction (request, response) and shared from then on: the result is a graph of
shared mappings, which nothing may change. Its size when written out is computed along with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ferrule.definitions.openapi.discriminators import add_discriminator, find_children, list_branch_values
from ferrule.definitions.openapi.expanded_schemas import (
    NOTHING,
    ExpandedSchema,
    add_branches,
    add_description,
    cut_members,
    declare_required,
    make_nullable,
)
from ferrule.definitions.openapi.keywords import convert_keywords
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.references import REFERENCE, Broken, RecursiveSchemas, ResolvedReference
from ferrule.definitions.openapi.shape import SCHEMA
from ferrule.definitions.openapi.wording import humanize
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonObject, Path, type_name
from ferrule.schema.merging import Merger

MOST_HEIGHT = 18
"""The most schemas within one another; each takes two or three levels of a file."""
_FAR = 10_000
_TRIES = ((3, _FAR), (2, _FAR), (1, _FAR), (1, 8), (1, 6), (1, 4), (1, 3), (1, 2), (1, 1))
"""The unrolling of recursive schemas and the depth of all, tried in this order until the result is small enough."""
_MOST_DEPTH = 100
_PATIENCE = 300
"""The most required members of recursive schemas that are expanded for one schema."""
_ANNOTATIONS = frozenset(
    {
        "description",
        "title",
        "readOnly",
        "writeOnly",
        "default",
        "example",
        "examples",
        "deprecated",
        "nullable",
        "x-nullable",
    }
)
_NESTING = frozenset(
    ["properties", "required", "items", "prefixItems", "additionalProperties", "unevaluatedProperties", "allOf", "oneOf", "anyOf",
     "discriminator"]
)  # fmt: skip
_NESTING_OR_REF = _NESTING | {"$ref"}
_COMBINATORS = ("oneOf", "anyOf")


class _Limits(NamedTuple):
    """The limits of one expansion."""

    is_input: bool
    unroll: int
    levels: int


class _TooDeep(Exception):
    """Ends an attempt whose schemas are nested too deeply."""


class Schemas:
    """The schemas of one document, each expanded once."""

    def __init__(self, document: OpenApi) -> None:
        self._document = document
        self._references = document.references
        self._circles = RecursiveSchemas(document.references)
        self._known: dict[tuple[str, bool, _Limits], ExpandedSchema] = {}
        self._whole: dict[tuple[str, bool, int], ExpandedSchema] = {}
        self._leaves: dict[int, JsonObject] = {}
        self._simple: dict[tuple[int, str], tuple[ExpandedSchema, ExpandedSchema]] = {}
        """Properties without schemas inside, with a description: in requests, and in responses."""
        self._kept: list[Any] = []
        """Schemas whose ids are in use, kept so that no other object gets the same id."""
        self._demanded: set[tuple[str, str]] = set()
        """Required members of recursive schemas that are being expanded."""
        self._patience = _PATIENCE
        self._parts: set[str] = set()
        self._merger = Merger()
        self._has_siblings = document.version in ("3.1", "3.2")

    def expand(self, written: object, path: Path, *, is_input: bool, most: int) -> ExpandedSchema:
        """Expands a schema to one that can be written to a file, of at most `most` schemas."""
        # Exact classes: documents hold no subclasses, and this runs for every schema.
        ref = written.get("$ref") if written.__class__ is dict and len(written) == 1 else None
        if ref.__class__ is not str:
            return self._expand_bounded(written, path, is_input, most)
        known = self._whole.get((ref, is_input, most))
        if known is None:
            known = self._expand_bounded(written, path, is_input, most)
            if ref in self._references:  # a reference without a target is reported at each of its places
                self._whole[(ref, is_input, most)] = known
        return known

    def _expand_bounded(self, written: object, path: Path, is_input: bool, most: int) -> ExpandedSchema:
        self._merger.start_anew()
        for unroll, levels in _TRIES:
            # An attempt that was broken off leaves its marks behind.
            self._parts.clear()
            self._demanded.clear()
            self._patience = _PATIENCE
            try:
                entry = self._expand_schema(written, path, _Limits(is_input, unroll, levels), 0)
            except (_TooDeep, RecursionError):
                continue
            if entry.size <= most and entry.height <= MOST_HEIGHT:
                return entry
        return ExpandedSchema({"description": "Too large to be described here."}, is_cut=True)

    def _expand_schema(
        self, written: object, path: Path, ways: _Limits, depth: int, is_part: bool = False
    ) -> ExpandedSchema:
        if depth > _MOST_DEPTH:
            raise _TooDeep
        if not isinstance(written, dict):
            if written is False:
                return ExpandedSchema({}, is_hidden=True)
            if written is not True:
                self._document.report(
                    SCHEMA, path, f"a schema must be an object, not {type_name(written)}; it takes anything"
                )
            return NOTHING
        if "$ref" in written:
            return self._expand_reference(written, path, ways, depth, is_part)
        if written.keys().isdisjoint(_NESTING):
            return self._expand_leaf(written, path, ways)
        if ways.levels <= 0:
            return cut_members(written)
        return self._expand_written(written, path, ways, depth, is_part, None)

    def _expand_leaf(self, written: JsonObject, path: Path, ways: _Limits) -> ExpandedSchema:
        """Expands a schema with no other inside it."""
        out = self._leaves.get(id(written))
        if out is None:
            out, problems = convert_keywords(written)
            for keyword, problem in problems:
                self._document.report(SCHEMA, (*path, keyword), f"`{keyword}` {problem}")
            self._leaves[id(written)] = out
            self._kept.append(written)
        return ExpandedSchema(out, 1, 1, written.get("readOnly" if ways.is_input else "writeOnly") is True)

    def _expand_reference(
        self, written: JsonObject, path: Path, ways: _Limits, depth: int, is_part: bool
    ) -> ExpandedSchema:
        try:
            target = self._references.follow(written["$ref"], path)
        except Broken as problem:
            self._document.add_finding(problem.finding)
            return ExpandedSchema({"description": "Anything: the document does not say what it is."})
        entry = self._expand_target(target, ways, depth, is_part)
        if len(written) == 1:
            return entry
        if written.get("nullable") is True or written.get("x-nullable") is True:
            entry = entry._replace(schema=make_nullable(entry.schema))
        beside = {
            key: value
            for key, value in written.items()
            if key != "$ref" and (self._has_siblings or key in _ANNOTATIONS)
        }
        if not beside:
            return entry
        own = self._expand_written(beside, path, ways, depth, True, None)
        return self._merge(entry, own)

    def _expand_target(self, target: ResolvedReference, ways: _Limits, depth: int, is_part: bool) -> ExpandedSchema:
        key = target.key
        if not isinstance(target.value, dict):
            return self._expand_schema(target.value, target.path, ways, depth + 1)
        if is_part:
            if key in self._parts:
                self._document.report(
                    REFERENCE, target.path, f"{target.name!r} is a part of itself (`allOf`); that part is ignored"
                )
                return NOTHING
        elif key in self._circles:
            if ways.unroll <= 0:
                return self._end_recursion(target, ways, depth)
            ways = ways._replace(unroll=ways.unroll - 1)
        if ways.levels <= 0:
            return cut_members(target.value)
        # With fewer levels left the same target is written shorter, so the limits are part of the key.
        mark = (key, is_part, ways)
        known = self._known.get(mark)
        if known is None:
            if is_part:
                self._parts.add(key)
            known = self._expand_written(target.value, target.path, ways, depth + 1, is_part, target)
            if is_part:
                self._parts.discard(key)
            self._known[mark] = known
        return known

    def _expand_written(
        self,
        written: JsonObject,
        path: Path,
        ways: _Limits,
        depth: int,
        is_part: bool,
        target: ResolvedReference | None,
    ) -> ExpandedSchema:
        """Expands a schema that is no reference, or the keywords beside one."""
        if "$ref" in written and target is not None:  # a reference with more beside it
            return self._expand_reference(written, path, ways, depth, is_part)
        entry = self._expand_own(written, path, ways, depth)
        parts = written.get("allOf")
        if parts is not None:
            entry = self._merge_parts(parts, entry, (*path, "allOf"), ways, depth)
        discriminator = written.get("discriminator")
        for word in _COMBINATORS:
            branches = written.get(word)
            if branches is not None:
                entry = self._expand_alternatives(entry, word, branches, discriminator, path, ways, depth)
        if discriminator is not None and not is_part and target is not None and not written.keys() & {"oneOf", "anyOf"}:
            entry = self._expand_children(entry, discriminator, target, path, ways, depth)
        if "type" not in written and (written.get("nullable") is True or written.get("x-nullable") is True):
            entry = entry._replace(schema=make_nullable(entry.schema))
        return entry

    def _expand_own(self, written: JsonObject, path: Path, ways: _Limits, depth: int) -> ExpandedSchema:
        out, problems = convert_keywords(written)
        for keyword, problem in problems:
            self._document.report(SCHEMA, (*path, keyword), f"`{keyword}` {problem}")
        size = height = 1
        is_cut = False
        below = ways if ways.levels >= _FAR else ways._replace(levels=ways.levels - 1)
        properties, required = written.get("properties"), written.get("required")
        if properties is not None or isinstance(required, list):
            members, taller, is_cut = self._expand_members(properties, path, below, depth)
            hidden = members.pop("", None)
            if members:
                out["properties"] = {name: entry.schema for name, entry in members.items()}
                size += sum(entry.size for entry in members.values())
                height = 1 + taller
            names = declare_required(required, hidden, out)
            if names:
                out["required"] = names
                size += len(out["properties"]) - len(members)
        rest = written.get("additionalProperties", written.get("unevaluatedProperties"))
        if isinstance(rest, bool):
            if "additionalProperties" in written or rest:
                out["additionalProperties"] = rest
        elif rest is not None:
            entry = self._expand_schema(rest, (*path, "additionalProperties"), below, depth + 1)
            out["additionalProperties"] = entry.schema or True
            size, height, is_cut = size + entry.size, max(height, 1 + entry.height), is_cut or entry.is_cut
        items = written.get("items")
        # AML's arrays have one schema for all items, so positions become alternatives.
        prefix = items if isinstance(items, list) else written.get("prefixItems")
        if isinstance(prefix, list) and prefix:
            rest = written.get("additionalItems") if isinstance(items, list) else items
            if rest is False:
                out["maxItems"] = min(len(prefix), out.get("maxItems", len(prefix)))
            open_ended = [] if rest is False else [rest if isinstance(rest, dict) else {}]
            items = {"anyOf": [*prefix, *open_ended], "description": "The items differ by their position."}
        elif isinstance(items, list):
            items = {}
        if items is not None:
            entry = self._expand_schema(items, (*path, "items"), below, depth + 1)
            out["items"] = entry.schema
            size, height, is_cut = size + entry.size, max(height, 1 + entry.height), is_cut or entry.is_cut
        side = "readOnly" if ways.is_input else "writeOnly"
        return ExpandedSchema(out, size, height, written.get(side) is True, is_cut)

    def _expand_members(
        self, properties: object, path: Path, ways: _Limits, depth: int
    ) -> tuple[dict[str, ExpandedSchema], int, bool]:
        """Expands the properties of an object; those of the other direction are listed under the empty name."""
        if not isinstance(properties, dict):
            if properties is not None:
                self._document.report(SCHEMA, (*path, "properties"), "`properties` must be an object; it is ignored")
            return {}, 0, False
        found: dict[str, ExpandedSchema] = {}
        hidden: list[str] = []
        taller, is_cut = 0, False
        side = not ways.is_input
        for name, member in properties.items():
            # By id and name: the same written member has another description under another name.
            both = self._simple.get((id(member), name))
            if both is not None:
                entry = both[side]
            elif member.__class__ is dict and member.keys().isdisjoint(_NESTING_OR_REF):
                entry = self._expand_simple_member(name, member, (*path, "properties", name), ways)[side]
            else:
                entry = self._expand_schema(member, (*path, "properties", name), ways, depth + 1)
                if "description" not in entry.schema:
                    schema = add_description(entry.schema, humanize(name))
                    entry = ExpandedSchema(schema, entry.size, entry.height, entry.is_hidden, entry.is_cut)
            if entry.is_hidden:
                hidden.append(name)
                continue
            found[name] = entry
            taller, is_cut = max(taller, entry.height), is_cut or entry.is_cut
        if hidden:
            found[""] = ExpandedSchema({"enum": hidden})
        return found, taller, is_cut

    def _expand_simple_member(
        self, name: str, member: JsonObject, path: Path, ways: _Limits
    ) -> tuple[ExpandedSchema, ExpandedSchema]:
        """Expands a property with no schema inside it, for both directions at once."""
        schema = self._expand_leaf(member, path, ways).schema
        if "description" not in schema:
            schema = add_description(schema, humanize(name))
        seen, hidden = ExpandedSchema(schema), ExpandedSchema(schema, is_hidden=True)
        both = (
            hidden if member.get("readOnly") is True else seen,
            hidden if member.get("writeOnly") is True else seen,
        )
        self._simple[(id(member), name)] = both  # `_leaf` keeps the member
        return both

    def _merge_parts(
        self, parts: object, entry: ExpandedSchema, path: Path, ways: _Limits, depth: int
    ) -> ExpandedSchema:
        if not isinstance(parts, list):
            self._document.report(SCHEMA, path, "`allOf` must be a list; it is ignored")
            return entry
        whole = NOTHING
        for index, part in enumerate(parts):
            whole = self._merge(whole, self._expand_schema(part, (*path, index), ways, depth + 1, is_part=True))
        return self._merge(whole, entry)

    def _merge(self, one: ExpandedSchema, other: ExpandedSchema) -> ExpandedSchema:
        return ExpandedSchema(
            self._merger.merge(one.schema, other.schema),
            one.size + other.size - 1,
            max(one.height, other.height),
            one.is_hidden or other.is_hidden,
            one.is_cut or other.is_cut,
        )

    def _expand_alternatives(
        self,
        entry: ExpandedSchema,
        word: str,
        branches: object,
        discriminator: object,
        path: Path,
        ways: _Limits,
        depth: int,
    ) -> ExpandedSchema:
        if not isinstance(branches, list) or not branches:
            self._document.report(SCHEMA, (*path, word), f"`{word}` must be a list of schemas; it is ignored")
            return entry
        below = ways if ways.levels >= _FAR else ways._replace(levels=ways.levels - 1)
        made: list[ExpandedSchema] = []
        for index, branch in enumerate(branches):
            found = self._expand_schema(branch, (*path, word, index), below, depth + 1)
            if discriminator is not None:
                words = list_branch_values(self._references, discriminator, branch)
                found = found._replace(schema=add_discriminator(found.schema, discriminator, words))
            made.append(found)
        return add_branches(entry, word, made)

    def _expand_children(
        self,
        entry: ExpandedSchema,
        discriminator: object,
        target: ResolvedReference,
        path: Path,
        ways: _Limits,
        depth: int,
    ) -> ExpandedSchema:
        """Expands a base class to the alternatives that refer to it in their `allOf`."""
        below = ways if ways.levels >= _FAR else ways._replace(levels=ways.levels - 1)
        made = []
        for words, child in find_children(self._document, discriminator, target):
            found = self._expand_target(child, below, depth + 1, is_part=False)
            made.append(found._replace(schema=add_discriminator(found.schema, discriminator, words)))
        del path
        if not made:
            return entry
        head: JsonObject = {key: entry.schema[key] for key in ("type", "description") if key in entry.schema}
        return add_branches(entry._replace(schema=head, size=1, height=1), "oneOf", made)

    def _end_recursion(self, target: ResolvedReference, ways: _Limits, depth: int) -> ExpandedSchema:
        """Returns the end of a recursive schema: its description, and only the members that are required."""
        kind = target.value.get("type")
        text = f"Again a {target.name}, in the shape described further up."
        if kind is None and target.value.keys() & {"oneOf", "anyOf", "enum"}:
            return ExpandedSchema({"description": text}, is_cut=True)
        schema: JsonObject = {
            "type": kind if kind in ("object", "array", "string") else "object",
            "description": text,
        }
        properties, required = target.value.get("properties"), target.value.get("required")
        if schema["type"] != "object" or not isinstance(properties, dict) or not isinstance(required, list):
            return ExpandedSchema(schema, is_cut=True)
        members: JsonObject = {}
        size, height = 1, 1
        for name in required:
            member = properties.get(name) if isinstance(name, str) else None
            if not isinstance(member, dict) or name in members:
                continue
            # Required members of recursive schemas may lead on without end.
            if self._patience <= 0 or len(self._demanded) > 3 or (name, target.key) in self._demanded:
                continue
            self._patience -= 1
            self._demanded.add((name, target.key))
            entry = self._expand_schema(member, (*target.path, "properties", name), ways, depth + 1)
            self._demanded.discard((name, target.key))
            if not entry.is_hidden:
                members[name] = (
                    entry.schema if "description" in entry.schema else add_description(entry.schema, humanize(name))
                )
                size, height = size + entry.size, max(height, 1 + entry.height)
        if members:
            schema |= {"properties": members, "required": list(members)}
        return ExpandedSchema(schema, size, height, is_cut=True)

    def report_cut(self, path: Path, what: str) -> None:
        """Reports a schema that is too large, or contains itself."""
        self._document.report(
            SCHEMA,
            path,
            f"{what} is large or contains itself; the parts left out of its schema accept anything",
            Severity.INFO,
        )
