"""Runs Python functions as tools. Async ones are awaited, plain ones get a thread, quick ones run where they are, and those that
say so run in a process of their own.

Plain JSON goes straight into the function; only parameters and results that need it are converted. What a function raises
becomes an error class by one table; its text stays out of what the model and the log see, for it may hold a secret.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from ferrule.contracts.executor import ExecutionFailed, Support
from ferrule.errors import BindingError, UnknownBinding
from ferrule.model.tool import Tool
from ferrule.runtime.executors.credentialed import CredentialedRun, Delegation, credentialed
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.children import DEFAULT_PROCESSES, Children
from ferrule.runtime.functions.companions import Check, resume_wants
from ferrule.runtime.functions.fitting import fit
from ferrule.runtime.functions.isolation import place_of
from ferrule.runtime.functions.running import AsyncRun, FunctionRun, InlineRun, ProcessRun, ThreadRun
from ferrule.runtime.functions.services import Injections
from ferrule.runtime.functions.threads import DEFAULT_SIZE, Threads


class FunctionExecutor:
    """The functions of this process, by the tools they run."""

    support = Support(cancel=True, resume=True)
    """Of async functions. A thread cannot be stopped: `run.support` says it for each tool."""

    def __init__(
        self,
        bindings: Iterable[Binding],
        *,
        threads: int = DEFAULT_SIZE,
        injections: Injections | None = None,
        isolate: Iterable[str] = (),
        processes: int = DEFAULT_PROCESSES,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`injections`: what functions are given besides their arguments; without it, a logger. `isolate`: tools, by id or name,
        whose functions run in processes of their own, though they do not say so."""
        self._threads = Threads(threads)
        self._children = Children(os.environ if environment is None else environment, processes)
        self._injections = Injections() if injections is None else injections
        self.delegation: Callable[[], Delegation] | None = None
        """Where the secrets and tokens come from that OXP tools require; whoever puts the process together says it."""
        self._made: dict[str, Binding] = {}
        self._bound: dict[str, Binding] = {}
        wanted = set(isolate)
        for each in bindings:
            names = _names(each) if wanted else set()
            binding = each.isolated() if wanted & names else each
            wanted -= names
            if binding.check is not None:
                Check(binding, binding.check)
            if binding.isolation == "process":
                place_of(binding)
            if binding.tool is not None:
                self._add(self._made, binding.tool.tool_id, binding)
            elif binding.binds is not None:
                self._add(self._bound, binding.binds, binding)
        if wanted:
            raise BindingError(
                f"[functions] isolate names {min(wanted)!r}, and no function is bound to a tool of that name"
            )

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that functions make themselves."""
        return tuple(binding.tool for binding in self._made.values() if binding.tool is not None)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The definitions functions are bound to: tool ids, names, `namespace.name`, perhaps with `@version`."""
        return tuple(self._bound)

    def can_run(self, tool: Tool) -> bool:
        """True when a function makes or runs this tool."""
        return self._binding(tool) is not None

    def check(self, tools: Iterable[Tool]) -> None:
        """Raises BindingError for a function that does not fit its tool, or whose tool is not among these."""
        served: set[int] = set()
        for tool in tools:
            binding = self._binding(tool)
            if binding is not None:
                fit(binding, tool)
                served.add(id(binding))
        for name, binding in self._bound.items():
            if id(binding) not in served:
                raise UnknownBinding(binding.label, name)

    def prepare(self, tool: Tool) -> FunctionRun | CredentialedRun:
        """The runner of one tool. Raises ExecutionFailed (`setup_required`) when no function fits it."""
        binding = self._binding(tool)
        if binding is None:
            raise ExecutionFailed(
                "setup_required", f"no function is bound to the tool {tool.tool_id!r} in this process"
            )
        try:
            fitted = fit(binding, tool)
            if binding.isolation == "process":
                isolated = ProcessRun(binding, tool, fitted, self._threads, self._children)
                return credentialed(isolated, tool, self.delegation)
            injection = self._injections.of(tool, fitted.injected, self._threads)
            wanted = resume_wants(binding.resume, fitted.injected) if binding.resume is not None else {}
            going_on = self._injections.of(tool, wanted, self._threads)
            kind = AsyncRun if binding.signature.is_async else InlineRun if binding.inline else ThreadRun
            run = kind(binding, tool, fitted, self._threads, injection, going_on)
            return credentialed(run, tool, self.delegation)
        except BindingError as error:
            raise ExecutionFailed("setup_required", str(error)) from error

    async def aclose(self) -> None:
        """Let go of services, and let the threads end. One that is stuck in a function does not keep the program from ending."""
        await self._injections.aclose()
        await self._children.aclose()
        self._threads.close()

    def _binding(self, tool: Tool) -> Binding | None:
        if tool.dialect == "python":
            return self._made.get(tool.tool_id)
        if not self._bound:
            return None
        names = (tool.tool_id, f"{tool.namespace}.{tool.name}", tool.name)
        exact = (f"{name}@{tool.version}" for name in names if tool.version)
        return next((self._bound[name] for name in (*exact, *names) if name in self._bound), None)

    @staticmethod
    def _add(bindings: dict[str, Binding], key: str, binding: Binding) -> None:
        other = bindings.setdefault(key, binding)
        if other is not binding and other.function is not binding.function:
            raise BindingError(
                f"{other.label} and {binding.label} are both the tool {key!r}; rename or unbind one of them"
            )


def _names(binding: Binding) -> set[str]:
    """What settings may call the tool of a function."""
    if binding.tool is not None:
        return {binding.tool.tool_id, binding.tool.name}
    return {binding.binds} if binding.binds is not None else set()
