"""The tools and records a surface is made from, wherever they are kept: a sealed catalog, or one joined with functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from ferrule.model.tool import Record, Tool


class Listed(NamedTuple):
    """One version of one tool in a catalog."""

    tool: Tool
    digest: str
    """Its content digest, in hex."""
    is_contested: bool = False
    """True when differently named tools claim this id, so that the id alone does not tell which is meant."""


class CatalogView(Protocol):
    """What a surface asks of a catalog. Immutable, so that answers may be kept."""

    @property
    def digest(self) -> str:
        """Equal digests mean equal contents."""

    def preferred(self) -> Sequence[Listed]:
        """Every tool id once: its newest available version, else its newest."""

    def versions(self, tool_id: str) -> Sequence[Listed]:
        """The versions of one tool id, the preferred one first; empty when there is none. Costs no scan of the catalog."""

    def named(self, name: str) -> Sequence[str]:
        """The tool ids a name, alias, `namespace.name` or tool id may mean, whether a surface shows them or not."""

    def record(self, kind: str, record_id: str) -> Record | None:
        """The newest record of that kind and id."""

    def records(self, kind: str) -> Iterable[Record]:
        """Every record of a kind."""

    def documentation(self, tool: Tool) -> dict[str, str]:
        """What its author wrote for people, section by section in Markdown; empty where there is nothing."""
