"""Defines what a surface is made from: a view of a catalog, and the readiness of the process it is made in.

A catalog view gives tools and records wherever they are kept: a sealed catalog, or one joined with functions.
Readiness answers whether a secret is there, a tool is set up and the server behind it is connected. It fetches nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from ferrule.model.tool import Record, Tool


class CatalogEntry(NamedTuple):
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

    def list_preferred(self) -> Sequence[CatalogEntry]:
        """Every tool id once: its newest available version, else its newest."""

    def versions(self, tool_id: str) -> Sequence[CatalogEntry]:
        """The versions of one tool id, the preferred one first; empty when there is none. Costs no scan of the catalog."""

    def find_ids(self, name: str) -> Sequence[str]:
        """The tool ids a name, alias, `namespace.name` or tool id may mean, whether a surface shows them or not."""

    def record(self, kind: str, record_id: str) -> Record | None:
        """The newest record of that kind and id."""

    def records(self, kind: str) -> Iterable[Record]:
        """Every record of a kind."""

    def documentation(self, tool: Tool) -> dict[str, str]:
        """What its author wrote for people, section by section in Markdown; empty where there is nothing."""


class Provider(msgspec.Struct, frozen=True):
    """The server or provider behind a tool, while the tool cannot be had from it."""

    name: str
    is_failed: bool = False
    """True when it will not come by waiting; False while it is still connecting."""
    detail: str = ""
    """What is wrong, for people."""


class Readiness(Protocol):
    """Knows what this process has. A surface made without one believes that everything is missing."""

    def missing_credentials(self, tool: Tool, names: Sequence[str]) -> Collection[str]:
        """Which of the credentials a tool names cannot be had here. Nothing is fetched."""

    def is_set_up(self, tool: Tool) -> bool:
        """True when the setup a tool requires was done."""

    def is_switched_on(self, tool: Tool) -> bool:
        """True when the environment of this process switches on a tool that its definition leaves off (ADL-22)."""

    def provider(self, tool: Tool) -> Provider | None:
        """Who the tool waits for; None when it can be called as it is."""
