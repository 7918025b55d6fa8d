"""The contracts a surface is made from: a view of a catalog, and the readiness of the process it is made in.

A catalog view returns tools and records wherever they are kept: a sealed catalog, or one joined with functions.
Readiness answers whether a secret is available, a tool is set up and the server behind it is connected. It fetches
nothing.
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
    """The catalog as a surface reads it. Immutable, so that answers may be cached."""

    @property
    def digest(self) -> str:
        """Equal digests mean equal contents."""

    def list_preferred(self) -> Sequence[CatalogEntry]:
        """Returns every tool id once: its newest available version, else its newest."""

    def versions(self, tool_id: str) -> Sequence[CatalogEntry]:
        """Returns the versions of one tool id, the preferred one first; empty when there is none. Costs no scan of the
        catalog."""

    def find_ids(self, name: str) -> Sequence[str]:
        """Returns the tool ids a name, alias, `namespace.name` or tool id may mean, whether a surface shows them or
        not."""

    def record(self, kind: str, record_id: str) -> Record | None:
        """Returns the newest record of that kind and id."""

    def records(self, kind: str) -> Iterable[Record]:
        """Returns every record of a kind."""

    def documentation(self, tool: Tool) -> dict[str, str]:
        """Returns the author's text for people, section by section in Markdown; empty where there is none."""


class Provider(msgspec.Struct, frozen=True):
    """The server or provider behind a tool, while the tool is not available from it."""

    name: str
    is_failed: bool = False
    """True when it will not come by waiting; False while it is still connecting."""
    detail: str = ""
    """What is wrong, for people."""


class Readiness(Protocol):
    """The resources this process has. A surface made without one assumes that everything is missing."""

    def missing_credentials(self, tool: Tool, names: Sequence[str]) -> Collection[str]:
        """Returns which of the credentials a tool names are not available here. Fetches nothing."""

    def is_set_up(self, tool: Tool) -> bool:
        """Returns True when the setup a tool requires was done."""

    def is_switched_on(self, tool: Tool) -> bool:
        """Returns True when the environment of this process switches on a tool that its definition leaves off (ADL-22)."""

    def provider(self, tool: Tool) -> Provider | None:
        """Returns the provider the tool waits for; None when it can be called as it is."""
