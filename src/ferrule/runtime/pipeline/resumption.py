"""Rebuilds a call from its rows: to resume it after an answer, or to end it without running on.

Nothing of a waiting call is kept in memory, so every process, restart or machine can resume it. `app/recorded_calls`
calls this module, which reads rows and writes none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.journal import (
    Header,
    Mutation,
    OpenCall,
    Payload,
    Segment,
    StoredEntry,
    header_of,
    state_times,
)
from ferrule.model.lifecycle import State
from ferrule.model.surface import Surface, SurfaceRequest
from ferrule.model.value import JsonObject, JsonValue
from ferrule.runtime.pipeline.call import NO_STATE, Call, Recorded, RunOptions
from ferrule.runtime.pipeline.call_parts import CallInputs, CallJudgement
from ferrule.runtime.pipeline.inputs import list_changed_fields
from ferrule.runtime.pipeline.prepared import Prepared
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.session import Session
from ferrule.runtime.pipeline.tool_facts import ToolTraits
from ferrule.runtime.redaction.sensitive_input import Mask


class PastCall(msgspec.Struct, frozen=True, kw_only=True):
    """The history of a call, read from its rows."""

    header: Header
    raw_header: msgspec.Raw
    created_at: int
    state: State
    offset: int
    """Nanoseconds between planning and the last recorded event."""
    context: SurfaceRequest
    model_input: bytes
    observable_input: bytes | None
    """Masked, as the question showed it."""
    call_input: bytes | None
    mutations: tuple[Mutation, ...]
    request: ApprovalRequest | None
    answers: tuple[Answer, ...]
    notes: JsonObject
    decisions: int
    """The number of recorded decisions."""
    hook_permission: str = ""
    """Set when a hook wanted a person to be asked: no rule would ask again."""
    hook_context: tuple[JsonObject, ...] = ()
    """The context that hooks added for the model before the call waited."""


def read_past(rows: Sequence[StoredEntry], services: Services, *, opens_inputs: bool = True) -> PastCall:
    """Reads the history of a call. Raises ValueError when its stored input cannot be opened.

    `opens_inputs`: False for a call that is only ended, so that one with a tampered input can be ended too.
    """
    segments = [row.segment() for row in rows]
    first = segments[0]
    header = header_of(first)
    states = [pair for segment in segments for pair in state_times(segment)]
    parked = max((number for number, segment in enumerate(segments) if segment.request is not None), default=-1)
    model_input, call_input = _read_inputs(rows, services) if opens_inputs else (b"null", b"null")
    # Answers to an earlier question do not count for the last one.
    after = parked + 1 if opens_inputs else len(rows)
    return PastCall(
        header=header,
        raw_header=msgspec.Raw(bytes(first.header)),
        created_at=first.created_at,
        state=states[-1][0] if states else "planned",
        offset=states[-1][1] if states else 0,
        context=next((s.context for s in reversed(segments) if s.context is not None), None) or _build_request(header),
        model_input=model_input,
        observable_input=_find_observable(rows),
        call_input=call_input if call_input != model_input else None,
        mutations=tuple(mutation for segment in segments for mutation in segment.mutations),
        request=segments[parked].request if parked >= 0 else None,
        answers=_read_answers(rows[after:], segments[after:], services),
        notes={key: value for segment in segments for key, value in segment.notes.items()},
        decisions=sum(len(segment.decisions) for segment in segments),
        hook_permission=_read_hook_permission(segments[parked]) if parked >= 0 else "",
        hook_context=tuple(_iter_hook_context(segments)),
    )


def revive_call(call_id: str, past: PastCall, open_call: OpenCall, session: Session, services: Services) -> Call:
    """Rebuilds a call to resume it through its current surface. Raises ValueError for a state that cannot be opened."""
    call = _build_call(call_id, past, open_call, session, services)
    if call.recorded is not None and call.recorded.waiting not in (b"", NO_STATE):
        call.recorded.waiting = services.sealing.open(call_id, call.recorded.waiting)
    mask = Mask.of_schema(past.notes.get("answer_schema", {}))
    if mask is not None and call.recorded is not None:
        call.secrets |= mask.list_values(call.recorded.received)
    is_input = (
        past.request is not None and past.request.purpose == "input"
    )  # then the answer goes to the tool and edits no input
    for edit in () if is_input else past.answers:
        if edit.edited_input is None:
            continue
        before, after = msgspec.json.decode(call.inputs.current), msgspec.json.decode(edit.edited_input)
        fields = list_changed_fields(before, after)
        mutation = Mutation("permission_prompt", edit.by, fields, call.offset(), edit.reason or "", "permission_input")
        call.inputs.mutate(mutation, after, edit.edited_input)
    return call


def revive_to_end(call_id: str, past: PastCall, open_call: OpenCall, services: Services) -> Call:
    """Rebuilds a call only to end it: its tool may be gone, so its first row stands in for it."""
    surface = Surface(
        surface_id=past.header.surface_id, request=past.context, created_at=past.created_at, entries={}, names={}
    )
    call = _build_call(call_id, past, open_call, Session(surface, None, lambda tool: None, 0), services)
    traits = ToolTraits(is_read_only=past.header.is_read_only, is_repeatable=past.header.is_read_only)
    call.prepared = Prepared(
        entry=None,
        header=past.raw_header,
        tool_id=past.header.tool_id,
        traits=traits,
        is_repeatable=traits.is_repeatable,
    )
    return call


def _build_call(call_id: str, past: PastCall, open_call: OpenCall, session: Session, services: Services) -> Call:
    # Offsets have to grow even when the clock was set back while the call waited.
    since = max((services.now() - past.created_at) * 1000, past.offset + 1)
    waiting = past.notes.get("waiting", b"")
    return Call(
        invocation_id=call_id,
        tool_name=past.header.tool_name,
        session=session,
        inputs=CallInputs(
            past.model_input,
            observable_input=past.observable_input,
            call_input=past.call_input,
            mutations=past.mutations,
        ),
        created_at=past.created_at,
        origin=services.tick() - since,
        tick=services.tick,
        options=RunOptions(
            native_call_id=past.notes.get("native_call_id"),
            retry_of=past.notes.get("retry_of"),
            client=frozenset(past.notes.get("client", ())),
        ),
        state=past.state,
        states=[],
        phases=[],
        judgement=CallJudgement(hook_permission=past.hook_permission, hook_context=past.hook_context),
        notes={"offsets": {"decisions": past.decisions}} if past.decisions else {},
        recorded=Recorded(
            open_call.seq, open_call.state, past.request, past.answers, waiting, _decode_reply(past), past.call_input
        ),
    )


def _decode_reply(past: PastCall) -> JsonValue:
    if past.request is None or past.request.purpose != "input" or not past.answers:
        return None
    given = past.answers[-1].edited_input
    return None if given is None else msgspec.json.decode(given)


def _read_inputs(rows: Sequence[StoredEntry], services: Services) -> tuple[bytes, bytes]:
    """Reads the model's input and the current input; unseals them where they contain something sensitive."""
    model_input = call_input = b"null"
    for row in rows:
        payload = row.inputs()
        if payload is None or row.kind not in ("parked", "started", "call"):
            continue
        if payload.sealed_input is not None:
            model_input, call_input = _unseal_inputs(row.call, payload.sealed_input, services)
        elif payload.model_input is not None:
            model_input = payload.model_input
            call_input = find_last_input(payload) or model_input
    return model_input, call_input


