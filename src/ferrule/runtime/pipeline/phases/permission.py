"""Phase 7: allow, ask or deny, decided on exactly what would run. An `ask` parks the call; nothing here waits for a person.

A call that comes back with answers is judged again from the start: by the current tool and rules. The answers count
only for the binding of what would run now, so an edited definition, an edited input or a passed expiry voids them.
"""

from __future__ import annotations

from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any

import msgspec

from ferrule.contracts.policy import JudgedCall
from ferrule.infra.tasks import resolve
from ferrule.model.approval import ApprovalRequest, binding_of, seal_record
from ferrule.model.decision import Decision, Ruling, expiry
from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call, Park, Recorded
from ferrule.runtime.pipeline.hooks.permission import (
    apply_hook_permissions,
    deny_call,
    run_decision_hooks,
    run_request_hooks,
)
from ferrule.runtime.pipeline.hooks.runs import find_hooks, has_hooks_for
from ferrule.runtime.pipeline.prepared import Prepared
from ferrule.runtime.pipeline.rows import redact_ruling
from ferrule.runtime.pipeline.services import Services


def permission(call: Call, services: Services) -> Stop | Park | Awaitable[Stop | Park | None] | None:
    """Adds the decision and the permission input. Stops with `permission_denied`, `policy_blocked`; parks on `ask`."""
    inputs = call.inputs
    prepared = call.prepared
    if prepared.header_ruling is not None and not call.judgement.hook_permission:
        # None where nothing changed the input, which stands for "as the one before".
        inputs.permission_input = inputs.call_input
        if not services.hooks or not find_hooks(call, services, "permission_decision"):
            return None
        return _settle(call, prepared.header_ruling, services)
    inputs.permission_input = inputs.current
    if prepared.fixed is not None:
        return _settle(call, prepared.fixed, services)
    return _decide(call, services, prepared)


async def _decide(call: Call, services: Services, prepared: Prepared) -> Stop | Park | None:
    program = prepared.require_program()
    arguments = msgspec.json.decode(call.inputs.current)
    facts, failures = services.call_facts(prepared.require_entry().tool, arguments, services.classifiers)
    if failures:
        call.notes = {**call.notes, "facts_unknown": failures}
    try:
        said: Any = program.decide(JudgedCall(arguments, facts, services.now()))
        ruling: Ruling = await said if isawaitable(said) else said
    except Exception as error:
        kind = type(error).__name__
        ruling = Ruling("deny", f"the policy failed to decide ({kind}), so the answer is no", "safety_check")
    return await resolve(_settle(call, ruling, services))


def _settle(call: Call, ruling: Ruling, services: Services) -> Stop | Park | Awaitable[Stop | Park | None] | None:
    """Acts on a ruling, and on the hooks' answers to it."""
    step = _act_on_ruling(call, apply_hook_permissions(call, ruling), services)
    if services.hooks and (
        has_hooks_for(services, "permission_decision") or has_hooks_for(services, "permission_request")
    ):
        return _tell_hooks(call, services, step)
    return _enter_approved(call, step)


async def _tell_hooks(call: Call, services: Services, step: Stop | Park | None) -> Stop | Park | None:
    """Runs the hooks for the decision, and for the question where one is asked. Either may still end the call (AT-145)."""
    stop = await resolve(run_decision_hooks(call, services, step))
    if stop is None and isinstance(step, Park):
        stop = await resolve(run_request_hooks(call, services, step.request))
    return _enter_approved(call, step if stop is None else stop)


def _enter_approved(call: Call, step: Stop | Park | None) -> Stop | Park | None:
    if step is None and call.state == "awaiting_approval":
        call.enter("approved")
    return step


def _act_on_ruling(call: Call, ruling: Ruling, services: Services) -> Stop | Park | None:
    if ruling.behavior == "allow":
        call.judge(Decision(ruling, services.now()))
        return None
    if ruling.behavior == "deny":
        return deny_call(call, ruling, services)
    recorded = call.recorded
    if recorded is not None and recorded.request is not None:
        return _check_answers(call, recorded, recorded.request, ruling, services)
    return _ask_person(call, ruling, services)


def _ask_person(call: Call, ruling: Ruling, services: Services) -> Park:
    """Builds the question to a person. An answer holds only for its binding."""
    entry = call.prepared.require_entry()
    ruling = redact_ruling(call, services, ruling)
    now = services.wall()
    expires_at = expiry(ruling.requirement, now)
    request = call.session.surface.request
    asked = ApprovalRequest(
        invocation_id=call.invocation_id,
        tool_id=entry.tool.tool_id,
        tool_version=entry.tool.version,
        tool_digest=entry.digest,
        tool_title=entry.tool.title or entry.tool.name,
        principal=request.principal,
        agent=request.agent,
        channel=request.channel,
        tenant=request.tenant,
        holder=request.holder or msgspec.UNSET,
        requested_at=now,
        expires_at=expires_at,
        binding=_compute_binding(call, services, expires_at),
        requirement=ruling.requirement,
        message=ruling.message,
        risk=call.prepared.traits.risk,
        rule_refs=ruling.rule_refs,
        suggested_updates=ruling.suggested_updates,
    )
    call.judge(Decision(ruling, now, expires_at=expires_at))
    return Park(seal_record(services.sealing.secret, asked))


def _check_answers(
    call: Call, recorded: Recorded, asked: ApprovalRequest, ruling: Ruling, services: Services
) -> Park | None:
    """Accepts the answers when they satisfy the current ask; else asks again."""
    binding = _compute_binding(call, services, asked.expires_at)
    why_not = None if ruling.requirement == asked.requirement else "other people must be asked now"
    why_not = why_not or services.why_unsatisfied(
        asked, recorded.answers, binding=binding, key=services.sealing.secret, now=services.wall()
    )
    # The person's yes is not stretched to another input, tool or rule: they are asked anew.
    if why_not is not None:
        call.notes = {**call.notes, "approval_void": why_not}
        return _ask_person(call, ruling, services)
    last = recorded.answers[-1]
    given = Ruling("allow", f"approved by {last.by}", "permission_prompt_tool", rule_refs=asked.rule_refs)
    is_edited = any(answer.edited_input is not None for answer in recorded.answers)
    if is_edited:  # keeps the input of the question apart from the one that runs (AT-75)
        call.inputs.permission_input = recorded.asked_about or call.inputs.model_input
    call.judge(Decision(given, services.now(), last.by, is_edited, asked.expires_at, last.reason))
    return None


def _compute_binding(call: Call, services: Services, expires_at: int) -> bytes:
    request = call.session.surface.request
    entry = call.prepared.entry
    return binding_of(
        services.sealing.secret,
        invocation_id=call.invocation_id,
        tool_digest=entry.digest if entry is not None else "",
        call_input=call.inputs.current,
        principal=request.principal,
        agent=request.agent,
        expires_at=expires_at,
    )
