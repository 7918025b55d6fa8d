"""The short way from an address to what `fetch` gives, with every name leading to this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ferrule.contracts.executor import Context
from ferrule.infra.network.guard import Guard
from tests.runtime.builtins.builtin_tools import run

LOCAL = ("127.0.0.1", "a.test", "b.test")


def here(host: str, port: int) -> list[str]:
    """Every name is this machine."""
    return ["127.0.0.1"]


def fetch(root: Path, url: str, config: dict[str, Any] | None = None, /, *, allow: tuple[str, ...] = LOCAL,
          resolver: Callable[[str, int], list[str]] = here, context: Context | None = None, **arguments: Any) -> Any:  # fmt: skip
    """What one call of `fetch` gives."""
    return run(root, "fetch", config or {}, context=context, guard=Guard(allow, resolver), url=url, **arguments)
