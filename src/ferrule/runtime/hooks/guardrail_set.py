"""All guardrails of a workspace as hooks, in order, and the ways to reach their providers.

The gate comes first, which refuses agents without protection and runs whose input guardrail fired; then each
guardrail as it is written. A provider is a program, an address, or a Python function of this process. `app/assembly`
loads this module late, only where guardrails are configured.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ferrule.contracts.hook import Hook, HookConnection, HookEvent, HookFailed, HookInput, HookOutput
from ferrule.contracts.registry import late
from ferrule.errors import BindingError, SettingsError
from ferrule.infra.tasks import is_from_outside
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.discovery import load_modules
from ferrule.runtime.functions.threads import Threads
from ferrule.runtime.hooks.command import CommandReach
from ferrule.runtime.hooks.guardrail import Guardrail, Guards
from ferrule.runtime.hooks.guardrail_agents import read_agent_guards
from ferrule.runtime.hooks.guardrail_records import ON_FAIL, FiredRuns, GuardrailSettings, Point

if TYPE_CHECKING:
    from ferrule.infra.network.client import Client

_http_reach: Callable[..., HookConnection] = late("ferrule.runtime.hooks.http:HttpReach")

_DEFAULT_VARIABLES = ("PATH", "HOME", "LANG")
_THREADS = 8

AskProvider = Callable[[JsonObject], Any]
"""Takes the question of a guardrail and returns the answer, or an awaitable of it."""


class FunctionReach:
    """A Python function as a provider. A plain one runs in a thread."""

    def __init__(self, function: AskProvider) -> None:
        self._function = function
        self._threads = Threads(_THREADS, "ferrule-guardrail")

    async def ask(self, message: bytes) -> bytes:
        """Calls the function and encodes its answer as JSON. Raises HookFailed with the type of an error, never its text."""
        told = msgspec.json.decode(message)
        try:
            if inspect.iscoroutinefunction(self._function):
                answer = await self._function(told)
            else:
                answer = await self._threads.run(lambda: self._function(told))
                answer = await answer if inspect.isawaitable(answer) else answer
            return msgspec.json.encode(answer)
        except BaseException as error:
            if is_from_outside(error):
                raise
            raise HookFailed(f"its function failed ({type(error).__name__})") from error

    async def aclose(self) -> None:
        """Ends the threads."""
        self._threads.close()


class UnconfiguredReach:
    """A provider that cannot be asked until its secret is set."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def ask(self, message: bytes) -> bytes:
        """Raises HookFailed."""
        raise HookFailed(self._why)

    async def aclose(self) -> None:
        """Closes nothing."""


def open_reach(
    settings: GuardrailSettings, root: Path, env: Mapping[str, str], client: Callable[[], Client]
) -> HookConnection:
    """Opens the way to a guardrail's provider. Raises SettingsError for settings that could never work."""
    check_keys(settings)
    if settings.kind == "command":
        names = (*_DEFAULT_VARIABLES, *settings.env)
        seen = {name: env[name] for name in names if name in env}
        return CommandReach(settings.command, root, seen, settings.timeout_seconds)
    if settings.kind == "function":
        return FunctionReach(_load_function(settings, root))
    secret = env.get(settings.secret_env, "") if settings.secret_env else ""
    if not secret:
        # Not an error of the workspace: `ferrule check` has to work without the secrets of the serving process.
        which = settings.secret_env or "that secret_env names"
        return UnconfiguredReach(f"set its secret in the environment variable {which}")
    return _http_reach(client(), settings.url, secret, settings.timeout_seconds)


def check_keys(settings: GuardrailSettings) -> None:
    """Raises SettingsError for a guardrail without the key its kind needs, or with a key of another kind."""
    keys = {"command": settings.command, "http": settings.url, "function": settings.function}
    for kind, given in keys.items():
        key = "url" if kind == "http" else kind
        if kind == settings.kind and not given:
            raise SettingsError(f"the guardrail {settings.id!r} is of kind {settings.kind!r}; set {key} too")
        if kind != settings.kind and given:
            raise SettingsError(f"the guardrail {settings.id!r} is of kind {settings.kind!r}; leave out {key}")


def _load_function(settings: GuardrailSettings, root: Path) -> AskProvider:
    where, _, name = settings.function.rpartition(":")
    if not where or not name:
        raise SettingsError(f"the function of the guardrail {settings.id!r} is written as module:name")
    try:
        function = getattr(load_modules(root, [where])[0], name, None)
    except BindingError as error:
        raise SettingsError(f"the guardrail {settings.id!r}: {error}") from error
    if not callable(function):
        raise SettingsError(f"there is no function {settings.function!r} for the guardrail {settings.id!r}")
    return cast(AskProvider, function)


