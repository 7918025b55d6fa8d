"""Containment: does a new schema still accept everything an old one did? Yes; no, with a counterexample; or undecided.

Plain objects, lists and unions are split into parts here, which keeps large schemas cheap and gives small
counterexamples; the rest is left to jsonschema-rs, if it is small enough to be answered quickly. Every counterexample
is validated against both schemas before it counts. Steps are counted, never timed, so an answer does not depend on the
machine.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple

import jsonschema_rs

from ferrule.model.value import MISSING, JsonObject, JsonValue, Missing, Path
from ferrule.schema.merging import is_same
from ferrule.schema.validation.samples import LONGEST, samples
from ferrule.schema.walk import copy_schema, positions

Schema = dict[str, Any] | bool
DRAFT_7 = jsonschema_rs.Draft7
_DRAFTS = {"draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 19, "2020-12": 20}
_VALIDATORS: dict[int, Any] = {
    4: jsonschema_rs.Draft4Validator,
    6: jsonschema_rs.Draft6Validator,
    7: jsonschema_rs.Draft7Validator,
    19: jsonschema_rs.Draft201909Validator,
    20: jsonschema_rs.Draft202012Validator,
}
_ANNOTATIONS = frozenset(
    {"$comment", "$schema", "default", "deprecated", "description", "examples", "readOnly", "sensitive", "title"}
    | {"writeOnly"}
)
_OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})
_ARRAY = frozenset({"type", "items", "minItems", "maxItems", "uniqueItems"})
_STEPS, _QUESTIONS, _DEEPEST = 20_000, 200, 120
_LARGEST, _MOST_BRANCHES = 120, 60


class Containment(Enum):
    """The result of comparing a new schema with an old one."""

    ACCEPTS_ALL = "accepts_all"
    REFUSES_SOME = "refuses_some"
    UNDECIDED = "undecided"


class ContainmentVerdict(NamedTuple):
    """The answer, with a value the old schema accepts and the new one refuses where one was found."""

    answer: Containment
    example: JsonValue | Missing = MISSING


class _TooMuch(Exception):
    """The budget is spent."""


_YES, _UNDECIDED = ContainmentVerdict(Containment.ACCEPTS_ALL), ContainmentVerdict(Containment.UNDECIDED)


def contains(old: Schema, new: Schema, draft: int | None = None) -> ContainmentVerdict:
    """Decides whether `new` accepts every value that `old` accepts. Never raises and never takes long."""
    try:
        question = _Question(draft or _draft_of(old) or _draft_of(new) or DRAFT_7)
        return question.decide(without_annotations(old), without_annotations(new))
    except Exception:  # an invalid schema is another rule's finding
        return _UNDECIDED


class _Question:
    """One question with its budget."""

    def __init__(self, draft: int) -> None:
        self.draft = draft
        self.steps = _STEPS
        self.questions = _QUESTIONS

    def decide(self, old: Schema, new: Schema, depth: int = 0) -> ContainmentVerdict:
        self.steps -= 1
        if is_same(old, new) or new is True or new == {} or old is False:
            return _YES
        if self.steps < 0 or depth > _DEEPEST:
            raise _TooMuch
        if isinstance(old, dict) and isinstance(old.get("enum"), list):
            return self._decide_enum(old, new)
        parted = self._decide_by_parts(old, new, depth)
        if parted is not None and parted.answer is not Containment.UNDECIDED:
            return parted
        return self._ask_library(old, new)

    def _decide_enum(self, old: JsonObject, new: Schema) -> ContainmentVerdict:
        """Decides for a closed list of values by trying every one of them."""
        accepted, still = self._validator(old), self._validator(new)
        for value in old["enum"]:
            if not still.is_valid(value) and accepted.is_valid(value):
                return ContainmentVerdict(Containment.REFUSES_SOME, value)
        return _YES

    def _decide_by_parts(self, old: Schema, new: Schema, depth: int) -> ContainmentVerdict | None:
        """Decides from the parts, where both schemas are plain enough to be split."""
        if not isinstance(old, dict):
            return None
        if set(old) == {"anyOf"}:
            return self._all([(branch, new) for branch in old["anyOf"]], old, new, depth)
        if isinstance(old.get("type"), list) and len(old["type"]) > 1:
            kinds = [{**old, "type": word} for word in old["type"]]
            return self._all([(kind, new) for kind in kinds], old, new, depth)
        if not isinstance(new, dict):
            return None
        if "allOf" in new:
            rest = {key: value for key, value in new.items() if key != "allOf"}
            return self._all([(old, rest), *((old, branch) for branch in new["allOf"])], old, new, depth)
        if set(new) == {"anyOf"} and len(new["anyOf"]) <= _MOST_BRANCHES:
            # One branch that takes everything is proof; without one nothing is decided, since several may cover `old`
            # together.
            if any(self.decide(old, branch, depth + 1).answer is Containment.ACCEPTS_ALL for branch in new["anyOf"]):
                return _YES
            return None
        if old.get("type") == "object" and new.get("type", "object") == "object" and _only(_OBJECT, old, new):
            return self._objects(old, new, depth)
        if old.get("type") == "array" and new.get("type", "array") == "array" and _only(_ARRAY, old, new):
            return self._arrays(old, new, depth)
        return None

    def _all(self, pairs: list[tuple[Schema, Schema]], old: Schema, new: Schema, depth: int) -> ContainmentVerdict:
        answers = [self.decide(part, whole, depth + 1) for part, whole in pairs]
        for verdict in answers:
            if verdict.example is not MISSING and self._tells_apart(old, new, verdict.example):
                return verdict
        return _YES if all(verdict.answer is Containment.ACCEPTS_ALL for verdict in answers) else _UNDECIDED

    def _objects(self, old: JsonObject, new: JsonObject, depth: int) -> ContainmentVerdict:
        before, after = old.get("properties", {}), new.get("properties", {})
        rest_before, rest_after = old.get("additionalProperties", True), new.get("additionalProperties", True)
        newly = set(new.get("required", ())) - set(old.get("required", ()))
        certain = not newly
        if newly:
            value = self._example_object(old, new)
            if value is not MISSING:
                return ContainmentVerdict(Containment.REFUSES_SOME, value)
        # One name that neither declares stands for all undeclared ones.
        for name in {**before, **after, _unused_name(before, after): True}:
            part = before.get(name, rest_before)
            verdict = self.decide(part, after.get(name, rest_after), depth + 1)
            if verdict.answer is Containment.ACCEPTS_ALL:
                continue
            certain = False
            if verdict.example is not MISSING:
                # A refused value of one property proves nothing until the old schema accepts a whole object with it.
                value = self._example_object(old, new, {name: verdict.example})
                if value is not MISSING:
                    return ContainmentVerdict(Containment.REFUSES_SOME, value)
        return _YES if certain else _UNDECIDED

    def _example_object(self, old: JsonObject, new: JsonObject, given: JsonObject | None = None) -> JsonValue | Missing:
        """Builds the smallest object of the old schema with these members, if it tells the schemas apart."""
        value = dict(given or {})
        for name in old.get("required", []):
            if name not in value:
                fitting = self._smallest(old.get("properties", {}).get(name, old.get("additionalProperties", True)))
                if fitting is MISSING:
                    return MISSING
                value[name] = fitting
        return value if self._tells_apart(old, new, value) else MISSING

    def _arrays(self, old: JsonObject, new: JsonObject, depth: int) -> ContainmentVerdict | None:
        if isinstance(old.get("items"), list) or isinstance(new.get("items"), list):
            return None
        lowest, highest = old.get("minItems", 0), old.get("maxItems")
        limit = new.get("maxItems")
        verdict = self.decide(old.get("items", True), new.get("items", True), depth + 1)
        fits = new.get("minItems", 0) <= lowest and (limit is None or (highest is not None and highest <= limit))
        unique = new.get("uniqueItems") is not True or old.get("uniqueItems") is True
        if fits and unique and verdict.answer is Containment.ACCEPTS_ALL:
            return _YES
        if verdict.example is not MISSING and lowest <= LONGEST:
            filler = self._smallest(old.get("items", True)) if lowest > 1 else None
            value = [verdict.example, *([filler] * (lowest - 1))]
            if filler is not MISSING and self._tells_apart(old, new, value):
                return ContainmentVerdict(Containment.REFUSES_SOME, value)
        return self._lengths(old, new) if not fits else _UNDECIDED

    def _lengths(self, old: JsonObject, new: JsonObject) -> ContainmentVerdict:
        """Decides for lists whose permitted lengths became fewer."""
        lowest, highest = old.get("minItems", 0), old.get("maxItems")
        limit = new.get("maxItems")
        length = lowest if new.get("minItems", 0) > lowest or limit is None else max(lowest, limit + 1)
        if highest is not None and length > highest:
            return _UNDECIDED
        filler = self._smallest(old.get("items", True)) if length else None
        if filler is MISSING or (length > 1 and old.get("uniqueItems") is True):
            return _UNDECIDED
        if length > LONGEST:  # certain, but too long to read
            return ContainmentVerdict(Containment.REFUSES_SOME)
        value = [filler] * length
        return ContainmentVerdict(Containment.REFUSES_SOME, value) if self._tells_apart(old, new, value) else _UNDECIDED

    def _ask_library(self, old: Schema, new: Schema) -> ContainmentVerdict:
        """Decides with the library and with samples, for schemas that cannot be split."""
        self.questions -= 1
        if self.questions < 0:
            raise _TooMuch
        answer, difference = self._check_cover(old, new)
        if answer is Containment.ACCEPTS_ALL:
            return _YES
        accepted, still = self._validator(old), self._validator(new)
        # The difference first: its values are the likeliest to be refused.
        for schema in (difference, old, new):
            for value in samples(schema) if schema is not MISSING else ():
                if not still.is_valid(value) and accepted.is_valid(value):
                    return ContainmentVerdict(Containment.REFUSES_SOME, value)
        return ContainmentVerdict(answer)

    def _check_cover(self, old: Schema, new: Schema) -> tuple[Containment, Any]:
        # Canonicalizing multiplies the branches out: beyond these sizes it takes seconds, and gigabytes.
        if _weight(old) + _weight(new) > _LARGEST or _branches(old) * _branches(new) > _MOST_BRANCHES:
            return Containment.UNDECIDED, MISSING
        before, after = (
            jsonschema_rs.canonicalize(schema, draft=self.draft, validate_formats=True, offline=True)
            for schema in (old, new)
        )
        answer = after.covers(before)
        if answer == jsonschema_rs.canonical.Containment.YES:
            return Containment.ACCEPTS_ALL, MISSING
        difference: Any = MISSING
        with suppress(jsonschema_rs.canonical.CanonicalizationError):
            difference = before.subtract(after).to_json_schema()
        no = answer == jsonschema_rs.canonical.Containment.NO
        return (Containment.REFUSES_SOME if no else Containment.UNDECIDED), difference

    def _smallest(self, schema: Schema) -> JsonValue | Missing:
        return next((value for value in samples(schema) if self._fits(schema, value)), MISSING)

    def _tells_apart(self, old: Schema, new: Schema, value: JsonValue | Missing) -> bool:
        return self._fits(old, value) and not self._fits(new, value)

    def _fits(self, schema: Schema, value: JsonValue | Missing) -> bool:
        return bool(self._validator(schema).is_valid(value))

    def _validator(self, schema: Schema) -> Any:
        return _VALIDATORS[self.draft](schema, validate_formats=True, offline=True)


def _draft_of(schema: Schema) -> int | None:
    written = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(written, str):
        return None
    return next((number for word, number in _DRAFTS.items() if word in written), None)


def without_annotations(schema: object) -> Any:
    """Returns the schema without keywords that accept and reject nothing. Names of properties are left alone."""

    def strip(part: JsonObject, _: Path) -> None:
        for word in _ANNOTATIONS & part.keys():
            del part[word]

    return copy_schema(schema, strip)


def _only(words: frozenset[str], *schemas: JsonObject) -> bool:
    return all(words.issuperset(schema) for schema in schemas)


def _unused_name(*tables: JsonObject) -> str:
    """Returns a property name that none of the tables has."""
    name = "extra"
    while any(name in table for table in tables):
        name += "_"
    return name


def _weight(schema: Schema) -> int:
    """Counts the keywords to reason about; values of an enum count little."""
    if not isinstance(schema, dict):
        return 1
    return sum(len(position.schema) + len(position.schema.get("enum", ())) // 50 for position in positions(schema))


def _branches(schema: Schema) -> int:
    """Counts the cases the combinators multiply to."""
    product = 1
    if isinstance(schema, dict):
        for position in positions(schema):
            for keyword in ("anyOf", "oneOf", "if", "not"):
                if keyword in position.schema:
                    branches = position.schema[keyword]
                    product *= len(branches) + (keyword == "oneOf") if isinstance(branches, list) else 2
            # Far above every limit of the callers; the product of a hostile schema would grow on and on.
            if product > 10_000:
                return product
    return product
