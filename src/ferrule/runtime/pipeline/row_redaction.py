"""Takes secrets out of what a row of the ledger says about a call: reasons, names of fields, notes (AT-84, AT-271).

Inputs and results are cleaned where they are made. Here is everything else that others had a word in: hooks, classifiers,
approvers, tools, callers. Words of our own (behaviors, states, addresses of payloads) are left alone.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from msgspec.structs import replace

from ferrule.model.decision import Decision, Ruling
from ferrule.model.journal import Mutation, Segment
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.untold import secrets_of, without_secrets
from ferrule.runtime.redaction.sensitive_input import REDACTED

_FOREIGN = frozenset(
    {
        "native_call_id",
        "retry_of",
        "trace_id",
        "tool_name",
        "native_refs",
        "output_mismatch",
        "context_modifiers",
        "facts_unknown",
        "approval_void",
        "answer_schema",
        "client_requests",
        "task_id",
    }
)
"""Notes with words of others in them."""
_OURS = frozenset({"rule", "mode", "policy"})
"""Kinds of reasons that the policy alone gives, whatever a call is about."""
_log = logging.getLogger("ferrule.pipeline")
_pack = msgspec.msgpack.Encoder().encode


def clean_segment(call: Call, services: Services, segment: Segment) -> None:
    """Take out of a row's body what must not be told. Costs a look at its bytes where there is nothing."""
    foreign: dict[str, Any] = {}
    if segment.notes and not _FOREIGN.isdisjoint(segment.notes):
        foreign = {name: note for name, note in segment.notes.items() if name in _FOREIGN}
    decisions = [each for each in segment.decisions if not _is_ours(each)] if segment.decisions else ()
    if not (decisions or segment.mutations or foreign):
        return
    if not _may_hold(call, services, (decisions, segment.mutations, foreign)):
        return
    try:
        segment.decisions = tuple(_decision(call, services, each) for each in segment.decisions)
        segment.mutations = tuple(_mutation(call, services, each) for each in segment.mutations)
        segment.notes = {**segment.notes, **without_secrets(call, services, foreign)}
    except Exception:  # the row has to be written, and nobody knows what is in it
        _log.exception("a row of %s is written without reasons", call.invocation_id)
        _withhold(segment)


def clean_ruling(call: Call, services: Services, ruling: Ruling) -> Ruling:
    """A ruling whose reasons have no secret in them."""
    reasons = tuple(note.reason for note in ruling.classifiers)
    shadow = ruling.shadow.message if ruling.shadow is not None else ""
    words = (ruling.message, ruling.suggested_updates, ruling.blocked_path, reasons, shadow)
    clean = without_secrets(call, services, words)
    if clean is words:
        return ruling
    message, updates, path, reasons, shadow = clean
    return replace(
        ruling,
        message=message,
        suggested_updates=updates,
        blocked_path=path,
        classifiers=tuple(replace(note, reason=each) for note, each in zip(ruling.classifiers, reasons, strict=True)),
        shadow=None if ruling.shadow is None else replace(ruling.shadow, message=shadow),
    )


def _is_ours(decision: Decision) -> bool:
    """True when nobody but the policy had a word in a decision, so that it says the same of every call."""
    ruling = decision.ruling
    has_more = ruling.suggested_updates or ruling.blocked_path or ruling.classifiers or ruling.shadow
    return ruling.reason_type in _OURS and decision.feedback is None and not has_more


def _withhold(segment: Segment) -> None:
    segment.decisions = tuple(
        replace(each, feedback=None, ruling=Ruling(each.ruling.behavior, REDACTED, each.ruling.reason_type))
        for each in segment.decisions
    )
    segment.mutations = tuple(replace(each, changed_fields=(REDACTED,), reason="") for each in segment.mutations)
    segment.notes = {name: note for name, note in segment.notes.items() if name not in _FOREIGN}


def _may_hold(call: Call, services: Services, told: Any) -> bool:
    redactor = services.redactor
    if secrets_of(call):
        return True
    try:
        return redactor is not None and not redactor.is_idle and redactor.may_hold(_pack(told))
    except (TypeError, ValueError, OverflowError):  # whatever the ledger makes of it, it is looked at
        return True


def _decision(call: Call, services: Services, decision: Decision) -> Decision:
    ruling, feedback = clean_ruling(call, services, decision.ruling), without_secrets(call, services, decision.feedback)
    is_same = ruling is decision.ruling and feedback is decision.feedback
    return decision if is_same else replace(decision, ruling=ruling, feedback=feedback)


def _mutation(call: Call, services: Services, mutation: Mutation) -> Mutation:
    fields, reason = without_secrets(call, services, (mutation.changed_fields, mutation.reason))
    return replace(mutation, changed_fields=tuple(fields), reason=reason)
