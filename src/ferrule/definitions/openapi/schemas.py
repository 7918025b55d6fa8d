"""Schemas of a document as AML can hold them: without references, `allOf` merged, recursion and size bounded.

What a reference becomes is worked out once for each direction (what is sent, what comes back) and shared from then on: the
result is a web of shared mappings, which nobody may change. How large it would be when written out is known beforehand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ferrule.definitions.openapi.discriminators import branch_words, children_of, told_apart
from ferrule.definitions.openapi.entries import (
    NOTHING,
    Entry,
    cut_short,
    described,
    or_null,
    required_names,
    with_branches,
)
from ferrule.definitions.openapi.keywords import simple_keywords
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.references import REFERENCE, Broken, Circles, Target
from ferrule.definitions.openapi.shape import SCHEMA
from ferrule.definitions.openapi.wording import spoken
from ferrule.model.diagnostic import Severity
from ferrule.model.value import Path, type_name
from ferrule.schema.merging import Merger

MOST_HEIGHT = 18
"""Schemas within one another; each is two or three levels of a file."""
_FAR = 10_000
_TRIES = ((3, _FAR), (2, _FAR), (1, _FAR), (1, 8), (1, 6), (1, 4), (1, 3), (1, 2), (1, 1))
"""How often recursive schemas are unrolled, and how deep any may go: less and less until the whole is small enough."""
_MOST_DEPTH = 100
_PATIENCE = 300
"""How many required members of recursive schemas are looked at for one schema."""
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


class _Ways(NamedTuple):
    """How to expand."""

    is_input: bool
    unroll: int
    levels: int


class _TooDeep(Exception):
    """Ends a try."""


class Schemas:
    """The schemas of one document."""

    def __init__(self, document: OpenApi) -> None:
        self._document = document
        self._references = document.references
        self._circles = Circles(document.references)
        self._known: dict[tuple[str, bool, _Ways], Entry] = {}
        self._whole: dict[tuple[str, bool, int], Entry] = {}
        self._leaves: dict[int, dict[str, Any]] = {}
        self._simple: dict[tuple[int, str], tuple[Entry, Entry]] = {}
        """The same for properties, described: as they are sent, and as they come back."""
        self._kept: list[Any] = []
        """Schemas whose ids are in use, so that nothing else gets one of them."""
        self._demanded: set[tuple[str, str]] = set()
        """Required members of recursive schemas that are being worked out."""
        self._patience = _PATIENCE
        self._parts: set[str] = set()
        self._merger = Merger()
        self._has_siblings = document.version in ("3.1", "3.2")

    def expanded(self, written: Any, path: Path, *, is_input: bool, most: int) -> Entry:
        """A schema as it can be written to a file, of `most` schemas at the most."""
        ref = written.get("$ref") if written.__class__ is dict and len(written) == 1 else None
        if ref.__class__ is not str:
            return self._tried(written, path, is_input, most)
        known = self._whole.get((ref, is_input, most))
        if known is None:
            known = self._tried(written, path, is_input, most)
            if ref in self._references:  # what leads nowhere is told wherever it is written
                self._whole[(ref, is_input, most)] = known
        return known

    def _tried(self, written: Any, path: Path, is_input: bool, most: int) -> Entry:
        self._merger.start_anew()
        for unroll, levels in _TRIES:
            self._parts.clear()
            self._demanded.clear()
            self._patience = _PATIENCE
            try:
                entry = self._entry(written, path, _Ways(is_input, unroll, levels), 0)
            except (_TooDeep, RecursionError):
                continue
            if entry.size <= most and entry.height <= MOST_HEIGHT:
                return entry
        return Entry({"description": "Too large to be described here."}, is_cut=True)

    def _entry(self, written: Any, path: Path, ways: _Ways, depth: int, is_part: bool = False) -> Entry:
        if depth > _MOST_DEPTH:
            raise _TooDeep
        if not isinstance(written, dict):
            if written is False:
                return Entry({}, is_hidden=True)
            if written is not True:
                self._document.tell(
                    SCHEMA, path, f"a schema must be an object, not {type_name(written)}; it takes anything"
                )
            return NOTHING
        if "$ref" in written:
            return self._referring(written, path, ways, depth, is_part)
        if written.keys().isdisjoint(_NESTING):
            return self._leaf(written, path, ways)
        if ways.levels <= 0:
            return cut_short(written)
        return self._built(written, path, ways, depth, is_part, None)

    def _leaf(self, written: dict[str, Any], path: Path, ways: _Ways) -> Entry:
        """A schema with no other inside it."""
        out = self._leaves.get(id(written))
        if out is None:
            out, problems = simple_keywords(written)
            for keyword, problem in problems:
                self._document.tell(SCHEMA, (*path, keyword), f"`{keyword}` {problem}")
            self._leaves[id(written)] = out
            self._kept.append(written)
        return Entry(out, 1, 1, written.get("readOnly" if ways.is_input else "writeOnly") is True)

    def _referring(self, written: dict[str, Any], path: Path, ways: _Ways, depth: int, is_part: bool) -> Entry:
        try:
            target = self._references.follow(written["$ref"], path)
        except Broken as problem:
            self._document.keep(problem.finding)
            return Entry({"description": "Anything: the document does not say what it is."})
        entry = self._target(target, ways, depth, is_part)
        if len(written) == 1:
            return entry
        if written.get("nullable") is True or written.get("x-nullable") is True:
            entry = entry._replace(schema=or_null(entry.schema))
        beside = {
            key: value
            for key, value in written.items()
            if key != "$ref" and (self._has_siblings or key in _ANNOTATIONS)
        }
        if not beside:
            return entry
        own = self._built(beside, path, ways, depth, True, None)
        return self._both(entry, own)

    def _target(self, target: Target, ways: _Ways, depth: int, is_part: bool) -> Entry:
        key = target.key
        if not isinstance(target.value, dict):
            return self._entry(target.value, target.path, ways, depth + 1)
        if is_part:
            if key in self._parts:
                self._document.tell(
                    REFERENCE, target.path, f"{target.name!r} is a part of itself (`allOf`); that part is passed over"
                )
                return NOTHING
        elif key in self._circles:
            if ways.unroll <= 0:
                return self._again(target, ways, depth)
            ways = ways._replace(unroll=ways.unroll - 1)
        if ways.levels <= 0:
            return cut_short(target.value)
        mark = (key, is_part, ways)
        known = self._known.get(mark)
        if known is None:
            if is_part:
                self._parts.add(key)
            known = self._built(target.value, target.path, ways, depth + 1, is_part, target)
            if is_part:
                self._parts.discard(key)
            self._known[mark] = known
        return known

    def _built(
        self, written: dict[str, Any], path: Path, ways: _Ways, depth: int, is_part: bool, target: Target | None
    ) -> Entry:
        """One schema that is no reference, or stands beside one."""
        if "$ref" in written and target is not None:  # a reference with more beside it
            return self._referring(written, path, ways, depth, is_part)
        entry = self._own(written, path, ways, depth)
        parts = written.get("allOf")
        if parts is not None:
            entry = self._joined(parts, entry, (*path, "allOf"), ways, depth)
        discriminator = written.get("discriminator")
        for word in _COMBINATORS:
            branches = written.get(word)
            if branches is not None:
                entry = self._alternatives(entry, word, branches, discriminator, path, ways, depth)
        if discriminator is not None and not is_part and target is not None and not written.keys() & {"oneOf", "anyOf"}:
            entry = self._polymorphic(entry, discriminator, target, path, ways, depth)
        if "type" not in written and (written.get("nullable") is True or written.get("x-nullable") is True):
            entry = entry._replace(schema=or_null(entry.schema))
        return entry

    def _own(self, written: dict[str, Any], path: Path, ways: _Ways, depth: int) -> Entry:
        out, problems = simple_keywords(written)
        for keyword, problem in problems:
            self._document.tell(SCHEMA, (*path, keyword), f"`{keyword}` {problem}")
        size = height = 1
        is_cut = False
        below = ways if ways.levels >= _FAR else ways._replace(levels=ways.levels - 1)
        properties, required = written.get("properties"), written.get("required")
        if properties is not None or isinstance(required, list):
            members, taller, is_cut = self._members(properties, path, below, depth)
            hidden = members.pop("", None)
            if members:
                out["properties"] = {name: entry.schema for name, entry in members.items()}
                size += sum(entry.size for entry in members.values())
                height = 1 + taller
            names = required_names(required, hidden, out)
            if names:
                out["required"] = names
                size += len(out["properties"]) - len(members)
        rest = written.get("additionalProperties", written.get("unevaluatedProperties"))
        if isinstance(rest, bool):
            if "additionalProperties" in written or rest:
                out["additionalProperties"] = rest
        elif rest is not None:
            entry = self._entry(rest, (*path, "additionalProperties"), below, depth + 1)
            out["additionalProperties"] = entry.schema or True
            size, height, is_cut = size + entry.size, max(height, 1 + entry.height), is_cut or entry.is_cut
        items = written.get("items")
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
            entry = self._entry(items, (*path, "items"), below, depth + 1)
            out["items"] = entry.schema
            size, height, is_cut = size + entry.size, max(height, 1 + entry.height), is_cut or entry.is_cut
        side = "readOnly" if ways.is_input else "writeOnly"
        return Entry(out, size, height, written.get(side) is True, is_cut)

    def _members(self, properties: Any, path: Path, ways: _Ways, depth: int) -> tuple[dict[str, Entry], int, bool]:
        """The properties of an object; under the empty name, if anything, a mark that some are not for this direction."""
        if not isinstance(properties, dict):
            if properties is not None:
                self._document.tell(SCHEMA, (*path, "properties"), "`properties` must be an object; it is passed over")
            return {}, 0, False
        found: dict[str, Entry] = {}
        hidden: list[str] = []
        taller, is_cut = 0, False
        side = not ways.is_input
        for name, member in properties.items():
            both = self._simple.get((id(member), name))
            if both is not None:
                entry = both[side]
            elif member.__class__ is dict and member.keys().isdisjoint(_NESTING_OR_REF):
                entry = self._simple_member(name, member, (*path, "properties", name), ways)[side]
            else:
                entry = self._entry(member, (*path, "properties", name), ways, depth + 1)
                if "description" not in entry.schema:
                    schema = described(entry.schema, spoken(name))
                    entry = Entry(schema, entry.size, entry.height, entry.is_hidden, entry.is_cut)
            if entry.is_hidden:
                hidden.append(name)
                continue
            found[name] = entry
            taller, is_cut = max(taller, entry.height), is_cut or entry.is_cut
        if hidden:
            found[""] = Entry({"enum": hidden})
        return found, taller, is_cut

    def _simple_member(self, name: str, member: dict[str, Any], path: Path, ways: _Ways) -> tuple[Entry, Entry]:
        """A property with no schema inside it, as it is sent and as it comes back: worked out once."""
        schema = self._leaf(member, path, ways).schema
        if "description" not in schema:
            schema = described(schema, spoken(name))
        seen, hidden = Entry(schema), Entry(schema, is_hidden=True)
        both = (
            hidden if member.get("readOnly") is True else seen,
            hidden if member.get("writeOnly") is True else seen,
        )
        self._simple[(id(member), name)] = both  # `_leaf` keeps the member
        return both

    def _joined(self, parts: Any, entry: Entry, path: Path, ways: _Ways, depth: int) -> Entry:
        if not isinstance(parts, list):
            self._document.tell(SCHEMA, path, "`allOf` must be a list; it is passed over")
            return entry
        whole = NOTHING
        for index, part in enumerate(parts):
            whole = self._both(whole, self._entry(part, (*path, index), ways, depth + 1, is_part=True))
        return self._both(whole, entry)

    def _both(self, one: Entry, other: Entry) -> Entry:
        return Entry(
            self._merger.merge(one.schema, other.schema),
            one.size + other.size - 1,
            max(one.height, other.height),
            one.is_hidden or other.is_hidden,
            one.is_cut or other.is_cut,
        )

    def _alternatives(
        self, entry: Entry, word: str, branches: Any, discriminator: Any, path: Path, ways: _Ways, depth: int
    ) -> Entry:
        if not isinstance(branches, list) or not branches:
            self._document.tell(SCHEMA, (*path, word), f"`{word}` must be a list of schemas; it is passed over")
            return entry
        below = ways if ways.levels >= _FAR else ways._replace(levels=ways.levels - 1)
        made: list[Entry] = []
        for index, branch in enumerate(branches):
            found = self._entry(branch, (*path, word, index), below, depth + 1)
            if discriminator is not None:
                words = branch_words(self._references, discriminator, branch)
                found = found._replace(schema=told_apart(found.schema, discriminator, words))
            made.append(found)
        return with_branches(entry, word, made)

    def _polymorphic(
        self, entry: Entry, discriminator: Any, target: Target, path: Path, ways: _Ways, depth: int
    ) -> Entry:
        """A base class: a value of it is one of those that name it in their `allOf`."""
        below = ways if ways.levels >= _FAR else ways._replace(levels=ways.levels - 1)
        made = []
        for words, child in children_of(self._document, discriminator, target):
            found = self._target(child, below, depth + 1, is_part=False)
            made.append(found._replace(schema=told_apart(found.schema, discriminator, words)))
        del path
        if not made:
            return entry
        head: dict[str, Any] = {key: entry.schema[key] for key in ("type", "description") if key in entry.schema}
        return with_branches(entry._replace(schema=head, size=1, height=1), "oneOf", made)

    def _again(self, target: Target, ways: _Ways, depth: int) -> Entry:
        """A recursive schema, once it was unrolled often enough: what is simple in it, and what must be there."""
        kind = target.value.get("type")
        text = f"Again a {target.name}, in the shape described further up."
        if kind is None and target.value.keys() & {"oneOf", "anyOf", "enum"}:
            return Entry({"description": text}, is_cut=True)
        schema: dict[str, Any] = {
            "type": kind if kind in ("object", "array", "string") else "object",
            "description": text,
        }
        properties, required = target.value.get("properties"), target.value.get("required")
        if schema["type"] != "object" or not isinstance(properties, dict) or not isinstance(required, list):
            return Entry(schema, is_cut=True)
        members: dict[str, Any] = {}
        size, height = 1, 1
        for name in required:
            member = properties.get(name) if isinstance(name, str) else None
            if not isinstance(member, dict) or name in members:
                continue
            if self._patience <= 0 or len(self._demanded) > 3 or (name, target.key) in self._demanded:
                continue
            self._patience -= 1
            self._demanded.add((name, target.key))
            entry = self._entry(member, (*target.path, "properties", name), ways, depth + 1)
            self._demanded.discard((name, target.key))
            if not entry.is_hidden:
                members[name] = entry.schema if "description" in entry.schema else described(entry.schema, spoken(name))
                size, height = size + entry.size, max(height, 1 + entry.height)
        if members:
            schema |= {"properties": members, "required": list(members)}
        return Entry(schema, size, height, is_cut=True)

    def tell_cut(self, path: Path, what: str) -> None:
        """Say that a schema was too large, or contains itself."""
        self._document.tell(
            SCHEMA,
            path,
            f"{what} is large or contains itself; what is left out of its schema takes anything",
            Severity.INFO,
        )
