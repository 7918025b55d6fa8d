"""Follows `$ref`s of an OpenAPI document to their targets, also in files beside it where the caller can read them.

`RecursiveSchemas` finds the schemas that contain themselves, once for all that a reference reaches. Nothing is
fetched. This module knows nothing of operations.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonObject, JsonValue, Path, dig
from ferrule.schema.pointers import follow_steps, read_fragment, unescape_step, write_fragment
from ferrule.schema.references import root_references, survey

REFERENCE = "OAS-2"
"""A `$ref` without a target, in a cycle, or out of the document."""
Load = Callable[[str], JsonValue]
"""Returns the value of a file, by its name relative to the document. Raises KeyError when there is none."""
_MOST_STEPS = 100
_FILE_ENDINGS = (".json", ".yaml", ".yml")
_ABROAD = "copy it into the document; only files beside a local document are read, and nothing is fetched"


class Broken(Exception):
    """A part of a document that cannot be used, with the finding to report."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def make_broken(rule: str, path: Path, message: str, hint: str | None = None) -> Broken:
    """Returns an exception to raise."""
    return Broken(Finding(rule, path, message, Severity.ERROR, hint))


class ResolvedReference(NamedTuple):
    """The target of a reference."""

    value: Any
    path: Path
    """The path in the document; empty in another file."""
    key: str
    """The last reference of the chain, the same for all references to this target."""

    @property
    def name(self) -> str:
        """The last part of its address."""
        return unescape_step(unquote(self.key.rsplit("/", 1)[-1].rsplit("#", 1)[-1]))


class References:
    """The references of one document, each followed once."""

    def __init__(self, root: JsonObject, load: Load | None = None, file_name: str = "") -> None:
        self._homes: dict[str, Path] = {}
        """The paths of schemas with an address of their own (`$id`)."""
        self._files: JsonObject = {"": self._strip_addresses(root)}
        self._load = load
        self._own_name = file_name
        said = root.get("$self")
        self._self = said.partition("#")[0] if isinstance(said, str) else ""
        self._known: dict[str, ResolvedReference] = {}
        self._anchors: dict[str, Path] | None = None

    def __contains__(self, ref: str) -> bool:
        """Returns True for a reference that was followed to its end."""
        return ref in self._known

    def follow(self, ref: object, at: Path) -> ResolvedReference:
        """Follows a reference to a target that is no reference itself. `at`: the path of the reference. Raises Broken."""
        if not isinstance(ref, str):
            raise make_broken(REFERENCE, (*at, "$ref"), "`$ref` must be text", "write it as `#/components/…`")
        known = self._known.get(ref)
        if known is not None:
            return known
        seen: set[str] = set()
        target = self._step(ref, at)
        while isinstance(target.value, dict) and isinstance(inner := target.value.get("$ref"), str):
            if target.value.keys() - _BESIDE:  # a schema of its own that also refers
                break
            if target.key in seen or len(seen) > _MOST_STEPS:
                raise make_broken(REFERENCE, (*at, "$ref"), f"the reference {_shorten(ref)} is circular")
            seen.add(target.key)
            target = self._step(inner, at)
        self._known[ref] = target
        return target

    def _step(self, ref: str, at: Path) -> ResolvedReference:
        file, _, fragment = ref.partition("#")
        if file and file in (self._self, self._own_name):
            file = ""
        home = self._homes.get(file)
        if home is not None:
            is_pointer = not fragment or fragment.startswith("/")
            file, fragment = "", f"{write_fragment(home)[1:]}{fragment}" if is_pointer else fragment
        if file:
            file = self._resolve_file(file, ref, at)
        value = self._files.get(file, _MISSING)
        if value is _MISSING:
            value = self._load_file(file, ref, at)
        if fragment and not fragment.startswith("/"):
            return self._find_anchor(file, fragment, ref, at)
        steps = read_fragment(fragment)
        value, path = follow_steps(value, steps)
        if len(path) < len(steps):
            raise make_broken(
                REFERENCE,
                (*at, "$ref"),
                f"the reference {_shorten(ref)} has no target: there is no {steps[len(path)][:60]!r}",
                "define it, or correct the reference",
            )
        return ResolvedReference(value, () if file else path, f"{file}#{fragment}" if file else f"#{fragment}")

    def _strip_addresses(self, root: JsonObject) -> JsonObject:
        """Rewrites schemas with an address (`$id`) as if they had none, so that `#/…` starts at the document's root."""
        components = found if isinstance(found := root.get("components"), dict) else {}
        schemas = found if isinstance(found := components.get("schemas"), dict) else {}
        made: JsonObject = {}
        for name, schema in schemas.items():
            if isinstance(schema, dict) and isinstance(schema.get("$id"), str):
                at = ("components", "schemas", name)
                addresses, _ = survey(schema)
                self._homes |= {address: at + path for address, path in addresses.resources.items() if address}
                made[name] = root_references(schema, at)
        return {**root, "components": {**components, "schemas": {**schemas, **made}}} if made else root

    def _resolve_file(self, file: str, ref: str, at: Path) -> str:
        """Returns the name of a file for `load`. Raises Broken for addresses, and for files outside the document's folder."""
        name = posixpath.normpath(unquote(file))
        if ":" in file or name.startswith(("/", "..")) or self._load is None:
            raise make_broken(
                REFERENCE, (*at, "$ref"), f"the reference {_shorten(ref)} points out of the document", _ABROAD
            )
        return name

    def _load_file(self, file: str, ref: str, at: Path) -> Any:
        try:
            if self._load is None:
                raise KeyError(file)
            value = self._load(file)
        except KeyError:
            raise make_broken(
                REFERENCE, (*at, "$ref"), f"the file of the reference {_shorten(ref)} cannot be read", _ABROAD
            ) from None
        value = _rebase(value, file, self._own_name)
        self._files[file] = value
        return value

    def _find_anchor(self, file: str, anchor: str, ref: str, at: Path) -> ResolvedReference:
        if not file:
            if self._anchors is None:
                self._anchors = _collect_anchors(self._files[""])
            path = self._anchors.get(anchor)
            if path is not None:
                return ResolvedReference(dig(self._files[""], path), path, f"#{anchor}")
        raise make_broken(REFERENCE, (*at, "$ref"), f"the reference {_shorten(ref)} uses an anchor that does not exist")


