"""Permission hooks: asks hooks before the decision, after it, and when a person is about to be asked; denies calls.

A hook can tighten a ruling, never loosen it (AT-152), except where the policy makes it authoritative: then its allow
settles an ask that the policy leaves to it (AT-153, `Ruling.authoritative_hooks`). Phases 4 (deny before IO) and 7
both end a denied call with `deny_call`: a decision on record and a stop. It does not know the policy's rules.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from msgspec.structs import replace

from ferrule.contracts.hook import Hook, HookOutput
from ferrule.model.approval import ApprovalRequest
from ferrule.model.decision import Behavior, Decision, Requirement, Ruling
from ferrule.model.failure import ErrorClass, Stop
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import Call, Park
from ferrule.runtime.pipeline.hooks.runs import HookMoment, block_call, build_hook_stop, find_hooks, run_hooks
from ferrule.runtime.pipeline.redaction import redact_secrets
from ferrule.runtime.pipeline.services import Services


def deny_call(call: Call, ruling: Ruling, services: Services) -> Stop:
    """Records a ruling that denies the call, and returns its stop."""
    call.judge(Decision(ruling, services.now()))
    if call.inputs.permission_input is None:
        call.inputs.permission_input = call.inputs.current
    kind: ErrorClass = "policy_blocked" if ruling.is_policy_block else "permission_denied"
    return Stop(kind, ruling.message, policy_refs=ruling.policy_refs)


def apply_hook_permissions(call: Call, ruling: Ruling) -> Ruling:
    """Returns the ruling after the permissions that earlier hooks gave: the strictest one counts."""
    word, _, message = call.judgement.hook_permission.partition(":")
    if word == "deny" and ruling.behavior != "deny":
        return _tighten_ruling(ruling, "deny", message)
    if word == "ask" and ruling.behavior == "allow":
        if call.session.surface.request.is_interactive:
            return _tighten_ruling(ruling, "ask", message)
        return _tighten_ruling(ruling, "deny", f"{message}; nobody can be asked here, so it is refused")
    if call.judgement.hook_allows and not word and ruling.authoritative_hooks:
        return _allow_by_hook(call, ruling)
    return ruling


def _tighten_ruling(ruling: Ruling, behavior: Behavior, message: str) -> Ruling:
    """Returns a ruling that a hook made stricter, without the rules that would have allowed the call."""
    return replace(
        ruling,
        behavior=behavior,
        message=message,
        reason_type="hook",
        source=None,
        rule_refs=(),
        suggested_updates=(),
        is_policy_block=False,
    )


def _allow_by_hook(call: Call, ruling: Ruling) -> Ruling:
    """Returns an allow in the name of an authoritative hook; the ruling itself when none allowed the call."""
    hook = next((hook for hook in call.judgement.hook_allows if hook in ruling.authoritative_hooks), None)
    if hook is None:
        return ruling
    ref = ruling.authoritative_hooks[hook]
    return replace(
        ruling,
        behavior="allow",
        message=f"the hook {hook!r} allows it, and {ref} makes its word count; otherwise: {ruling.message}",
        reason_type="hook",
        source="policy_settings",
        rule_refs=(),
        policy_refs=tuple(dict.fromkeys((ref, *ruling.policy_refs))),
        requirement=Requirement(),
        suggested_updates=(),
        authoritative_hooks={},
    )


def run_decision_hooks(
    call: Call, services: Services, step: Stop | Park | None
) -> Stop | Awaitable[Stop | None] | None:
    """Runs the hooks that observe the decision just made; returns a stop when one of them objects."""
    hooks = find_hooks(call, services, "permission_decision")
    if not hooks:
        return None
    about = {"decision": _describe_decision(call.judgement.require_decision())}
    if isinstance(step, Stop):  # denied already: hooks are told, their answers change nothing
        return run_hooks(HookMoment(call, services, lambda hook, output: None, lambda hook, how: None, about), hooks)
    return run_hooks(HookMoment(call, services, partial(_apply_objection, call, services), block_call, about), hooks)


def run_request_hooks(call: Call, services: Services, request: ApprovalRequest) -> Stop | Awaitable[Stop | None] | None:
    """Runs the hooks that observe an approval request about to be made; returns a stop when one objects."""
    hooks = find_hooks(call, services, "permission_request")
    if not hooks:
        return None
    about = {
        "message": request.message,
        "risk": request.risk,
        "expires_at": iso(request.expires_at),
        "rule_refs": list(request.rule_refs),
    }
    return run_hooks(
        HookMoment(call, services, partial(_apply_objection, call, services), block_call, {"request": about}), hooks
    )


def _apply_objection(call: Call, services: Services, hook: Hook, output: HookOutput) -> Stop | None:
    """Returns the stop of a hook that stops or denies the call; None when it does neither."""
    stop = build_hook_stop(call, services, hook, output)
    if stop is not None or output.permission != "deny":
        return stop
    reason = redact_secrets(call, services, output.permission_reason)
    why = f": {reason}" if reason else ""
    refs = call.judgement.require_decision().ruling.policy_refs
    return deny_call(
        call, Ruling("deny", f"the hook {hook.hook_id!r} says deny{why}", "hook", policy_refs=refs), services
    )


def _describe_decision(decision: Decision) -> JsonObject:
    ruling = decision.ruling
    return {
        "behavior": ruling.behavior,
        "reason": {"type": ruling.reason_type, "message": ruling.message},
        "by": decision.by,
        "rule_refs": list(ruling.rule_refs),
    }
