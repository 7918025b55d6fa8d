"""Runs the built-in tools that agent files list: gives each its settings and its place, once per surface."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ferrule.contracts.executor import ExecutionFailed, Run, Support
from ferrule.contracts.registry import Registry
from ferrule.model.tool import Tool
from ferrule.runtime.builtins.builtin import BUILTINS
from ferrule.runtime.builtins.config import ALWAYS_PROTECTED, Config, Place, load_config
from ferrule.runtime.functions.threads import Threads

if TYPE_CHECKING:
    from ferrule.infra.network.client import Client

_builtins: Registry[Callable[[Any, Place], Run]] = Registry("built-in tool", BUILTINS)


class BuiltinExecutor:
    """read, write, edit, bash and fetch, in one workspace."""

    support = Support(cancel=True, progress=True, sandboxed=True)
    """Of fetch and bash; `run.support` says it for each tool."""

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str],
        client: Callable[[], Client],
        *,
        protected: Iterable[str | Path] = (),
        fixed: Callable[[], Iterable[Path]] = tuple,
        sandbox: Literal["required", "preferred", "off"] = "required",
        max_output_bytes: int = 64 * 1024**2,
        max_result_chars: int = 50_000,
    ) -> None:
        """`client` is asked for by `fetch`. `protected`: further files and folders no tool may touch, relative to the root: the
        ledger, the policy files. `fixed` gives the files that no tool may change; it is asked once, when a tool needs to know."""
        folder = Path(root).absolute()
        self._threads = Threads(name="ferrule-builtin")
        self._place = Place(
            root=folder,
            environment=environment,
            threads=self._threads,
            client=client,
            protected=tuple(dict.fromkeys(folder / path for path in (*ALWAYS_PROTECTED, *protected))),
            fixed=cache(lambda: frozenset(os.path.realpath(path) for path in fixed())),
            sandbox=sandbox,
            max_output_bytes=max_output_bytes,
            max_result_chars=max_result_chars,
        )

    def can_run(self, tool: Tool) -> bool:
        """True for a reserved tool of an agent file, enabled or not: a call of one that is off says how to turn it on."""
        return tool.dialect == "adl" and tool.name in BUILTINS

    def is_enabled(self, tool: Tool) -> bool:
        """True for a built-in tool that agent file and environment together enable; the environment has the last word."""
        try:
            return self.can_run(tool) and self._config(tool).enabled
        except ExecutionFailed:
            return False

    def prepare(self, tool: Tool) -> Run:
        """The tool with its settings. Raises ExecutionFailed: `capability_gap` when it is off, `setup_required` when a
        setting is wrong."""
        if not self.can_run(tool):
            raise ExecutionFailed("capability_gap", f"{tool.tool_id!r} is no built-in tool")
        config = self._config(tool)
        return _builtins.get(tool.name)(config, self._place)

    async def aclose(self) -> None:
        """Let the threads end."""
        self._threads.close()

    def _config(self, tool: Tool) -> Config:
        payload = msgspec.json.decode(tool.payload)
        stated = payload.get("config", {}) if isinstance(payload, dict) else {}
        return load_config(tool.name, stated, self._place.environment)
