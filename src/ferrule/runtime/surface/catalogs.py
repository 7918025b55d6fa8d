"""Catalogs as surfaces see them: a sealed one, and a sealed one joined with tools made in this process.

Tools are decoded once and kept, so that the second surface of a catalog costs no decoding.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ferrule.contracts.surface import CatalogEntry, CatalogView
from ferrule.errors import CatalogError
from ferrule.model.canonical import digest_of_tool
from ferrule.model.catalog import Catalog
from ferrule.model.semver import Version, parse_version
from ferrule.model.tool import Record, Tool

_LOWEST = Version(-1, 0, 0, False, ())


class SealedCatalog:
    """A sealed catalog. Looking a tool up costs a binary search; only `preferred` decodes every tool, once."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._by_id: dict[str, tuple[CatalogEntry, ...]] = {}
        self._preferred: tuple[CatalogEntry, ...] | None = None

    @property
    def digest(self) -> str:
        """The catalog's."""
        return self.catalog.digest

    def list_preferred(self) -> Sequence[CatalogEntry]:
        """Lists every tool id once, in its preferred version."""
        if self._preferred is None:
            catalog = self.catalog
            found: dict[str, list[CatalogEntry]] = defaultdict(list)
            for number in range(len(catalog)):
                tool = catalog.tool_at(number)
                found[tool.tool_id].append(CatalogEntry(tool, catalog.digest_at(number)))
            self._preferred = tuple(_sort_versions(versions)[0] for versions in found.values())
        return self._preferred

    def versions(self, tool_id: str) -> Sequence[CatalogEntry]:
        """Returns the versions of one tool id, in the order of the catalog's index."""
        known = self._by_id.get(tool_id)
        if known is None:
            catalog = self.catalog
            known = _sort_versions(
                [CatalogEntry(catalog.tool_at(at), catalog.digest_at(at)) for at in catalog.positions_of(tool_id)]
            )
            if known:  # what is asked for in vain is not kept: names come from callers
                self._by_id[tool_id] = known
        return known

    def find_ids(self, name: str) -> Sequence[str]:
        """Finds the tool ids a name may mean."""
        found = {tool.tool_id for tool in self._find_tools(name)}
        return sorted(found | {name} if self.catalog.tool(name) else found)

    def record(self, kind: str, record_id: str) -> Record | None:
        """Returns the newest record of that kind and id."""
        return self.catalog.record(kind, record_id)

    def records(self, kind: str) -> Iterable[Record]:
        """Returns every record of a kind."""
        return self.catalog.records(kind)

    def documentation(self, tool: Tool) -> dict[str, str]:
        """Returns the catalog's text about a tool."""
        return self.catalog.documentation(tool)

    def _find_tools(self, name: str) -> Iterator[Tool]:
        yield from self.catalog.tools_named(name)
        parts = name.split(".")
        # A namespace may contain dots, so every cut is tried; the bound keeps hostile names cheap.
        for cut in range(1, min(len(parts), 8)):
            tool = self.catalog.find(".".join(parts[cut:]), namespace=".".join(parts[:cut]))
            if tool is not None:
                yield tool


class EmptyCatalog:
    """A catalog without tools: of a workspace that has only functions."""

    digest = hashlib.sha256(b"").hexdigest()

    def list_preferred(self) -> Sequence[CatalogEntry]:
        """Returns nothing."""
        return ()

    def versions(self, tool_id: str) -> Sequence[CatalogEntry]:
        """Returns nothing."""
        return ()

    def find_ids(self, name: str) -> Sequence[str]:
        """Returns nothing."""
        return ()

    def record(self, kind: str, record_id: str) -> Record | None:
        """Returns None."""
        return None

    def records(self, kind: str) -> Iterable[Record]:
        """Returns nothing."""
        return ()

    def documentation(self, tool: Tool) -> dict[str, str]:
        """Returns nothing."""
        return {}


