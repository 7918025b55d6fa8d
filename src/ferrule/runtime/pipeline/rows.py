"""A call as ledger rows: what is written when it starts, waits and ends. The writer encodes them, not the caller."""

from __future__ import annotations

from typing import Any

from ferrule.model.journal import Entry, Kind, Mark, Segment
from ferrule.model.lifecycle import PHASES
from ferrule.model.result import Result
from ferrule.runtime.pipeline.call import NO_OPTIONS, NO_STATE, OWN_NOTES, Call, Park
from ferrule.runtime.pipeline.inputs import inputs_of, with_sealed_input
from ferrule.runtime.pipeline.row_redaction import clean_segment
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.untold import without_secrets

_EMIT_TERMINAL = PHASES.index("emit_terminal")
_SCHEDULE, _EXECUTE = PHASES.index("schedule"), PHASES.index("execute")


def started_row(call: Call, services: Services, *, is_counted: bool, state: str = "running") -> Entry:
    """Before an action runs. `state`: `queued` when that is not before its turn."""
    mark = _mark(call, state)
    mark.owner = services.store.instance
    if is_counted:
        mark.counted_run = call.session.surface.request.run_id
    return _entry("started", call, services.now(), _segment(call, services), mark, inputs_of(call, services))


def surfaced_row(call: Call, services: Services) -> Entry:
    """While a call runs that would be recorded behind its answer, or waits for its turn, and takes long: so that others can see
    and cancel it."""
    is_queued = call.state == "queued"
    _with_passed_over(call.phases, _SCHEDULE if is_queued else _EXECUTE)
    entry = started_row(call, services, is_counted=False, state="queued" if is_queued else "running")
    call.states, call.phases = [], []  # what happens from now on belongs to the next row
    return entry


def _with_passed_over(phases: list[int], until: int) -> None:
    """Put in the phases before one that had nothing to do: they end with the one before."""
    last = phases[-1] if phases else 0
    phases += [last >> 4 << 4 | number for number in range((last & 15) + 1, until)]


def parked_row(call: Call, services: Services, park: Park) -> Entry:
    """When a call waits for somebody: everything needed to go on, in another process too."""
    segment = _segment(call, services)
    segment.request = park.request
    segment.context = call.session.surface.request
    if park.waiting is not None:
        state, schema = park.waiting.state, park.waiting.answer_schema
        kept = services.sealing.seal(call.invocation_id, state) if state else NO_STATE  # it may hold anything
        segment.notes = {**segment.notes, "waiting": kept}
        if schema:
            segment.notes["answer_schema"] = without_secrets(call, services, schema)
        if park.waiting.client_requests:
            segment.notes["client_requests"] = without_secrets(call, services, park.waiting.client_requests)
            segment.notes["client"] = sorted(call.options.client)
    if call.options.handed:  # their names alone: whoever goes on with it has to bring them
        segment.notes = {**segment.notes, "handed": sorted(call.options.handed)}
    mark = _mark(call, call.state)
    mark.expires_at = park.request.expires_at
    payload = with_sealed_input(call, services, inputs_of(call, services))
    return _entry("parked", call, services.now(), segment, mark, payload)


def last_row(call: Call, services: Services) -> Entry:
    """When a call has ended. It closes the call in the ledger's tables."""
    call.phases.append((call.tick() - call.origin) << 4 | _EMIT_TERMINAL)
    result, prepared = call.result, call.prepared
    assert result is not None
    if (
        call.is_plain_result
        and prepared.is_express
        and call.recorded is None
        and call.key is None
        and not call.decisions
        and (not call.notes or call.notes is call.clean_notes or call.notes.keys() <= OWN_NOTES)
    ):
        return plain_row(call, result)
    segment = _segment(call, services)
    segment.status = result.status
    segment.error = result.error
    if call.recorded is None:
        mark = _mark(call, "") if call.key is not None else None
        return _entry("call", call, result.created_at, segment, mark, call.payload)
    return _entry("ended", call, result.created_at, segment, _mark(call, ""), call.payload)


def plain_row(call: Call, result: Result) -> Entry:
    """The only row of a call about which there is nothing to say beyond its times, its hooks, its inputs and its result."""
    header, tool_id = call.prepared.header, call.prepared.tool_id
    plain = Segment(header, call.created_at, call.phases, call.states, (), (), call.hooks, result.status)
    if call.notes:
        plain.notes = call.notes
    return Entry("call", call.invocation_id, result.created_at, tool_id, call.state, plain, call.payload)


def unknown_row(call: Call, services: Services, park: Park) -> Entry:
    """When a crash left it unknown whether an action happened: it waits for a person to say."""
    segment = _segment(call, services)
    segment.request = park.request
    mark = _mark(call, call.state)
    return _entry("unknown", call, services.now(), segment, mark, None)


def _segment(call: Call, services: Services) -> Segment:
    segment = Segment(call.prepared.header, call.created_at, call.phases, call.states, call.decisions)
    if call.mutations and call.new_mutations:
        segment.mutations = call.mutations[-call.new_mutations :]
    if call.hooks:
        segment.hooks = call.hooks
    if call.answer is not None:
        segment.answer = call.answer
    if call.options is NO_OPTIONS:
        segment.notes = call.notes
    elif call.notes or call.recorded is None:
        segment.notes = _notes(call)
    if segment.decisions or segment.mutations or (segment.notes and segment.notes is not call.clean_notes):
        clean_segment(call, services, segment)
    return segment


def _notes(call: Call) -> dict[str, Any]:
    options = call.options
    said = {"native_call_id": options.native_call_id, "retry_of": options.retry_of, "trace_id": options.trace_id}
    notes = {key: value for key, value in said.items() if value is not None}
    return {**notes, **call.notes}


def _mark(call: Call, state: str) -> Mark:
    request = call.session.surface.request
    mark = Mark(state, "", None, call.prepared.tool_id, request.principal, request.agent, request.tenant)
    if call.key is not None and call.recorded is None:
        mark.key, mark.input_digest = call.key
    return mark


def _entry(kind: Kind, call: Call, at: int, segment: Segment, mark: Mark | None, payload: Any) -> Entry:
    return Entry(kind, call.invocation_id, at, call.prepared.tool_id, call.state, segment, payload, mark)