def _read_hook_permission(asking: Segment) -> str:
    ruling = asking.decisions[-1].ruling if asking.decisions else None
    return f"ask:{ruling.message}" if ruling is not None and ruling.reason_type == "hook" else ""


def _iter_hook_context(segments: Sequence[Segment]) -> Iterator[JsonObject]:
    for run in (run for segment in segments for run in segment.hooks):
        for output in run.outputs:
            if "additional_context" in output:
                yield {**output["additional_context"], "origin": {"hook_id": run.hook_id}}


def _find_observable(rows: Sequence[StoredEntry]) -> bytes | None:
    payloads = [payload for row in rows if (payload := row.inputs()) is not None and payload.model_input is not None]
    return payloads[-1].observable_input if payloads else None


def find_last_input(payload: Payload) -> bytes | None:
    """Returns the last of the four inputs in a payload."""
    return payload.call_input or payload.permission_input or payload.observable_input or payload.model_input


def _unseal_inputs(call_id: str, sealed: bytes, services: Services) -> tuple[bytes, bytes]:
    pair: tuple[bytes, bytes] = msgspec.msgpack.decode(services.sealing.open(call_id, sealed), type=tuple[bytes, bytes])
    return pair


def _read_answers(rows: Sequence[StoredEntry], segments: Sequence[Segment], services: Services) -> tuple[Answer, ...]:
    """Reads the answers since the question was asked, each with the input it edited."""
    answers = []
    for row, segment in zip(rows, segments, strict=True):
        if segment.answer is None:
            continue
        payload = row.inputs()
        edited = payload.text if payload is not None else None
        if payload is not None and payload.sealed_input is not None:
            edited = _unseal_inputs(row.call, payload.sealed_input, services)[1]
        answers.append(msgspec.structs.replace(segment.answer, edited_input=edited))
    return tuple(answers)


def _build_request(header: Header) -> SurfaceRequest:
    return SurfaceRequest(
        principal=header.principal,
        channel=header.channel,
        agent=header.agent,
        tenant=header.tenant,
        run_id=header.run_id,
    )
