"""All guardrails of a workspace as hooks, in order: the gate first, which refuses agents without protection and runs whose input
guardrail fired, then each guardrail as it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ferrule.contracts.hook import Hook, HookEvent, HookInput, HookOutput
from ferrule.errors import SettingsError
from ferrule.runtime.hooks.guardrail import Guardrail, Guards
from ferrule.runtime.hooks.guardrail_agents import guards_of
from ferrule.runtime.hooks.guardrail_reach import reach_of, refuse_strangers
from ferrule.runtime.hooks.guardrail_records import ON_FAIL, FiredRuns, GuardrailSettings, Point


class GuardrailGate:
    """Stops the calls of agents that may not call now. At `permission_decision` it meets calls that waited for a person."""

    hook_id = "guardrail:gate"

    def __init__(self, guards: Guards, fired: FiredRuns, event: HookEvent = "pre_tool_use") -> None:
        self.event: HookEvent = event
        self._agents = guards.agents
        self._fired = fired

    def matches(self, tool_id: str, tool_name: str) -> bool:
        """True: no tool is excepted."""
        return True

    def run(self, told: HookInput) -> HookOutput | None:
        """A stop, or nothing."""
        agent = self._agents.get(told.agent) if told.agent is not None else None
        if agent is None:
            return None
        if agent.problem:
            return _stopped(agent.problem, stop_code="guardrail_missing")
        fired = self._fired.of(told.run_id) if agent.blocks_run else None
        if fired is None:
            return None
        text = f"the guardrail {fired.guardrail_id!r} fired on the input of this run, so the agent calls no tools in it"
        return _stopped(text, stop_code="guardrail_fired", guardrail=fired.guardrail_id)


def _stopped(text: str, *, stop_code: str, guardrail: str | None = None) -> HookOutput:
    outcome = {"type": "guardrail", "guardrail": guardrail, "action": "block"}
    return HookOutput(stop=text, stop_code=stop_code, messages=(text,), outcome=outcome)


def guardrails_of(
    settings: Sequence[GuardrailSettings],
    agents: Mapping[str, Mapping[str, Any]],
    root: Path,
    env: Mapping[str, str],
    allowed_hosts: Collection[str] = (),
    fired: FiredRuns | None = None,
) -> tuple[Hook, ...]:
    """The hooks of these guardrails. Raises SettingsError.

    `agents`: agent files by id (`agents_in(catalog)`). An agent that names a guardrail nobody configures calls no tools.
    Nothing is made where neither settings nor agents ask for it.
    """
    memory = FiredRuns() if fired is None else fired
    known = fit_guardrails(settings)
    guards = Guards({agent: guards_of(agent, file, known) for agent, file in agents.items()})
    hooks: list[Hook] = []
    if any(agent.problem or agent.blocks_run for agent in guards.agents.values()):
        hooks.append(GuardrailGate(guards, memory))
    if any(agent.blocks_run for agent in guards.agents.values()):
        # A call may have waited for a person while its run was blocked.
        hooks.append(GuardrailGate(guards, memory, "permission_decision"))
    for each in settings:
        reach = reach_of(each, root, env, allowed_hosts)
        hooks += [Guardrail(each, point, reach, guards, memory) for point in dict.fromkeys(each.at)]
    return tuple(hooks)


def around(hooks: Iterable[Hook], guardrails: Iterable[Hook]) -> tuple[Hook, ...]:
    """Hooks and guardrails in the order they have to run: gates first, and guardrails last, so that they judge what would
    really run and what the model would really see."""
    given = tuple(guardrails)
    gates = tuple(each for each in given if isinstance(each, GuardrailGate))
    return (*gates, *hooks, *(each for each in given if not isinstance(each, GuardrailGate)))


def fit_guardrails(settings: Sequence[GuardrailSettings]) -> dict[tuple[str, Point], GuardrailSettings]:
    """Each guardrail by name and point; nothing is run or looked for. Raises SettingsError for one that could never work."""
    known: dict[tuple[str, Point], GuardrailSettings] = {}
    for each in settings:
        _refuse_unfit(each)
        refuse_strangers(each)
        for point in dict.fromkeys(each.at):
            if (each.id, point) in known:
                raise SettingsError(f"two guardrails are called {each.id!r} at {point}; rename one of them")
            known[each.id, point] = each
    return known


def _refuse_unfit(settings: GuardrailSettings) -> None:
    name, words = settings.id, ON_FAIL[settings.type]
    if not name.strip():
        raise SettingsError("a guardrail has no name; give it an id")
    if not settings.at:
        raise SettingsError(f"the guardrail {name!r} stands nowhere; say at = ['tool_input'] or ['tool_output']")
    if not settings.tools:
        raise SettingsError(f"the guardrail {name!r} guards no tool; leave out tools for all of them")
    if settings.on_fail is not None and settings.on_fail not in words:
        raise SettingsError(
            f"the guardrail {name!r} answers with {settings.type}, so on_fail cannot be {settings.on_fail!r}; write"
            f" {' or '.join(words)}"
        )
