"""Adapts schemas for providers that take any keyword inside: only the root, and keywords their parsers fail on, are
changed.

`fitting.py` stands above, the walk over schemas below. It knows no provider by name.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import Any

from ferrule.model.value import JsonObject
from ferrule.schema.fitting.profile import Profile
from ferrule.schema.fitting.references import DYNAMIC, DefinitionNames
from ferrule.schema.fitting.state import DEEPEST, MOST_SCHEMAS, FittingState, Node, below
from ferrule.schema.fitting.steps import CannotFit
from ferrule.schema.merging import bounds_in_numbers, type_words
from ferrule.schema.walk import DESCENT, LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, positions

_HOMES = ("$defs", "definitions")
_TOUCHED = DESCENT | {"$ref", *DYNAMIC, "$id", "$anchor", "$dynamicAnchor", "exclusiveMinimum", "exclusiveMaximum"}
_CONTAINERS = ("array", "object")
_NEWER = frozenset(
    [
        "prefixItems",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedItems",
        "unevaluatedProperties",
        "minContains",
        "maxContains",
    ]
)
"""Keywords that draft 7 does not have."""
_LATER = frozenset({"unevaluatedItems", "unevaluatedProperties", "minContains", "maxContains", *DYNAMIC})
"""Keywords that draft 7 cannot express in any way."""
_EITHER = frozenset({"oneOf", "not", "if", "then", "else"})
"""Keywords that reject more where something inside them accepts more."""
_SILENT = frozenset({"description", "title", "default", "examples", "$comment", "deprecated"})


class Light(FittingState):
    """One schema being walked, and copied where something changes."""

    def __init__(self, root: object, profile: Profile, draft: int) -> None:
        super().__init__(root, profile, draft)
        self._root = root
        self.homes = DefinitionNames()
        self.schemas *= 3
        self._named_definitions: dict[str, JsonObject] = {}
        self._ahead: list[tuple[str, str, Any]] = []

    def node(self, schema: Any, path: str, depth: int) -> Node | None:
        """Adapts the schema; it never has steps of its own."""
        return self.adapt(schema, path, depth), -1

    def of_type(self, word: str, keywords: JsonObject, path: str, depth: int, words: list[str]) -> Node | None:
        """Not used for providers that take any keyword."""
        return self.adapt({**keywords, "type": word}, path, depth), -1

    def adapt(self, schema: object, path: str, depth: int) -> JsonObject:
        """Returns the schema as it can be sent; itself where nothing changes."""
        if not isinstance(schema, dict):
            if not isinstance(schema, bool):
                raise CannotFit("it is no schema; write an object", path)
            return {} if schema else {"not": {}}
        word = schema.get("type")
        if word.__class__ is not list and word not in _CONTAINERS and schema.keys().isdisjoint(_TOUCHED):
            return schema
        self.spend(path)
        if depth > DEEPEST:
            raise CannotFit(f"it is nested more than {DEEPEST} levels deep; make it flatter", path)
        return self._fill_required(self._inside(self._modern(schema, path), path, depth), path)

    def _inside(self, schema: JsonObject, path: str, depth: int) -> JsonObject:
        changed: JsonObject = {}
        for keyword, operand in schema.items():
            if keyword not in _TOUCHED:
                continue
            if keyword == "$ref":
                found: Any = self._refer(operand, path)
            elif keyword in MAP_KEYWORDS and isinstance(operand, dict):
                if keyword in _HOMES:
                    continue
                found = self._adapt_map(operand, below(path, keyword), depth)
            elif isinstance(operand, list) and (keyword in LIST_KEYWORDS or keyword == "items"):
                where = below(path, keyword)
                found = [self.adapt(member, f"{where}/{at}", depth + 1) for at, member in enumerate(operand)]
                found = operand if all(a is b for a, b in zip(found, operand, strict=True)) else found
            elif keyword in SCHEMA_KEYWORDS and isinstance(operand, dict):
                found = self.adapt(operand, below(path, keyword), depth + 1)
            else:
                continue
            if found is not operand:
                changed[keyword] = found
        if not changed and not any(home in schema for home in _HOMES):
            return schema
        return {word: changed.get(word, said) for word, said in schema.items() if word not in _HOMES}

    def _adapt_map(self, operand: JsonObject, path: str, depth: int) -> JsonObject:
        changed: JsonObject = {}
        if len(operand) > MOST_SCHEMAS:
            raise CannotFit(f"more than {MOST_SCHEMAS:,} at one place; leave some out", path)
        for name, member in operand.items():
            if isinstance(member, list):  # names, in `dependencies`
                continue
            found = self.adapt(member, f"{path}/{name}", depth + 1)
            if found is not member:
                changed[name] = found
        return {name: changed.get(name, member) for name, member in operand.items()} if changed else operand

    def _modern(self, schema: JsonObject, path: str) -> JsonObject:
        """Translates the schema into the draft that the provider reads."""
        if schema.keys().isdisjoint(_DATED):
            return schema
        new = dict(schema)
        if self.draft <= 7:
            self._drop_silent(new, path)
        for keyword in (*DYNAMIC, *(("$id", "$anchor", "$dynamicAnchor") if path else ())):
            if keyword in new:
                self.record_change(below(path, keyword), "references are followed before a schema is sent", "dropped")
                del new[keyword]
        if not _EITHER.isdisjoint(new) and self.is_uncertain:
            self._loose(new, path)
        if self.profile.draft <= 7 < self.draft:
            _older(new)
        bounds_in_numbers(new)
        if self.profile.draft > 7 and isinstance(new.get("items"), list):
            new["prefixItems"] = new.pop("items")
            if "additionalItems" in new:
                new["items"] = new.pop("additionalItems")
            self.record_change(
                below(path, "items"), "a list of schemas is called prefixItems now", "rewritten", "prefixItems"
            )
        elif self.profile.draft <= 7 and isinstance(new.get("prefixItems"), list):
            if isinstance(new.get("items"), dict | bool):
                new["additionalItems"] = new.pop("items")
            new["items"] = new.pop("prefixItems")
            self.record_change(below(path, "prefixItems"), "draft 7 calls it items", "rewritten", "items")
        if self.profile.draft <= 7 and "minContains" in new and "contains" in new:
            self.record_change(below(path, "contains"), "draft 7 knows no minContains", "dropped")
            del new["contains"]
        return new

    @cached_property
    def is_uncertain(self) -> bool:
        """True for keywords that the provider's draft cannot express."""
        if not self.profile.draft <= 7 < self.draft:
            return False
        return any(not _LATER.isdisjoint(position.schema) for position in islice(positions(self._root), 10_000))

    def _loose(self, new: JsonObject, path: str) -> None:
        """Removes keywords that would reject more if something inside them accepted more."""
        if "oneOf" in new:
            self.record_change(
                below(path, "oneOf"), "draft 7 does not know all keywords inside it", "rewritten", "anyOf"
            )
            also = {"allOf": [*new.get("allOf", ()), {"anyOf": new["anyOf"]}]} if "anyOf" in new else {}
            new |= {**also, "anyOf": new.pop("oneOf")}
        for keyword in ("not", "if", "then", "else"):
            if keyword in new:
                self.record_change(below(path, keyword), "draft 7 does not know all keywords inside it", "dropped")
                del new[keyword]

    def _drop_silent(self, new: JsonObject, path: str) -> None:
        """Removes keywords that have no effect in the draft the schema was written for, and would in the provider's."""
        silent = [word for word in new if word in _NEWER]
        if "$ref" in new:
            silent = [word for word in new if word != "$ref" and word not in _SILENT and word not in _HOMES]
        for word in silent:
            self.record_change(below(path, word), "it says nothing in the draft the schema was written for", "dropped")
            del new[word]

    def _fill_required(self, schema: JsonObject, path: str) -> JsonObject:
        word = type_words(schema["type"]) if "type" in schema else ()
        if "array" in word and self.profile.needs_items and not isinstance(schema.get("items"), dict):
            if schema.get("items") is False:
                items: JsonObject = {"not": {}}
            else:
                items = {}
            self.record_change(
                below(path, "items"), f"{self.profile.title} wants items for every array", "default", "{}"
            )
            schema = {**schema, "items": items}
        if "object" in word and self.profile.needs_properties and "properties" not in schema:
            self.record_change(
                below(path, "properties"), f"{self.profile.title} wants properties for every object", "default", "{}"
            )
            schema = {**schema, "properties": {}}
        return schema

    def _refer(self, ref: Any, path: str) -> str:
        target = self.references.target(ref, path)
        home, name, is_new = self.homes.of(ref)
        written = f"#/{home}/{name}"
        if is_new:
            # Takes its place at once: definitions then stand in the order in which they are referred to.
            self._named_definitions.setdefault(home, {})[name] = {}
            self._ahead.append((home, name, target))
        if written != ref:
            self.record_change(below(path, "$ref"), "what is referred to stands under $defs", "rewritten", written)
        return written

    def collect_definitions(self) -> JsonObject:
        """Returns the definitions that are referred to, by their keyword."""
        while self._ahead:
            home, name, target = self._ahead.pop()
            self._named_definitions[home][name] = self.adapt(target, f"{home}/{name}", 1)
        return self._named_definitions


_DATED = frozenset(
    {
        "items",
        "prefixItems",
        "$ref",
        *DYNAMIC,
        "$id",
        "$anchor",
        "$dynamicAnchor",
        "exclusiveMinimum",
        "exclusiveMaximum",
    }
    | _NEWER
    | {"contains"}
    | _EITHER
)


def _older(new: JsonObject) -> None:
    """Rewrites newer keywords for draft 7: references have nothing beside them, dependencies have one keyword."""
    if "$ref" in new and new.keys() - {"$ref"} - _SILENT - set(_HOMES):
        new["allOf"] = [{"$ref": new.pop("$ref")}, *new.get("allOf", ())]
    asked = [new.pop(word) for word in ("dependentRequired", "dependentSchemas") if isinstance(new.get(word), dict)]
    both = asked[0].keys() & asked[1].keys() if len(asked) == 2 else set()
    if asked and not both and "dependencies" not in new:
        new["dependencies"] = {name: said for one in asked for name, said in one.items()}
    elif asked:
        new["allOf"] = [*new.get("allOf", ()), *({"dependencies": one} for one in asked)]
