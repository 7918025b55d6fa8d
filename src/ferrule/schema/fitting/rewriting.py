"""Rewrites a schema for a provider that takes some keywords only, with the steps that decode an answer.

The fitted schema can express everything the original accepts, so it is never narrower, with three readings: an object
or tuple that does not state whether it takes more (`additionalProperties` absent beside `properties`) is taken not to;
a schema without `type` means the types its keywords apply to; and null for a property that may be left out leaves it
out.
"""

from __future__ import annotations

from typing import Any

from ferrule.model.value import JsonObject
from ferrule.schema.fitting.flattening import Flat
from ferrule.schema.fitting.keywords import FAMILIES, TYPED, types_of
from ferrule.schema.fitting.lists import rewrite_list
from ferrule.schema.fitting.objects import rewrite_object
from ferrule.schema.fitting.profile import Profile
from ferrule.schema.fitting.references import DefinitionNames
from ferrule.schema.fitting.scalars import rewrite_enum, rewrite_scalar
from ferrule.schema.fitting.state import CONDITIONAL, DEEPEST, FittingState, Node, below
from ferrule.schema.fitting.steps import KEEP, CannotFit, Same
from ferrule.schema.fitting.unions import rewrite_union
from ferrule.schema.merging import ANNOTATIONS, type_words

_NESTED = 30
"""How deep a definition is looked at where it is met; deeper ones wait for their turn."""
_UNROLLED = 2
"""How often a schema that refers to itself is written out within itself, where a provider takes no such references."""
_NAMES = ("string", "integer", "number", "boolean")
_PLAIN_LIST = frozenset({"type", "items", "description"})
_FEW = 50
_SCALARS = frozenset({"string", "integer", "number", "boolean"})


