"""The ledger rows of a call: written when it starts, waits and ends, without secrets (AT-84, AT-271).

Inputs and results are redacted where they are made. This module redacts everything else that came from outside:
reasons, field names and notes of hooks, classifiers, approvers, tools and callers. Our own words (behaviors, states,
payload addresses) are left alone. The store's writer encodes the rows, not the caller.
"""

from __future__ import annotations

import logging

import msgspec
from msgspec.structs import replace

from ferrule.model.decision import Decision, Ruling
from ferrule.model.journal import Entry, Kind, Mark, Mutation, Payload, Segment
from ferrule.model.lifecycle import PHASES
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import NO_OPTIONS, NO_STATE, OWN_NOTES, Call, Park
from ferrule.runtime.pipeline.inputs import build_input_payload, seal_input
from ferrule.runtime.pipeline.redaction import list_secrets, redact_secrets
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.redaction.sensitive_input import REDACTED

_FOREIGN_NOTES = frozenset(
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
"""Notes that may contain text from outside."""
_POLICY_REASONS = frozenset({"rule", "mode", "policy"})
"""Reason types that come from the policy alone, independent of the call."""
_log = logging.getLogger("ferrule.pipeline")
_pack = msgspec.msgpack.Encoder().encode


def redact_segment(call: Call, services: Services, segment: Segment) -> None:
    """Redacts the body of a row in place. Scans its bytes first, so a clean row costs little."""
    foreign: JsonObject = {}
    if segment.notes and not _FOREIGN_NOTES.isdisjoint(segment.notes):
        foreign = {name: note for name, note in segment.notes.items() if name in _FOREIGN_NOTES}
    decisions = [each for each in segment.decisions if not _is_policy_alone(each)] if segment.decisions else ()
    if not (decisions or segment.mutations or foreign):
        return
    if not _may_hold_secret(call, services, (decisions, segment.mutations, foreign)):
        return
    try:
        segment.decisions = tuple(_redact_decision(call, services, each) for each in segment.decisions)
        segment.mutations = tuple(_redact_mutation(call, services, each) for each in segment.mutations)
        segment.notes = {**segment.notes, **redact_secrets(call, services, foreign)}
    except Exception:  # the row must be written, and its reasons cannot be trusted to be clean
        _log.exception("could not redact a row of %s; writing it without reasons", call.invocation_id)
        _withhold(segment)


def redact_ruling(call: Call, services: Services, ruling: Ruling) -> Ruling:
    """Returns a ruling whose reasons contain no secret."""
    reasons = tuple(note.reason for note in ruling.classifiers)
    shadow = ruling.shadow.message if ruling.shadow is not None else ""
    words = (ruling.message, ruling.suggested_updates, ruling.blocked_path, reasons, shadow)
    clean = redact_secrets(call, services, words)
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


def _is_policy_alone(decision: Decision) -> bool:
    """Returns True when a decision comes from the policy alone, so that it reads the same for every call."""
    ruling = decision.ruling
    has_more = ruling.suggested_updates or ruling.blocked_path or ruling.classifiers or ruling.shadow
    return ruling.reason_type in _POLICY_REASONS and decision.feedback is None and not has_more


def _withhold(segment: Segment) -> None:
    segment.decisions = tuple(
        replace(each, feedback=None, ruling=Ruling(each.ruling.behavior, REDACTED, each.ruling.reason_type))
        for each in segment.decisions
    )
    segment.mutations = tuple(replace(each, changed_fields=(REDACTED,), reason="") for each in segment.mutations)
    segment.notes = {name: note for name, note in segment.notes.items() if name not in _FOREIGN_NOTES}


def _may_hold_secret(call: Call, services: Services, told: object) -> bool:
    redactor = services.redactor
    if list_secrets(call):
        return True
    try:
        return redactor is not None and not redactor.is_idle and redactor.may_hold(_pack(told))
    except (TypeError, ValueError, OverflowError):  # cannot be encoded, so it cannot be ruled out
        return True


def _redact_decision(call: Call, services: Services, decision: Decision) -> Decision:
    ruling, feedback = redact_ruling(call, services, decision.ruling), redact_secrets(call, services, decision.feedback)
    is_same = ruling is decision.ruling and feedback is decision.feedback
    return decision if is_same else replace(decision, ruling=ruling, feedback=feedback)


def _redact_mutation(call: Call, services: Services, mutation: Mutation) -> Mutation:
    fields, reason = redact_secrets(call, services, (mutation.changed_fields, mutation.reason))
    return replace(mutation, changed_fields=tuple(fields), reason=reason)


_EMIT_TERMINAL = PHASES.index("emit_terminal")
_SCHEDULE, _EXECUTE = PHASES.index("schedule"), PHASES.index("execute")


def build_started_row(call: Call, services: Services, *, is_counted: bool, state: str = "running") -> Entry:
    """Builds the row before an action runs; `state` is `queued` while the call waits for its turn."""
    mark = _build_mark(call, state)
    mark.owner = services.store.instance
    if is_counted:
        mark.counted_run = call.session.surface.request.run_id
    return _build_entry(
        "started", call, services.now(), _build_segment(call, services), mark, build_input_payload(call, services)
    )


def build_surfaced_row(call: Call, services: Services) -> Entry:
    """Builds the row of a call that takes long, so that other processes can see and cancel it before it is recorded."""
    is_queued = call.state == "queued"
    _fill_in_skipped(call.phases, _SCHEDULE if is_queued else _EXECUTE)
    entry = build_started_row(call, services, is_counted=False, state="queued" if is_queued else "running")
    call.states, call.phases = [], []  # later events belong to the next row
    return entry


def _fill_in_skipped(phases: list[int], until: int = 0) -> None:
    """Adds the opening phases that the call's plan left out, up to the last that ran or `until`; each ends with the one
    before.
    """
    opening = [code for code in phases if code & 15 <= _EXECUTE]
    last = max(opening[-1] & 15 if opening else -1, until - 1)
    if len(opening) == last + 1:
        return
    ends = {code & 15: code for code in opening}
    at, filled = 0, []
    for number in range(last + 1):
        at = ends.get(number, at << 4) >> 4
        filled.append(at << 4 | number)
    phases[: len(opening)] = filled


def build_parked_row(call: Call, services: Services, park: Park) -> Entry:
    """Builds the row of a call that waits for a person: everything needed to resume it, in another process too."""
    segment = _build_segment(call, services)
    segment.request = park.request
    segment.context = call.session.surface.request
    if park.waiting is not None:
        state, schema = park.waiting.state, park.waiting.answer_schema
        kept = services.sealing.seal(call.invocation_id, state) if state else NO_STATE  # sealed: it may hold secrets
        segment.notes = {**segment.notes, "waiting": kept}
        if schema:
            segment.notes["answer_schema"] = redact_secrets(call, services, schema)
        if park.waiting.client_requests:
            segment.notes["client_requests"] = redact_secrets(call, services, park.waiting.client_requests)
            segment.notes["client"] = sorted(call.options.client)
    if call.options.handed:  # only names: credentials are never stored, so the resuming caller has to bring them
        segment.notes = {**segment.notes, "handed": sorted(call.options.handed)}
    mark = _build_mark(call, call.state)
    mark.expires_at = park.request.expires_at
    payload = seal_input(call, services, build_input_payload(call, services))
    return _build_entry("parked", call, services.now(), segment, mark, payload)


def build_last_row(call: Call, services: Services) -> Entry:
    """Builds the row of a call that has ended, which closes it in the ledger's tables."""
    call.phases.append((call.tick() - call.origin) << 4 | _EMIT_TERMINAL)
    ending, notes, recorded = call.ending, call.notes, call.recorded
    result = ending.result or ending.require_result()
    if (
        ending.is_plain_result
        and recorded is None
        and call.key is None
        and not call.judgement.decisions
        and (not notes or notes is ending.clean_notes or notes.keys() <= OWN_NOTES)
    ):  # the common case: times, hooks, inputs and result are all there is
        header, tool_id = call.prepared.header, call.prepared.tool_id
        plain = Segment(header, call.created_at, call.phases, call.states, (), (), call.judgement.hooks, result.status)
        if notes:
            plain.notes = notes
        return Entry("call", call.invocation_id, result.created_at, tool_id, call.state, plain, ending.payload)
    segment = _build_segment(call, services)
    segment.status = result.status
    segment.error = result.error
    if recorded is None:
        mark = _build_mark(call, "") if call.key is not None else None
        return _build_entry("call", call, result.created_at, segment, mark, ending.payload)
    return _build_entry("ended", call, result.created_at, segment, _build_mark(call, ""), ending.payload)


def build_unknown_row(call: Call, services: Services, park: Park) -> Entry:
    """Builds the row of a call whose outcome a crash left unknown: a person has to settle it."""
    segment = _build_segment(call, services)
    segment.request = park.request
    mark = _build_mark(call, call.state)
    return _build_entry("unknown", call, services.now(), segment, mark, None)


def _build_segment(call: Call, services: Services) -> Segment:
    inputs = call.inputs
    judgement = call.judgement
    if call.recorded is None:  # only the first row: a call with earlier rows left no phase out
        _fill_in_skipped(call.phases)
    segment = Segment(call.prepared.header, call.created_at, call.phases, call.states, judgement.decisions)
    if inputs.mutations and inputs.new_mutations:
        segment.mutations = inputs.mutations[-inputs.new_mutations :]
    if judgement.hooks:
        segment.hooks = judgement.hooks
    if judgement.answer is not None:
        segment.answer = judgement.answer
    if call.options is NO_OPTIONS:
        segment.notes = call.notes
    elif call.notes or call.recorded is None:
        segment.notes = _collect_notes(call)
    if segment.decisions or segment.mutations or (segment.notes and segment.notes is not call.ending.clean_notes):
        redact_segment(call, services, segment)
    return segment


def _collect_notes(call: Call) -> JsonObject:
    options = call.options
    said = {"native_call_id": options.native_call_id, "retry_of": options.retry_of, "trace_id": options.trace_id}
    notes = {key: value for key, value in said.items() if value is not None}
    return {**notes, **call.notes}


def _build_mark(call: Call, state: str) -> Mark:
    request = call.session.surface.request
    mark = Mark(state, "", None, call.prepared.tool_id, request.principal, request.agent, request.tenant)
    if call.key is not None and call.recorded is None:
        mark.key, mark.input_digest = call.key
    return mark


def _build_entry(
    kind: Kind, call: Call, at: int, segment: Segment, mark: Mark | None, payload: Payload | None
) -> Entry:
    return Entry(kind, call.invocation_id, at, call.prepared.tool_id, call.state, segment, payload, mark)
