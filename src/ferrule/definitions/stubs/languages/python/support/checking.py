"""Checks values by JSON Schema: draft 2020-12 and the older spellings.

`format` is not checked. A value fits, or there is a first thing that is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .alternatives import Failed, most_telling
from .json_text import DecodeError
from .limits import (
    Path,
    Problem,
    has_repeated,
    limit,
    listed,
    missing,
    named,
    plain_problem,
    positions,
    schemas_of,
    shown,
    size_problem,
)
from .schema import BrokenSchemaError, SchemaDocument


class Seen:
    """What of a value was looked at: for the keywords `unevaluated…`."""

    def __init__(self) -> None:
        self.names: set[Any] = set()
        """Of members, or numbers of items."""


class Schema:
    """A schema that values are checked by."""

    def __init__(self, text: str) -> None:
        self.text = text
        """As it was written."""
        self._opened: SchemaDocument | None = None

    @property
    def document(self) -> SchemaDocument:
        """The schema, opened when it is first needed."""
        if self._opened is None:
            self._opened = SchemaDocument(self.text)
        return self._opened

    def check(self, value: Any) -> None:
        """Raises DecodeError where a value does not fit."""
        try:
            problem = self._at(self.document.root, value, (), Seen(), ())
        except RecursionError:
            raise DecodeError("", "is nested too deeply to be checked") from None
        if problem is not None:
            raise DecodeError(problem.place, problem.expected)

    def accepts(self, pointer: str, value: Any) -> bool:
        """Whether a value fits what stands at a place of the schema."""
        schema = self.document.target({}, pointer)
        return self._at(schema, value, (), Seen(), ()) is None

    def _at(
        self, schema: Any, value: Any, path: Path, seen: Seen, followed: Path
    ) -> Problem | None:
        if isinstance(schema, bool):
            return None if schema else Problem(path, "nothing is allowed here")
        if not isinstance(schema, dict):
            raise BrokenSchemaError("a schema is an object or a boolean")
        if not self.document.has_unevaluated:
            return self._applied(schema, value, path, seen, followed)
        # A schema knows what it and its parts looked at, not what others did.
        own = Seen()
        problem = self._applied(schema, value, path, own, followed)
        if problem is None:
            seen.names |= own.names
        return problem

    def _applied(
        self,
        schema: dict[str, Any],
        value: Any,
        path: Path,
        seen: Seen,
        followed: Path,
    ) -> Problem | None:
        draft = self.document.draft
        if "$ref" in schema:
            problem = self._follow(schema, "$ref", value, path, seen, followed)
            if problem is not None or draft <= 7:
                return problem
        if "$dynamicRef" in schema and draft == 2020:
            problem = self._follow(schema, "$dynamicRef", value, path, seen, followed)
            if problem is not None:
                return problem
        if "$recursiveRef" in schema and draft == 2019:
            problem = self._follow(schema, "$recursiveRef", value, path, seen, followed)
            if problem is not None:
                return problem
        problem = plain_problem(schema, value, path, draft)
        if problem is not None:
            return problem
        if isinstance(value, dict):
            problem = self._members(schema, value, path, seen, followed)
        elif isinstance(value, list):
            problem = self._items(schema, value, path, seen)
        return (
            problem
            or self._combined(schema, value, path, seen, followed)
            or self._unevaluated(schema, value, path, seen)
        )

    def _follow(
        self,
        schema: dict[str, Any],
        keyword: str,
        value: Any,
        path: Path,
        seen: Seen,
        followed: Path,
    ) -> Problem | None:
        """What a reference asks for. One that leads to itself asks nothing new."""
        reference = schema[keyword]
        if not isinstance(reference, str):
            raise BrokenSchemaError(f"{keyword} is a text")
        target = self.document.target(schema, reference)
        if any(target is other for other in followed):
            return None
        return self._at(target, value, path, seen, (*followed, target))

    def _members(
        self,
        schema: dict[str, Any],
        value: dict[str, Any],
        path: Path,
        seen: Seen,
        followed: Path,
    ) -> Problem | None:
        problem = size_problem(schema, value, path, "Properties", "members")
        problem = problem or missing(schema.get("required"), value, path)
        if problem is not None:
            return problem
        if "propertyNames" in schema and self.document.draft > 4:
            for name in value:
                inner = self._at(schema["propertyNames"], name, path, Seen(), ())
                if inner is not None:
                    told = f"the name {shown(name)} {inner.expected}"
                    return Problem(path, told)
        for name, item in value.items():
            for part in schemas_of(schema, name):
                if part is False:
                    return Problem((path, name), "this member is not allowed")
                problem = self._at(part, item, (path, name), Seen(), ())
                if problem is not None:
                    return problem
                seen.names.add(name)
        return self._dependent(schema, value, path, seen, followed)

    def _dependent(
        self,
        schema: dict[str, Any],
        value: dict[str, Any],
        path: Path,
        seen: Seen,
        followed: Path,
    ) -> Problem | None:
        is_recent = self.document.draft >= 2019
        recent = ("dependentRequired", "dependentSchemas") if is_recent else ()
        for keyword in ("dependencies", *recent):
            for name, needed in named(schema, keyword).items():
                if name not in value:
                    continue
                if isinstance(needed, list):
                    problem = missing(needed, value, path)
                else:
                    problem = self._at(needed, value, path, seen, followed)
                if problem is not None:
                    return problem
        return None

    def _items(
        self, schema: dict[str, Any], value: list[Any], path: Path, seen: Seen
    ) -> Problem | None:
        problem = size_problem(schema, value, path, "Items", "items")
        if problem is not None:
            return problem
        if schema.get("uniqueItems") is True and has_repeated(value):
            return Problem(path, "must not have equal items")
        first, rest = positions(schema, self.document.draft)
        end = len(first) if rest is None else len(value)
        for at, item in enumerate(value[:end]):
            part = first[at] if at < len(first) else rest
            problem = self._at(part, item, (path, at), Seen(), ())
            if problem is not None:
                if part is False:
                    return Problem((path, at), "this item is not allowed")
                return problem
            seen.names.add(at)
        return self._contains(schema, value, path, seen)

    def _contains(
        self, schema: dict[str, Any], value: list[Any], path: Path, seen: Seen
    ) -> Problem | None:
        draft = self.document.draft
        if "contains" not in schema or draft < 6:
            return None
        fitting = [
            at
            for at, item in enumerate(value)
            if self._at(schema["contains"], item, (path, at), Seen(), ()) is None
        ]
        if draft >= 2020:
            seen.names.update(fitting)
        least = limit(schema, "minContains") if draft >= 2019 else None
        most = limit(schema, "maxContains") if draft >= 2019 else None
        if len(fitting) < (1 if least is None else least):
            told = f"must contain at least {1 if least is None else least}"
            return Problem(path, f"{told} of the expected items")
        if most is not None and len(fitting) > most:
            return Problem(path, f"must contain at most {most} of the expected items")
        return None

    def _combined(
        self,
        schema: dict[str, Any],
        value: Any,
        path: Path,
        seen: Seen,
        followed: Path,
    ) -> Problem | None:
        for part in listed(schema, "allOf"):
            problem = self._at(part, value, path, seen, followed)
            if problem is not None:
                return problem
        for keyword in ("anyOf", "oneOf"):
            if parts := listed(schema, keyword):
                is_one = keyword == "oneOf"
                problem = self._tried(parts, is_one, value, path, seen, followed)
                if problem is not None:
                    return problem
        excluded = schema.get("not", False)
        if self._at(excluded, value, path, Seen(), followed) is None:
            return Problem(path, "must not fit what is excluded")
        if "if" in schema and self.document.draft >= 7:
            is_so = self._at(schema["if"], value, path, seen, followed) is None
            part = schema.get("then" if is_so else "else", True)
            return self._at(part, value, path, seen, followed)
        return None

    def _tried(
        self,
        parts: list[Any],
        is_one: bool,
        value: Any,
        path: Path,
        seen: Seen,
        followed: Path,
    ) -> Problem | None:
        failed: list[Failed] = []
        for part in parts:
            problem = self._at(part, value, path, seen, followed)
            if problem is not None:
                failed.append(Failed(part, problem))
            elif not is_one and not self.document.has_unevaluated:
                return None
        fitting = len(parts) - len(failed)
        if fitting > 1 and is_one:
            told = f"must fit one alternative only, and fits {fitting}"
            return Problem(path, told)
        if fitting:
            return None
        return most_telling(self.document, failed, value, path)

    def _unevaluated(
        self, schema: dict[str, Any], value: Any, path: Path, seen: Seen
    ) -> Problem | None:
        if not self.document.has_unevaluated or self.document.draft < 2019:
            return None
        found: Iterable[tuple[Any, Any]] = ()
        part: Any = True
        if isinstance(value, dict) and "unevaluatedProperties" in schema:
            part, found = schema["unevaluatedProperties"], value.items()
        elif isinstance(value, list) and "unevaluatedItems" in schema:
            part, found = schema["unevaluatedItems"], enumerate(value)
        for name, item in found:
            if name not in seen.names:
                problem = self._at(part, item, (path, name), Seen(), ())
                if problem is not None:
                    if part is False:
                        return Problem((path, name), "nothing is allowed here")
                    return problem
                seen.names.add(name)
        return None