class Rewriting(FittingState):
    """One schema being rewritten."""

    def __init__(self, root: object, profile: Profile, draft: int) -> None:
        super().__init__(root, profile, draft)
        self.homes = DefinitionNames()
        self.level = 0
        self.open: dict[str, int] = {}
        self.built: dict[str, Node | None] = {}
        self.slots: dict[str, int] = {}
        self._ahead: list[tuple[str, str, Any]] = []
        self._leaf = (profile.accepted or frozenset()) & {"type", "description", "title", "minimum", "maximum"}

    def node(self, schema: Any, path: str, depth: int) -> Node | None:
        """Rewrites the schema as the provider takes it; None where it accepts nothing."""
        if schema.__class__ is dict and self._is_plain(schema, depth):
            return schema, KEEP
        self.spend(path)
        if self.level > DEEPEST:
            return self.cut(path, f"it is nested more than {DEEPEST} levels deep")
        self.level += 1
        try:
            return self._node(schema, path, depth)
        finally:
            self.level -= 1

    def _is_plain(self, schema: JsonObject, depth: int) -> bool:
        """Returns True for one of the many schemas that every provider takes as they are: a shortcut, since most are."""
        word = schema.get("type")
        if word.__class__ is not str:
            return False
        if word in _SCALARS:
            return schema.keys() <= self._leaf or (word == "string" and self._is_plain_enum(schema))
        if word == "array" and schema.keys() <= _PLAIN_LIST:
            items = schema.get("items")
            is_shallow = self.profile.deepest is None or depth <= self.profile.deepest
            return is_shallow and items.__class__ is dict and items.get("type") in _NAMES and items.keys() <= self._leaf
        return False

    def _is_plain_enum(self, schema: JsonObject) -> bool:
        values = schema.get("enum")
        if values.__class__ is not list or not schema.keys() <= self._leaf | {"enum"} or not 0 < len(values) <= _FEW:
            return False
        if not all(value.__class__ is str for value in values) or len(set(values)) < len(values):
            return False
        if not self.profile.allows_empty_texts and "" in values:
            return False
        most = self.profile.most_enum_values
        if most is not None and self.enum_values + len(values) > most:
            return False
        # Counted here too, as `rewrite_enum` does: a provider's limits are about all enums together.
        self.enum_values += len(values)
        self.characters += sum(map(len, values))
        return True

    def _node(self, schema: object, path: str, depth: int) -> Node | None:
        if schema is False:
            return None
        if schema is True:
            return self.anything({}, path, [])
        if not isinstance(schema, dict):
            raise CannotFit("it is no schema; write an object", path)
        if "$ref" in schema:
            return self._follow_reference(schema, path, depth)
        flat = self.flat(schema, path)
        return None if flat is None else self.flat_node(flat, path, depth)

    def flat_node(self, flat: Flat, path: str, depth: int) -> Node | None:
        """Rewrites a schema that was flattened already."""
        words: list[str] = []
        keywords = self.drop_conditions(flat, path, words)
        unions = self.alternatives(flat.unions, path, words) if flat.unions else []
        if unions:
            return self._union(keywords, unions, path, depth, words)
        if "enum" in keywords or "const" in keywords:
            return rewrite_enum(self, keywords, path, depth, words)
        types = types_of(keywords)
        if not types:
            if "type" in keywords:
                return None
            return self.anything(keywords, path, words)
        if len(types) == 1:
            return self.of_type(types[0], keywords, path, depth, words)
        return self._several(types, keywords, path, depth, words)

    def of_type(self, word: str, keywords: JsonObject, path: str, depth: int, words: list[str]) -> Node | None:
        """Rewrites a schema of one type."""
        if word == "object":
            return rewrite_object(self, keywords, path, depth, words)
        if word == "array":
            return rewrite_list(self, keywords, path, depth, words)
        return rewrite_scalar(self, word, keywords, path, words), KEEP

    def _union(
        self, keywords: JsonObject, unions: list[list[object]], path: str, depth: int, words: list[str]
    ) -> Node | None:
        branches = unions[0]
        beside = {word: said for word, said in keywords.items() if word not in ANNOTATIONS and word not in CONDITIONAL}
        if beside.keys() == {"type"} and all(self._is_within(branch, beside["type"], path) for branch in branches):
            beside = {}
        # What stands beside a union holds for every branch, so each branch is rewritten together with it.
        around: list[Any] = [beside] if beside else []
        combined = len(branches)
        for more in unions[1:]:
            combined *= max(1, len(more))
            if combined > 32:
                self.describe_dropped(path, "anyOf", more, words)
            else:
                around.append({"anyOf": more})
        if around:
            branches = [{"allOf": [*around, branch]} for branch in branches]
        annotations = {word: said for word, said in keywords.items() if word in ANNOTATIONS}
        return rewrite_union(self, branches, annotations, path, depth, words)

    def _is_within(self, branch: object, word: object, path: str) -> bool:
        """Returns True when a branch takes no other types anyway."""
        flat = self.flat(branch, path) if isinstance(branch, dict) else None
        return flat is not None and "type" in flat.keywords and set(types_of(flat.keywords)) <= set(type_words(word))

    def _several(self, types: list[str], keywords: JsonObject, path: str, depth: int, words: list[str]) -> Node | None:
        if (
            self.profile.allows_type_lists
            and "object" not in types
            and "array" not in types
            and TYPED.isdisjoint(keywords)
        ):
            return self.finish({"type": types}, keywords, path, words), KEEP
        annotations = {word: said for word, said in keywords.items() if word in ANNOTATIONS}
        beside = {word: said for word, said in keywords.items() if word not in TYPED and word not in ANNOTATIONS}
        branches = [
            {
                **{
                    word: said
                    for word, said in beside.items()
                    if word != "format" or one in ("string", "number", "integer")
                },
                **{word: keywords[word] for word in FAMILIES.get(one, ()) if word in keywords},
                "type": one,
            }
            for one in types
        ]
        return rewrite_union(self, branches, annotations, path, depth, words)

    def _follow_reference(self, schema: JsonObject, path: str, depth: int) -> Node | None:
        ref = schema["$ref"]
        target = self.references.target(ref, path)
        is_alone = self.draft <= 7 or schema.keys() - {"$ref"} <= ANNOTATIONS
        if self.profile.refs == "kept" and is_alone and self._may_recur(ref, path):
            return self._keep_reference(ref, target, schema, path)
        if self.open.get(ref, 0) >= _UNROLLED:
            return self.cut(path, f"{self.profile.title} takes no schema that refers to itself")
        flat = self.flat(schema, path)
        if flat is None:
            return None
        self.open[ref] = self.open.get(ref, 0) + 1
        try:
            return self.flat_node(flat, path, depth)
        finally:
            self.open[ref] -= 1

    def _may_recur(self, ref: str, path: str) -> bool:
        return self.profile.is_recursion_allowed or not self.references.is_recursive(ref, path)

    def _keep_reference(self, ref: str, target: object, schema: JsonObject, path: str) -> Node | None:
        _, name, is_new = self.homes.of(ref, is_plain_kept=False)
        if is_new:
            # The target may refer to itself, so its step needs a number before anybody knows what the step does.
            self.slots[ref] = self.step(Same())
            if self.level < _NESTED:
                self._define(ref, name, target)
            else:
                self._ahead.append((ref, name, target))
        node = self.built.get(ref, _UNFINISHED)
        if node is None:
            return None
        step = self.slots[ref] if node is _UNFINISHED else node[1]
        if f"#/$defs/{name}" != ref:
            self.record_change(
                below(path, "$ref"), "what is referred to stands under $defs", "rewritten", f"#/$defs/{name}"
            )
        referring: JsonObject = {"$ref": f"#/$defs/{name}"}
        beside = {} if self.draft <= 7 else {word: said for word, said in schema.items() if word != "$ref"}
        around = self.finish({}, beside, path, []) if beside else {}
        return {"anyOf": [referring], **around} if around else referring, step

    def _define(self, ref: str, name: str, target: object) -> None:
        found = self.node(target, f"$defs/{name}", 1)
        self.built[ref] = found
        if found is None:
            # Written although no value fits it: a reference inside itself may already point here.
            found = {"type": "null"}, KEEP
        self.definitions[name] = found[0]
        if found[1] != KEEP:
            # References carry the number of the slot by now.
            self.steps[self.slots[ref]] = self.steps[found[1]]

    def collect_definitions(self) -> JsonObject:
        """Returns every definition that is referred to."""
        while self._ahead:
            self._define(*self._ahead.pop())
        return self.definitions


# Known by identity: a finished node may look just like it.
_UNFINISHED: Node = ({}, KEEP)
