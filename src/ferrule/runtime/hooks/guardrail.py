"""One guardrail at one point: a hook that shows the call's input or output to a provider and acts on its verdict (AML-106).

`Guards` knows the guarded callers and how strictly they are guarded; `guardrail_verdict.py` reads the answers. A
provider that fails counts as `error_severity`. Nothing of the judged value is repeated in reasons, messages or
records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping

import msgspec

from ferrule.contracts.hook import HookConnection, HookEvent, HookFailed, HookInput, HookOutput
from ferrule.model.value import JsonObject
from ferrule.runtime.hooks.external import matches_tool
from ferrule.runtime.hooks.guardrail_agents import AgentGuards, GuardRule, build_default_rule
from ferrule.runtime.hooks.guardrail_records import FiredRuns, GuardrailSettings, Point
from ferrule.runtime.hooks.guardrail_verdict import (
    ScoreVerdict,
    TransformVerdict,
    Verdict,
    find_output,
    read_verdict,
    redact_reason,
    restore_output,
)

EVENTS: dict[Point, HookEvent] = {"tool_input": "pre_tool_use", "tool_output": "post_tool_use"}
_SPARE_SECONDS = 5.0
"""Extra time before the pipeline's own timeout, so that a late provider is handled here (`error_severity`)."""


class Guards:
    """The rules of all guardrails, by caller."""

    def __init__(self, agents: Mapping[str, AgentGuards] | None = None) -> None:
        self.agents = agents or {}

    def find_rule(self, settings: GuardrailSettings, point: Point, agent: str | None) -> GuardRule | None:
        """Returns how strictly a guardrail guards a caller; None when it does not."""
        known = self.agents.get(agent) if agent is not None else None
        named = known.rules.get((settings.id, point)) if known is not None else None
        if named is not None:
            return named
        if settings.agents:
            return build_default_rule(settings) if agent in settings.agents or "*" in settings.agents else None
        # Agents with a file name their guardrails there; a caller without one cannot (decision 0017).
        return build_default_rule(settings) if known is None else None


