"""The state of one fitting: changes, steps, definitions, and the budget that is left."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, TypeAlias

from ferrule.model.loss import Instead
from ferrule.model.value import JsonObject
from ferrule.schema.fitting.flattening import Flat, flatten
from ferrule.schema.fitting.keywords import TYPED, append_words, describe_keyword
from ferrule.schema.fitting.profile import Profile
from ferrule.schema.fitting.references import DYNAMIC, FittedReferences
from ferrule.schema.fitting.steps import KEEP, CannotFit, FittingChange, JsonText, Step

Node: TypeAlias = tuple[dict[str, Any], int]
"""A fitted schema and the number of the step that turns a value of it back."""

MOST_SCHEMAS = 2_000
"""The most schemas within a fitted one, at any depth."""
DEEPEST = 60
"""How deep a schema may be nested."""
CONDITIONAL = ("not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies")
"""Keywords that no provider with rules takes anywhere."""
_LOOSENED = frozenset([*CONDITIONAL, *DYNAMIC])
_REQUIREMENT = frozenset({"required", "type", "description", "title", "not"})
_SEEN = frozenset(["type", "enum", "const", *TYPED, *CONDITIONAL, *DYNAMIC, "$defs", "definitions", "format", "$ref"])
"""Keywords that are handled where they matter."""


class FittingState(ABC):
    """One fitting."""

    def __init__(self, root: object, profile: Profile, draft: int) -> None:
        self.profile = profile
        self.draft = draft
        self.references = FittedReferences(root)
        self.changes: list[FittingChange] = []
        self.steps: list[Step] = []
        self.definitions: JsonObject = {}
        self.names = re.compile(profile.property_names) if profile.property_names else None
        self.schemas = MOST_SCHEMAS
        self.members = MOST_SCHEMAS
        self.enum_values = self.properties = self.characters = self.optional = self.unions = 0
        self._text = KEEP

    @abstractmethod
    def node(self, schema: Any, path: str, depth: int) -> Node | None:
        """Fits a schema to the provider; returns None where it accepts nothing."""

    @abstractmethod
    def of_type(self, word: str, keywords: JsonObject, path: str, depth: int, words: list[str]) -> Node | None:
        """Fits a schema that was flattened already and takes one type."""

    def spend(self, path: str) -> None:
        """Counts one schema against the budget."""
        self.schemas -= 1
        if self.schemas < 0:
            raise CannotFit(
                f"written out it would have more than {MOST_SCHEMAS:,} parts; leave some out or give them as text", path
            )

    def record_change(self, path: str, why: str, instead: Instead, put: str = "") -> None:
        """Records one change."""
        self.changes.append(FittingChange(path, why, instead, put))

    def describe_dropped(self, path: str, keyword: str, operand: object, words: list[str]) -> None:
        """Leaves a keyword out, and describes it in words where a model could use that."""
        said = describe_keyword(keyword, operand)
        why = f"{self.profile.title} does not take this {keyword}"
        if said:
            words.append(said)
            self.record_change(below(path, keyword), why, "description", said)
        else:
            self.record_change(below(path, keyword), why, "dropped")

    def step(self, step: Step) -> int:
        """Adds a step to the table; returns its number."""
        self.steps.append(step)
        return len(self.steps) - 1

    def flat(self, schema: object, path: str) -> Flat | None:
        """Joins the schema with its references and all of its `allOf`; None where it accepts nothing."""
        if isinstance(schema, dict) and "$ref" not in schema and "allOf" not in schema:
            return flatten([self._read(schema)])
        members: list[JsonObject] = []
        if not self._gather(schema, path, (), members):
            return None
        return flatten(members) if members else Flat({}, [], [])

    def _read(self, schema: JsonObject) -> JsonObject:
        """Removes keywords that its draft does not have."""
        if self.draft > 7 or "prefixItems" not in schema:
            return schema
        return {word: said for word, said in schema.items() if word != "prefixItems"}

    def _gather(self, schema: object, path: str, open_refs: tuple[str, ...], members: list[JsonObject]) -> bool:
        """Adds everything a value must satisfy; returns False where nothing fits."""
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise CannotFit("it is no schema; write an object", path)
        self.members -= 1
        if self.members < 0 or len(open_refs) > DEEPEST:
            raise CannotFit("its allOf and $ref lead to too many schemas; write it more simply", path)
        ref = schema.get("$ref")
        # Up to draft 7 a `$ref` hides what stands beside it.
        if ref is None or self.draft > 7:
            members.append(self._read(schema))
            for member in said if isinstance(said := schema.get("allOf"), list) else ():
                if not self._gather(member, path, open_refs, members):
                    return False
        # A reference met again on its own path adds nothing new, and following it would not end.
        if ref is None or ref in open_refs:
            return True
        return self._gather(self.references.target(ref, path), path, (*open_refs, ref), members)

    def alternatives(self, unions: list[list[Any]], path: str, words: list[str]) -> list[list[Any]]:
        """Returns the unions that are worth keeping: those that only require other properties are described in words."""
        kept: list[list[Any]] = []
        for branches in unions:
            if all(
                isinstance(branch, dict) and branch.keys() <= _REQUIREMENT and "required" in branch
                for branch in branches
            ):
                said = " or ".join(", ".join(map(str, branch["required"])) for branch in branches[:20])
                words.append(f"needs {said}")
                self.record_change(
                    below(path, "anyOf"), "a schema cannot ask for one property or another here", "description", said
                )
            else:
                kept.append(branches)
        return kept

    def drop_conditions(self, flat: Flat, path: str, words: list[str]) -> JsonObject:
        """Returns the keywords of a schema, once those that no provider with rules takes are described in words."""
        for keyword, operand in flat.left_out:
            self.describe_dropped(path, keyword, operand, words)
        if not _LOOSENED.isdisjoint(flat.keywords):
            for keyword in flat.keywords:
                if keyword in _LOOSENED:
                    self.describe_dropped(path, keyword, flat.keywords[keyword], words)
        return flat.keywords

    def within_limits(self) -> None:
        """Raises CannotFit where the schema exceeds the provider's limits."""
        profile = self.profile
        for most, count, what in (
            (profile.most_properties, self.properties, "properties"),
            (profile.most_characters, self.characters, "characters in names and enums"),
            (profile.most_optional, self.optional, "properties that may be left out"),
            (profile.most_unions, self.unions, "properties with several types"),
        ):
            if most is not None and count > most:
                raise CannotFit(
                    f"{profile.title} takes at most {most:,} {what}, and it has {count:,}; make it smaller or not strict"
                )

    def anything(self, keywords: JsonObject, path: str, words: list[str], what: str = "any JSON value") -> Node:
        """Returns a schema for any value: as it is, or as JSON in a text where a provider demands a type."""
        if self.profile.allows_anything:
            return self.finish({}, keywords, path, words), KEEP
        if self._text == KEEP:
            self._text = self.step(JsonText())
        put = f"{what}, written as JSON in a text"
        self.record_change(path, f"{self.profile.title} wants to know the type of every value", "rewritten", put)
        return self.finish({"type": "string"}, keywords, path, [put, *words]), self._text

    def cut(self, path: str, why: str) -> Node:
        """Returns the schema for a place where nesting must stop."""
        if self.profile.allows_anything:
            self.record_change(path, why, "dropped")
        return self.anything({}, path, [])

    def finish(self, fitted: JsonObject, keywords: JsonObject, path: str, words: list[str]) -> JsonObject:
        """Completes the fitted schema: annotations, and words for keywords that were left out."""
        accepted = self.profile.accepted
        for keyword, operand in keywords.items():
            if keyword in _SEEN or keyword in fitted:
                continue
            if accepted is None or keyword in accepted:
                fitted[keyword] = operand
            else:
                self.describe_dropped(path, keyword, operand, words)
        if words:
            fitted["description"] = append_words(fitted.get("description"), words)
        return fitted


def below(path: str, name: str | int) -> str:
    """Returns a place inside another."""
    return f"{path}/{name}" if path else str(name)


@lru_cache(maxsize=2048)
def is_pattern_taken(pattern: str, kind: str) -> bool:
    """Returns True when a provider's regular expression engine is known to support this pattern."""
    if kind == "any":
        return True
    if _LOOKAROUND.search(pattern):
        return False
    # Six digits decide; `int` refuses texts of several thousand.
    return kind != "simple" or not (_FANCY.search(pattern) or any(int(n[:6]) > 100 for n in _COUNTS.findall(pattern)))


_LOOKAROUND = re.compile(r"\(\?<?[=!]")
_FANCY = re.compile(r"\\[1-9bBkpPGAzZ]|\(\?[^:]")
_COUNTS = re.compile(r"[{,](\d+)")
