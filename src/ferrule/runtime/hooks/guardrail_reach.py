"""How a guardrail's provider is asked: a program, an address, or a Python function of this process."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from ferrule.contracts.hook import HookFailed, Reach
from ferrule.contracts.registry import late
from ferrule.errors import BindingError, SettingsError
from ferrule.runtime.functions.gather import load_modules
from ferrule.runtime.functions.threads import Threads
from ferrule.runtime.hooks.command import CommandReach
from ferrule.runtime.hooks.guardrail_records import GuardrailSettings

_http_reach: Callable[..., Reach] = late("ferrule.runtime.hooks.http:HttpReach")

_USUAL = ("PATH", "HOME", "LANG")
_THREADS = 8

Ask = Callable[[dict[str, Any]], Any]
"""Takes what a provider is told and gives its answer, or an awaitable of it."""


class FunctionReach:
    """A Python function: takes what a provider is told and gives its answer. A plain one runs in a thread."""

    def __init__(self, function: Ask) -> None:
        self._function = function
        self._threads = Threads(_THREADS, "ferrule-guardrail")

    async def ask(self, message: bytes) -> bytes:
        """Its answer as JSON. Raises HookFailed with the type of what went wrong, never its text."""
        told = msgspec.json.decode(message)
        try:
            if inspect.iscoroutinefunction(self._function):
                answer = await self._function(told)
            else:
                answer = await self._threads.run(lambda: self._function(told))
                answer = await answer if inspect.isawaitable(answer) else answer
            return msgspec.json.encode(answer)
        except (Exception, SystemExit) as error:
            raise HookFailed(f"its function failed ({type(error).__name__})") from error

    async def aclose(self) -> None:
        """Let the threads end."""
        self._threads.close()


class Unreachable:
    """A provider that cannot be asked until something is set up."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def ask(self, message: bytes) -> bytes:
        """Raises HookFailed."""
        raise HookFailed(self._why)

    async def aclose(self) -> None:
        """Nothing is held."""


def reach_of(settings: GuardrailSettings, root: Path, env: Mapping[str, str], allowed_hosts: Collection[str]) -> Reach:
    """The way to a guardrail's provider. Raises SettingsError for settings that could never work."""
    refuse_strangers(settings)
    if settings.kind == "command":
        names = (*_USUAL, *settings.env)
        seen = {name: env[name] for name in names if name in env}
        return CommandReach(settings.command, root, seen, settings.timeout_seconds)
    if settings.kind == "function":
        return FunctionReach(_function(settings, root))
    secret = env.get(settings.secret_env, "") if settings.secret_env else ""
    if not secret:
        # Not an error of the workspace: whoever only looks at it need not have what a caller's process uses.
        which = settings.secret_env or "that secret_env names"
        return Unreachable(f"set its secret in the environment variable {which}")
    return _http_reach(settings.url, secret, settings.timeout_seconds, allowed_hosts)


def refuse_strangers(settings: GuardrailSettings) -> None:
    """Raises SettingsError for a guardrail without what its kind needs, or with what only another kind understands."""
    keys = {"command": settings.command, "http": settings.url, "function": settings.function}
    for kind, given in keys.items():
        key = "url" if kind == "http" else kind
        if kind == settings.kind and not given:
            raise SettingsError(f"the guardrail {settings.id!r} is of kind {settings.kind!r}; say {key} too")
        if kind != settings.kind and given:
            raise SettingsError(f"the guardrail {settings.id!r} is of kind {settings.kind!r}; leave out {key}")


def _function(settings: GuardrailSettings, root: Path) -> Ask:
    where, _, name = settings.function.rpartition(":")
    if not where or not name:
        raise SettingsError(f"the function of the guardrail {settings.id!r} is written as module:name")
    try:
        function = getattr(load_modules(root, [where])[0], name, None)
    except BindingError as error:
        raise SettingsError(f"the guardrail {settings.id!r}: {error}") from error
    if not callable(function):
        raise SettingsError(f"there is no function {settings.function!r} for the guardrail {settings.id!r}")
    return cast(Ask, function)
