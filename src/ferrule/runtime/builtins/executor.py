"""Runs the built-in tools that agent files list: builds each with its settings, once per surface."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ferrule.contracts.executor import ExecutionFailed, Run, Support
from ferrule.contracts.registry import Registry
from ferrule.model.tool import Tool
from ferrule.runtime.builtins.builtin import BUILTINS
from ferrule.runtime.builtins.config import ALWAYS_PROTECTED, BuiltinConfig, BuiltinServices, load_config
from ferrule.runtime.functions.threads import Threads

if TYPE_CHECKING:
    from ferrule.infra.network.client import Client

_builtins: Registry[Callable[[object, BuiltinServices], Run]] = Registry("built-in tool", BUILTINS)


class BuiltinExecutor:
    """Executor of read, write, edit, bash and fetch in one workspace."""

    support = Support(cancel=True, progress=True, sandboxed=True)
    """The support of fetch and bash; `run.support` says what each tool can do."""

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
        """`client`: returns the client of `fetch`. `protected`: further paths that no tool may touch, relative to the root: the
        ledger, the policy files. `fixed`: returns the files that no tool may change; called once, when first needed."""
        folder = Path(root).absolute()
        self._threads = Threads(name="ferrule-builtin")
        self._services = BuiltinServices(
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
        """Returns True for a reserved tool of an agent file, enabled or not: the failure of a disabled one says how to
        enable it."""
        return tool.dialect == "adl" and tool.name in BUILTINS

    def is_enabled(self, tool: Tool) -> bool:
        """Returns True for a built-in tool that the agent file enables and the environment does not disable."""
        try:
            return self.can_run(tool) and self._config(tool).enabled
        except ExecutionFailed:
            return False

    def prepare(self, tool: Tool) -> Run:
        """Builds the tool with its settings. Raises ExecutionFailed: `capability_gap` when it is disabled, `setup_required` for
        an invalid setting."""
        if not self.can_run(tool):
            raise ExecutionFailed("capability_gap", f"{tool.tool_id!r} is no built-in tool")
        config = self._config(tool)
        return _builtins.get(tool.name)(config, self._services)

    async def aclose(self) -> None:
        """Ends the threads."""
        self._threads.close()

    def _config(self, tool: Tool) -> BuiltinConfig:
        payload = msgspec.json.decode(tool.payload)
        stated = payload.get("config", {}) if isinstance(payload, dict) else {}
        return load_config(tool.name, stated, self._services.environment)
