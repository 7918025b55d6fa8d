"""Where built-in tools work: one workspace, what of it they never touch, and what its operator set for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from ferrule.infra.network.guard import Guard
from ferrule.runtime.functions.threads import Threads

ALWAYS_PROTECTED = (".ferrule", "ferrule.toml", "ferrule.pub", "policy.toml")
"""Keys, ledger, payloads, settings, trusted keys and policy: a tool that could write them could allow itself anything."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a built-in tool gets besides its own settings."""

    root: Path
    """The workspace folder; what relative paths in settings are under."""
    environment: Mapping[str, str]
    threads: Threads
    """For work that waits without `await`."""
    guard: Guard
    """Which addresses may be reached."""
    protected: tuple[Path, ...] = ()
    """Absolute paths of files and folders that no built-in tool reads or writes."""
    fixed: Callable[[], frozenset[str]] = frozenset
    """Gives the real paths of files that a built-in tool may read and not change: definitions, and code of this process."""
    sandbox: Literal["required", "preferred", "off"] = "required"
    """`[builtins] sandbox`: whether commands run in one."""
    max_output_bytes: int = 64 * 1024**2
    """`[builtins] max_output_bytes`: what one command may write to its output."""
    max_result_chars: int = 50_000
    """`[results] max_inline_chars`: what a result that is not stored may hold."""
