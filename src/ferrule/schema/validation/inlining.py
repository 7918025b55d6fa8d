"""JSON Schemas without references, as OXP wants them (OXP-11): what a `$ref` points at is put in its place, within bounds.

A schema that refers to itself, to another document or to something that is not there cannot be said without references.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from ferrule.schema.walk import LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS

DROPPED = frozenset({"$defs", "definitions", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "schemas"})
"""Keywords that say nothing once there are no references. `id` is one of draft 4."""
_REFUSED = frozenset({"$dynamicRef", "$recursiveRef"})
_BESIDE = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"})
"""Keywords that judge nothing, so that they may stand beside what a reference was."""
_MOST_SCHEMAS = 5_000
DEEPEST = 64


class NotInlinable(Exception):
    """A schema that cannot be said without references; the message says why."""


def inlined(schema: Any, depth: int = DEEPEST) -> dict[str, Any]:
    """The schema without references, at most `depth` levels deep. Raises NotInlinable."""
    if schema is True:
        return {}
    if schema is False:
        return {"not": {}}
    if not isinstance(schema, dict):
        raise NotInlinable("it is no schema")
    found: dict[str, Any] = _Inlining(schema, depth).schema(schema, ())
    return found


class _Inlining:
    """One schema being walked."""

    def __init__(self, root: dict[str, Any], deepest: int) -> None:
        self._root = root
        self._deepest = deepest
        self._left = _MOST_SCHEMAS

    def schema(self, schema: Any, open_refs: tuple[str, ...], depth: int = 0) -> Any:
        if not isinstance(schema, dict):
            return schema
        self._left -= 1
        if self._left < 0:
            raise NotInlinable(f"it would have more than {_MOST_SCHEMAS:,} parts")
        if depth > self._deepest:
            raise NotInlinable(f"it would be nested more than {self._deepest} levels deep")
        refused = _REFUSED & schema.keys()
        if refused:
            raise NotInlinable(f"it has a {min(refused)}, which depends on where it is read")
        kept = {
            keyword: self._operand(keyword, operand, open_refs, depth)
            for keyword, operand in schema.items()
            if keyword != "$ref" and not _is_dropped(keyword, operand)
        }
        return self._resolved(schema["$ref"], kept, open_refs, depth) if "$ref" in schema else kept

    def _resolved(self, ref: Any, beside: dict[str, Any], open_refs: tuple[str, ...], depth: int) -> dict[str, Any]:
        if not isinstance(ref, str):
            raise NotInlinable("it has a $ref that is no text")
        if ref in open_refs:
            raise NotInlinable(f"it refers to itself ({ref[:60]})")
        target = self.schema(self._target(ref), (*open_refs, ref), depth + 1)
        if target is True:
            target = {}
        if target is False:
            target = {"not": {}}
        if not isinstance(target, dict):
            raise NotInlinable(f"its {ref[:60]} leads to something that is no schema")
        if beside.keys() <= _BESIDE:
            return {**target, **beside}
        return {**beside, "allOf": [*beside.get("allOf", ()), target]} if target else beside

    def _target(self, ref: str) -> Any:
        """What a reference within the document points at: a JSON Pointer, or the name of an anchor."""
        if ref == "#":
            return self._root
        if not ref.startswith("#"):
            raise NotInlinable(f"it refers to another document ({ref[:60]})")
        if not ref.startswith("#/"):
            return self._anchored(ref[1:])
        found: Any = self._root
        for step in unquote(ref[2:]).split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and name in found:
                found = found[name]
            elif isinstance(found, list) and name.isascii() and name.isdecimal() and int(name[:9]) < len(found):
                found = found[int(name)]
            else:
                raise NotInlinable(f"it refers to {ref[:60]}, which is not there")
        return found

    def _anchored(self, name: str) -> Any:
        for home in ("$defs", "definitions"):
            members = self._root.get(home)
            for member in members.values() if isinstance(members, dict) else ():
                if isinstance(member, dict) and name in (member.get("$anchor"), str(member.get("$id", ""))[1:]):
                    return member
        raise NotInlinable(f"it refers to #{name[:60]}, which is not there")

    def _operand(self, keyword: str, operand: Any, open_refs: tuple[str, ...], depth: int) -> Any:
        if keyword in MAP_KEYWORDS and isinstance(operand, dict):
            return {name: self.schema(member, open_refs, depth + 1) for name, member in operand.items()}
        is_list = keyword in LIST_KEYWORDS or keyword == "items"
        if is_list and isinstance(operand, list):
            return [self.schema(member, open_refs, depth + 1) for member in operand]
        return self.schema(operand, open_refs, depth + 1) if keyword in SCHEMA_KEYWORDS else operand


def _is_dropped(keyword: str, operand: Any) -> bool:
    return keyword in DROPPED and (keyword != "id" or isinstance(operand, str))
