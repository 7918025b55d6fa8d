"""A catalog narrowed to some of its tools, so that a question about one costs the same however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ferrule.contracts.surface import CatalogEntry, CatalogView
from ferrule.model.tool import Record, Tool


class NarrowedCatalog:
    """A `CatalogView` with only these tools, and every record."""

    def __init__(self, under: CatalogView, tool_ids: Iterable[str]) -> None:
        self._under = under
        self._ids = dict.fromkeys(tool_ids)
        self.digest = under.digest

    def list_preferred(self) -> Sequence[CatalogEntry]:
        return [versions[0] for tool_id in self._ids if (versions := self._under.versions(tool_id))]

    def versions(self, tool_id: str) -> Sequence[CatalogEntry]:
        return self._under.versions(tool_id) if tool_id in self._ids else ()

    def find_ids(self, name: str) -> Sequence[str]:
        return [tool_id for tool_id in self._under.find_ids(name) if tool_id in self._ids]

    def record(self, kind: str, record_id: str) -> Record | None:
        return self._under.record(kind, record_id)

    def records(self, kind: str) -> Iterable[Record]:
        return self._under.records(kind)

    def documentation(self, tool: Tool) -> dict[str, str]:
        return self._under.documentation(tool)
