"""What a surface asks the process it is made in: is there a secret, is it set up, is the server behind it connected?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from ferrule.model.tool import Tool


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