class Guardrail:
    """One guardrail at one point, as a hook."""

    def __init__(
        self, settings: GuardrailSettings, point: Point, reach: HookConnection, guards: Guards, fired: FiredRuns
    ) -> None:
        self.hook_id = f"guardrail:{settings.id}"
        self.event: HookEvent = EVENTS[point]
        self.matcher: JsonObject = {"tools": list(settings.tools)}
        self.timeout_seconds = settings.timeout_seconds + _SPARE_SECONDS
        self._settings = settings
        self._point = point
        self._reach = reach
        self._guards = guards
        self._fired = fired

    def matches(self, tool_id: str, tool_name: str) -> bool:
        """Returns True for calls of the configured tools."""
        return matches_tool(self._settings.tools, tool_id, tool_name)

    def run(self, told: HookInput) -> Awaitable[HookOutput] | None:
        """Judges the call; returns None when its caller is not guarded by this guardrail."""
        rule = self._guards.find_rule(self._settings, self._point, told.agent)
        return None if rule is None else self._guard(told, rule)

    async def _guard(self, told: HookInput, rule: GuardRule) -> HookOutput:
        judged = told.observable_input if self._point == "tool_input" else find_output(told.result or {})
        try:
            verdict = await self._ask_provider(told, judged)
        except HookFailed as failed:
            return self._act_on_failure(told, rule, str(failed))
        return self._act_on_verdict(told, rule, verdict, judged)

    async def aclose(self) -> None:
        """Closes the provider."""
        await self._reach.aclose()

    async def _ask_provider(self, told: HookInput, judged: object) -> Verdict:
        """Asks the provider for a verdict. Raises HookFailed."""
        question = {
            "guardrail_id": self._settings.id,
            "point": self._point,
            "tool_id": told.tool_id,
            "agent": told.agent,
            "run_id": told.run_id,
            "input" if self._point == "tool_input" else "output": judged,
        }
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                answer = await self._reach.ask(msgspec.json.encode(question))
            return read_verdict(answer, self._settings.type, self._point, judged)
        except HookFailed:
            raise
        except TimeoutError:
            raise HookFailed(f"it gave no answer within {self._settings.timeout_seconds:g} s") from None
        except Exception as error:  # fail closed: the value was not judged
            raise HookFailed(f"it failed ({type(error).__name__})") from error

    def _act_on_failure(self, told: HookInput, rule: GuardRule, why: str) -> HookOutput:
        """Acts on a failed provider: `error_severity` stands in for a score, and from the threshold on nothing passes."""
        severity = self._settings.error_severity
        text = f"the guardrail {self._settings.id!r} could not judge this ({why})"
        if severity < rule.severity_threshold:
            return self._note(rule, "pass", severity, text, error=why)
        if self._settings.type == "score":
            return self._act_on_score(told, rule, severity, text, error=why)
        if rule.on_fail == "skip":
            return self._note(rule, "skip", severity, text, error=why)
        return self._block(told, rule, severity, text, error=why)

    def _act_on_verdict(self, told: HookInput, rule: GuardRule, verdict: Verdict, judged: object) -> HookOutput:
        if isinstance(verdict, ScoreVerdict):
            if verdict.score < rule.severity_threshold:
                return self._note(rule, "pass", verdict.score)
            scored = f"the guardrail {self._settings.id!r} scored {verdict.score:g} (limit {rule.severity_threshold:g})"
            return self._act_on_score(told, rule, verdict.score, _add_reason(scored, verdict.reason, judged))
        if isinstance(verdict, TransformVerdict):
            return self._act_on_transform(told, rule, verdict, judged)
        if not verdict.blocks:
            return self._note(rule, "pass")
        said = self._note(rule, "add")
        return msgspec.structs.replace(said, additional_context=verdict.blocks)

    def _act_on_score(self, told: HookInput, rule: GuardRule, score: float, text: str, **more: object) -> HookOutput:
        """Acts on a score at or over the threshold."""
        match rule.on_fail:
            case "log" | "warn":
                self._remember_fired(told, text)
                said = self._note(rule, rule.on_fail, score, text, **more)
                context = ({"type": "text", "text": f"Warning: {text}"},) if rule.on_fail == "warn" else ()
                return msgspec.structs.replace(said, additional_context=context)
            case "escalate" if self._point == "tool_input":
                self._remember_fired(told, text)
                said = self._note(rule, "escalate", score, text, **more)
                return msgspec.structs.replace(said, permission="ask", permission_reason=text)
            case "escalate":
                # Nobody is asked here: a result that exists would have to be held for hours (decision 0017).
                text = f"{text}; the output is withheld, and a person has to look at it"
                said = self._note(rule, "escalate", score, text, **more)
                return msgspec.structs.replace(said, stop=text, stop_code="guardrail_escalated")
            case _:
                return self._block(told, rule, score, text, **more)

    def _act_on_transform(
        self, told: HookInput, rule: GuardRule, verdict: TransformVerdict, judged: object
    ) -> HookOutput:
        if not verdict.is_changed:
            return self._note(rule, "pass")
        if rule.on_fail == "reject":
            text = f"the guardrail {self._settings.id!r} would have had to change this, which is not allowed"
            return self._block(told, rule, None, _add_reason(text, verdict.reason, judged))
        said = self._note(rule, "apply", None, f"the guardrail {self._settings.id!r} changed the {self._noun}")
        if self._point == "tool_input":
            return msgspec.structs.replace(said, updated_input=verdict.value)
        return msgspec.structs.replace(said, updated_output=restore_output(told.result or {}, verdict.value))

    def _block(self, told: HookInput, rule: GuardRule, score: float | None, text: str, **more: object) -> HookOutput:
        self._remember_fired(told, text)
        said = self._note(rule, "block", score, text, **more)
        return msgspec.structs.replace(said, stop=text, stop_code="guardrail_blocked")

    def _note(
        self, rule: GuardRule, action: str, score: float | None = None, text: str = "", **more: object
    ) -> HookOutput:
        """Builds an answer that only goes on record."""
        outcome = {
            "type": "guardrail",
            "guardrail": self._settings.id,
            "point": self._point,
            "severity_threshold": rule.severity_threshold,
            "action": action,
            **({} if score is None else {"score": score}),
            **more,
        }
        return HookOutput(messages=(text,) if text else (), outcome=outcome)

    def _remember_fired(self, told: HookInput, text: str) -> None:
        """Remembers that this guardrail fired on the input: strict agents call nothing more in this run (AML-104)."""
        if self._point == "tool_input":
            self._fired.mark(told.run_id, self._settings.id, text)

    @property
    def _noun(self) -> str:
        return "arguments" if self._point == "tool_input" else "output"


def _add_reason(text: str, reason: str | None, judged: object) -> str:
    told = redact_reason(reason, judged)
    return f"{text}: {told}" if told else text
