"""Resolves the references of a schema: by pointer, by anchor, and by the addresses (`$id`) of the schema and its parts.

The one place that follows a `$ref`: code that inlines, fits, masks, shows or translates a schema uses it; the OpenAPI
reader adds files and chains of references above it. Fetches nothing and judges no schema.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

from ferrule.model.value import JsonObject, Path, dig
from ferrule.schema.pointers import find_at, read_fragment, write_fragment
from ferrule.schema.walk import copy_schema, members

_DRAFTS = (("draft-03", 4), ("draft-04", 4), ("draft-06", 6), ("draft-07", 7), ("2019-09", 2019))
_ANCHORS = (("$anchor", 2019), ("$dynamicAnchor", 2020))
"""Keywords that name a place, and the draft that brought them."""


class SchemaResource(NamedTuple):
    """The base that a schema's references are read from."""

    draft: int
    """4, 6, 7, 2019 or 2020."""
    base: str = ""
    """The address that references are relative to."""
    home: Path = ()
    """The path of the schema with that address."""


_LATEST = SchemaResource(2020)


class ReferenceTarget(NamedTuple):
    """The target of a reference."""

    value: Any
    path: Path
    """Its path from the root."""


def draft_by_name(schema: object) -> int:
    """Returns the draft that the `$schema` of a root names, 2020 for none and for one that is not known."""
    said = schema.get("$schema") if isinstance(schema, dict) else None
    return next((draft for name, draft in _DRAFTS if name in said), 2020) if isinstance(said, str) else 2020


def join_address(base: str, address: str) -> str:
    """Resolves an address against a base."""
    try:
        return urljoin(base, address) if base else address
    except ValueError:
        return address


class SchemaAddresses:
    """The addresses and anchors that the schemas of one document have, entered one by one."""

    def __init__(self, root: object) -> None:
        self._root = root
        self.resources: dict[str, Path] = {"": ()}
        self.anchors: dict[str, Path] = {}

    def enter(self, schema: JsonObject, path: Path, around: SchemaResource) -> SchemaResource:
        """Records how a schema can be referred to; returns how its own references are read."""
        place = around
        own = schema.get("id" if place.draft == 4 else "$id")
        if isinstance(own, str):
            address, _, anchor = own.partition("#")
            # Up to draft 7, `$ref` hides all keywords beside it, `$id` too.
            if address and not ("$ref" in schema and place.draft <= 7):
                place = SchemaResource(place.draft, join_address(place.base, address), path)
                self.resources.setdefault(place.base, path)
            if anchor:
                self.anchors.setdefault(f"{place.base}#{anchor}", path)
        for keyword, since in _ANCHORS:
            if isinstance(name := schema.get(keyword), str) and place.draft >= since:
                self.anchors.setdefault(f"{place.base}#{name}", path)
        return place

    def find(self, reference: str, place: SchemaResource) -> ReferenceTarget | None:
        """Returns the target of a reference; None when it is not in this document."""
        address, _, fragment = reference.partition("#")
        base = join_address(place.base, address) if address else place.base
        home = self.resources.get(base) if address else place.home
        if fragment and not fragment.startswith("/"):
            path = self.anchors.get(f"{base}#{unquote(fragment)}")
            return None if path is None else ReferenceTarget(dig(self._root, path), path)
        if home is None:
            return None
        found = find_at(dig(self._root, home), read_fragment(fragment))
        return None if found is None else ReferenceTarget(found[0], home + found[1])


class SchemaReferences:
    """The references of one schema, read from its root. `root_references` prepares schemas whose parts have addresses."""

    def __init__(self, root: object) -> None:
        self.root = root
        self._addresses: SchemaAddresses | None = None
        self._place = _LATEST

    def find(self, reference: object) -> ReferenceTarget | None:
        """Returns the target of a reference; None when it is not in this schema."""
        if not isinstance(reference, str):
            return None
        # Most references are pointers, which need no survey of the document.
        if reference.startswith("#/"):
            found = find_at(self.root, read_fragment(reference[1:]))
            return None if found is None else ReferenceTarget(*found)
        if self._addresses is None:
            self._addresses, places = survey(self.root)
            self._place = places.get((), self._place)
        return self._addresses.find(reference, self._place)

    def schema(self, reference: object) -> JsonObject | None:
        """Returns the schema that a reference leads to; None for `true` and `false`, and for a missing target."""
        target = self.find(reference)
        return target.value if target is not None and isinstance(target.value, dict) else None


def survey(root: object) -> tuple[SchemaAddresses, dict[Path, SchemaResource]]:
    """Enters every schema of a document; also returns how the references of each are read."""
    addresses = SchemaAddresses(root)
    places: dict[Path, SchemaResource] = {}
    stack: list[tuple[Path, Any, SchemaResource]] = [((), root, SchemaResource(draft_by_name(root)))]
    while stack:
        path, schema, around = stack.pop()
        if isinstance(schema, dict):
            place = places[path] = addresses.enter(schema, path, around)
            stack += [(path + steps, member, place) for steps, member in members(schema)]
    return addresses, places


def _may_have_parts(schema: JsonObject) -> bool:
    """Returns True when a part below the root may have an address of its own. Quick, since hardly any schema has."""
    word = "id" if draft_by_name(schema) == 4 else "$id"
    # Not the root itself: its own address changes none of its references.
    stack = list(schema.values())
    while stack:
        node = stack.pop()
        if node.__class__ is dict:
            if word in node:
                return True
            stack += node.values()
        elif node.__class__ is list:
            stack += node
    return False


def root_references(schema: Any, at: Path = ()) -> Any:
    """Returns the schema with every reference written from its root; itself when only its root has an address.

    A part with an address of its own (`$id`) reads `#/…` from itself. Once that is settled here, no other code has to
    know where a reference was written. `at`: the path of the schema in a document of another kind; references are
    written from its root then, and those that lead out of the schema stay.
    """
    if not isinstance(schema, dict) or not (at or _may_have_parts(schema)):
        return schema
    addresses, places = survey(schema)
    if not at and all(not place.home for place in places.values()):
        return schema

    def move(part: JsonObject, path: Path) -> None:
        place = places[path]
        reference = part.get("$ref")
        if isinstance(reference, str):
            target = addresses.find(reference, place)
            # A lost reference keeps its base, so that it cannot match a place in the root by accident.
            lost = f"{place.base}{reference}" if reference.startswith("#") and not at else reference
            part["$ref"] = lost if target is None else write_fragment(at + target.path)
        # References begin at the root from now on; an address left here would change what they lead to.
        if (path or at) and place.home == path:
            part.pop("id" if place.draft == 4 else "$id", None)

    return copy_schema(schema, move)


def relocate(schema: object, old: Path, new: Path) -> Any:
    """Returns a schema that moved within a document, its references to places below `old` changed to those below `new`.

    One with an address of its own reads its references from there, at any place, and stays as it is.
    """
    if isinstance(schema, dict) and "$id" in schema:
        return schema
    # Steps read from a reference are text, list positions too.
    before = tuple(map(str, old))

    def move(part: JsonObject, _: Path) -> None:
        reference = part.get("$ref")
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            steps = read_fragment(reference[1:])
            if steps[: len(before)] == before:
                part["$ref"] = write_fragment((*new, *steps[len(before) :]))

    return copy_schema(root_references(schema), move)
