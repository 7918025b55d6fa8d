"""What stands before every guardrail: an agent whose protection is not there calls nothing, and neither does one whose run
is blocked because its input guardrail fired (AML-104)."""

from __future__ import annotations

from ferrule.contracts.hook import HookEvent, HookInput, HookOutput
from ferrule.runtime.hooks.guardrail import Guards
from ferrule.runtime.hooks.guardrail_runs import FiredRuns


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