class GuardrailGate:
    """A hook that stops calls of unprotected agents and blocked runs; at `permission_decision`, calls that had waited too."""

    hook_id = "guardrail:gate"

    def __init__(self, guards: Guards, fired: FiredRuns, event: HookEvent = "pre_tool_use") -> None:
        self.event: HookEvent = event
        self._agents = guards.agents
        self._fired = fired

    def matches(self, tool_id: str, tool_name: str) -> bool:
        """Returns True: every tool passes the gate."""
        return True

    def run(self, told: HookInput) -> HookOutput | None:
        """Returns a stop for a caller that may not call now; else None."""
        agent = self._agents.get(told.agent) if told.agent is not None else None
        if agent is None:
            return None
        if agent.problem:
            return _build_stop(agent.problem, stop_code="guardrail_missing")
        fired = self._fired.find(told.run_id) if agent.blocks_run else None
        if fired is None:
            return None
        text = f"the guardrail {fired.guardrail_id!r} fired on the input of this run, so the agent calls no tools in it"
        return _build_stop(text, stop_code="guardrail_fired", guardrail=fired.guardrail_id)


def _build_stop(text: str, *, stop_code: str, guardrail: str | None = None) -> HookOutput:
    outcome = {"type": "guardrail", "guardrail": guardrail, "action": "block"}
    return HookOutput(stop=text, stop_code=stop_code, messages=(text,), outcome=outcome)


def build_guardrails(
    settings: Sequence[GuardrailSettings],
    agents: Mapping[str, Mapping[str, object]],
    root: Path,
    env: Mapping[str, str],
    client: Callable[[], Client],
    fired: FiredRuns | None = None,
) -> tuple[Hook, ...]:
    """Builds the hooks of the guardrails. Raises SettingsError.

    `agents`: agent files by id (`list_agent_files(catalog)`); `client` is called by guardrails that speak HTTP. An
    agent
    that names an unconfigured guardrail calls no tools. Builds nothing where neither settings nor agents ask for it.
    """
    memory = FiredRuns() if fired is None else fired
    known = check_guardrails(settings)
    guards = Guards({agent: read_agent_guards(agent, file, known) for agent, file in agents.items()})
    hooks: list[Hook] = []
    if any(agent.problem or agent.blocks_run for agent in guards.agents.values()):
        hooks.append(GuardrailGate(guards, memory))
    if any(agent.blocks_run for agent in guards.agents.values()):
        # A call may have waited for a person while its run was blocked.
        hooks.append(GuardrailGate(guards, memory, "permission_decision"))
    for each in settings:
        reach = open_reach(each, root, env, client)
        hooks += [Guardrail(each, point, reach, guards, memory) for point in dict.fromkeys(each.at)]
    return tuple(hooks)


def order_hooks(hooks: Iterable[Hook], guardrails: Iterable[Hook]) -> tuple[Hook, ...]:
    """Orders hooks and guardrails:

    gates first, and guardrails last, so that they judge what would really run and what the model would really see.
    """
    given = tuple(guardrails)
    gates = tuple(each for each in given if isinstance(each, GuardrailGate))
    return (*gates, *hooks, *(each for each in given if not isinstance(each, GuardrailGate)))


def check_guardrails(settings: Sequence[GuardrailSettings]) -> dict[tuple[str, Point], GuardrailSettings]:
    """Returns each guardrail by name and point; opens nothing. Raises SettingsError for one that could never work."""
    known: dict[tuple[str, Point], GuardrailSettings] = {}
    for each in settings:
        _check_settings(each)
        check_keys(each)
        for point in dict.fromkeys(each.at):
            if (each.id, point) in known:
                raise SettingsError(f"two guardrails are called {each.id!r} at {point}; rename one of them")
            known[each.id, point] = each
    return known


def _check_settings(settings: GuardrailSettings) -> None:
    name, words = settings.id, ON_FAIL[settings.type]
    if not name.strip():
        raise SettingsError("a guardrail has no name; give it an id")
    if not settings.at:
        raise SettingsError(f"the guardrail {name!r} has no point; set at = ['tool_input'] or ['tool_output']")
    if not settings.tools:
        raise SettingsError(f"the guardrail {name!r} guards no tool; leave out tools for all of them")
    if settings.on_fail is not None and settings.on_fail not in words:
        raise SettingsError(
            f"the guardrail {name!r} answers with {settings.type}, so on_fail cannot be {settings.on_fail!r}; write"
            f" {' or '.join(words)}"
        )