class JoinedCatalog:
    """A catalog and tools made in this process, such as Python functions. Raises CatalogError when two claim one place."""

    def __init__(self, under: CatalogView, tools: Iterable[Tool]) -> None:
        self._under = under
        found: dict[str, list[CatalogEntry]] = defaultdict(list)
        for tool in tools:
            found[tool.tool_id].append(CatalogEntry(tool, digest_of_tool(tool)))
        self._added = {tool_id: _sort_versions(versions) for tool_id, versions in found.items()}
        self._names = _map_names(listed.tool for versions in self._added.values() for listed in versions)
        self._refuse_collisions()
        digests = sorted(listed.digest for versions in self._added.values() for listed in versions)
        self.digest = (
            hashlib.sha256("\n".join((under.digest, *digests)).encode()).hexdigest() if digests else under.digest
        )
        self._preferred: tuple[CatalogEntry, ...] | None = None

    def list_preferred(self) -> Sequence[CatalogEntry]:
        """Returns the catalog's tools, then the added ones."""
        if self._preferred is None:
            self._preferred = (*self._under.list_preferred(), *(versions[0] for versions in self._added.values()))
        return self._preferred

    def versions(self, tool_id: str) -> Sequence[CatalogEntry]:
        """Returns the versions of one tool id."""
        return self._added.get(tool_id) or self._under.versions(tool_id)

    def find_ids(self, name: str) -> Sequence[str]:
        """Returns the tool ids a name may mean."""
        return sorted({*self._names.get(name, ()), *self._under.find_ids(name)})

    def record(self, kind: str, record_id: str) -> Record | None:
        """Returns the catalog's record."""
        return self._under.record(kind, record_id)

    def records(self, kind: str) -> Iterable[Record]:
        """Returns the catalog's records."""
        return self._under.records(kind)

    def documentation(self, tool: Tool) -> dict[str, str]:
        """Returns the catalog's text about a tool; functions have none but their description."""
        return {} if tool.tool_id in self._added else self._under.documentation(tool)

    def _refuse_collisions(self) -> None:
        for tool_id, versions in self._added.items():
            tool = versions[0].tool
            qualified = f"{tool.namespace}.{tool.name}"
            claimed = {listed.tool.version for listed in versions}
            is_taken = self._under.versions(tool_id) or set(self._under.find_ids(qualified)) - {tool_id}
            if is_taken or versions[0].is_contested or len(claimed) != len(versions) or len(self._names[qualified]) > 1:
                raise CatalogError(
                    f"two tools are called {qualified!r} or have the id {tool_id!r}; rename the one made in this process,"
                    " or bind the function to the definition instead of making another tool"
                )


def _map_names(tools: Iterable[Tool]) -> dict[str, set[str]]:
    names: dict[str, set[str]] = defaultdict(set)
    for tool in tools:
        for name in (tool.tool_id, tool.name, f"{tool.namespace}.{tool.name}", *tool.aliases):
            names[name].add(tool.tool_id)
    return names


def _sort_versions(versions: list[CatalogEntry]) -> tuple[CatalogEntry, ...]:
    """Sorts the versions of one id, the preferred one first; marks them when they are not all of one tool."""
    if len(versions) == 1:
        return (versions[0],)
    is_contested = len({(listed.tool.namespace, listed.tool.name) for listed in versions}) > 1
    ordered = sorted(versions, key=_sort_key)
    return tuple(listed._replace(is_contested=True) for listed in ordered) if is_contested else tuple(ordered)


class _NewestFirst:
    """Sorts newer versions first."""

    __slots__ = ("version",)

    def __init__(self, version: Version) -> None:
        self.version = version

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NewestFirst) and self.version == other.version

    def __lt__(self, other: _NewestFirst) -> bool:
        return other.version < self.version

    def __hash__(self) -> int:
        return hash(self.version)


def _sort_key(listed: CatalogEntry) -> tuple[bool, _NewestFirst, str, str, str]:
    """Returns the order of a sealed catalog's index: available first, then newest first."""
    tool = listed.tool
    # Sorting in reverse would turn round the names too.
    newest = _NewestFirst(parse_version(tool.version) or _LOWEST)
    return tool.lifecycle != "available", newest, tool.version or "", tool.namespace, tool.name