_MISSING: Any = object()
_BESIDE = frozenset({"$ref", "description", "summary"})


def _shorten(ref: str) -> str:
    return repr(ref if len(ref) <= 120 else ref[:117] + "…")


def _rebase(value: object, file: str, own_name: str) -> Any:
    """Rewrites a file's references so that they are valid in the main document."""
    folder = posixpath.dirname(file)

    def address(ref: str) -> str:
        name, mark, fragment = ref.partition("#")
        if not name:
            return f"{file}{mark}{fragment}"
        if ":" in name:
            return ref
        name = posixpath.normpath(posixpath.join(folder, unquote(name)))
        return f"{'' if name == own_name else name}{mark or '#'}{fragment}"

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(item) if isinstance(item, dict | list) else item for item in node]
        moved = {key: walk(item) if isinstance(item, dict | list) else item for key, item in node.items()}
        if isinstance(moved.get("$ref"), str):
            moved["$ref"] = address(moved["$ref"])
        mapping = moved.get("mapping")
        if "propertyName" in moved and isinstance(mapping, dict):
            moved["mapping"] = {
                # A plain word in a mapping is the name of a schema, not a file.
                word: address(ref) if isinstance(ref, str) and ("#" in ref or ref.endswith(_FILE_ENDINGS)) else ref
                for word, ref in mapping.items()
            }
        return moved

    return walk(value) if isinstance(value, dict | list) else value


def _collect_anchors(root: JsonObject) -> dict[str, Path]:
    found: dict[str, Path] = {}
    stack: list[tuple[Any, Path]] = [(root.get("components"), ("components",))]
    while stack:
        node, path = stack.pop()
        if isinstance(node, dict):
            for word in ("$anchor", "$dynamicAnchor"):
                name = node.get(word)
                if isinstance(name, str):
                    found.setdefault(name, path)
            stack += [(item, (*path, key)) for key, item in node.items() if isinstance(item, dict | list)]
        elif isinstance(node, list):
            stack += [(item, (*path, index)) for index, item in enumerate(node) if isinstance(item, dict | list)]
    return found


_DATA = frozenset({"example", "examples", "default", "enum", "const"})


def list_references(schema: object) -> Iterator[str]:
    """Yields every reference that a schema holds, those of a discriminator's mapping too."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str):
                yield ref
            for key, member in node.items():
                if key not in _DATA and isinstance(member, dict | list):
                    stack.append(member)
            mapping = node.get("mapping")
            if "propertyName" in node and isinstance(mapping, dict):
                yield from (each for each in mapping.values() if isinstance(each, str) and "/" in each)
        elif isinstance(node, list):
            stack += [item for item in node if isinstance(item, dict | list)]


class RecursiveSchemas:
    """The recursive schemas of a document, found by Tarjan's algorithm without recursion."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._number: dict[str, int] = {}
        self._lowest: dict[str, int] = {}
        self._open: list[str] = []
        self._is_open: set[str] = set()
        self._recursive: set[str] = set()

    def __contains__(self, key: str) -> bool:
        if key not in self._number:
            self._search(key)
        return key in self._recursive

    def _search(self, start: str) -> None:
        stack: list[tuple[str, Iterator[str]]] = [(start, self._enter(start))]
        while stack:
            key, following = stack[-1]
            for after in following:
                if after not in self._number:
                    stack.append((after, self._enter(after)))
                    break
                if after in self._is_open:
                    self._lowest[key] = min(self._lowest[key], self._number[after])
                    if after == key:
                        self._recursive.add(key)
            else:
                # All neighbours were visited, so the node is finished.
                stack.pop()
                if stack:
                    around = stack[-1][0]
                    self._lowest[around] = min(self._lowest[around], self._lowest[key])
                if self._lowest[key] == self._number[key]:
                    self._close(key)

    def _enter(self, key: str) -> Iterator[str]:
        """Enters a node, and returns the nodes it refers to."""
        self._number[key] = self._lowest[key] = len(self._number)
        self._open.append(key)
        self._is_open.add(key)
        found: dict[str, None] = {}
        try:
            value = self._references.follow(key, ()).value
        except Broken:
            return iter(())
        for ref in list_references(value):
            try:
                found[self._references.follow(ref, ()).key] = None
            except Broken:
                continue
        return iter(found)

    def _close(self, key: str) -> None:
        members = []
        while True:
            member = self._open.pop()
            self._is_open.discard(member)
            members.append(member)
            if member == key:
                break
        if len(members) > 1:
            self._recursive.update(members)
