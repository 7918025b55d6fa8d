"""The standard's `tool_invocation` record, worked out from a call's ledger rows (AT-90 to AT-103)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ferrule.model.decision import decision_id
from ferrule.model.journal import Header, Payload, ResultPayload, Segment, StoredEntry, header_of, state_times
from ferrule.model.lifecycle import STARTS, TERMINAL, TRANSITIONS, State
from ferrule.model.news import cancellations, facts_of, late_results, progress_records
from ferrule.model.scheduling import DEFAULT_POLICY
from ferrule.model.timestamps import iso
from ferrule.model.tool import FACT_NAMES

SCHEMA_VERSION = "0.2.0"
INPUTS = ("model_input", "observable_input", "permission_input", "call_input")
_FIRST = STARTS | TRANSITIONS["planned"]
_NOTED = ("native_call_id", "retry_of", "abort_reason", "batch")

Transition = dict[str, Any]
_decode_result = msgspec.msgpack.Decoder(ResultPayload).decode


def invocation_record(rows: Sequence[StoredEntry], news: Sequence[StoredEntry] = ()) -> dict[str, Any]:
    """The record of one call, from all its rows in order: of an open call too, and of one whose payload was erased.

    `news`: its `news` rows. Raises ValueError without rows.
    """
    if not rows:
        raise ValueError("a call without rows has no record")
    segments = [row.segment() for row in rows]
    header = header_of(segments[0])
    moves = list(_transitions(segments))
    record: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "invocation_id": rows[0].call,
        "tool_id": header.tool_id,
        "status": moves[-1]["to"] if moves else rows[-1].outcome,
        "created_at": iso(segments[0].created_at),
    }
    record.update(_times(moves))
    record.update(_inputs(rows))
    optional = {
        "artifact_refs": _artifacts(rows),
        **_references(rows, segments, header),
        "status_transitions": moves,
        **_notes(segments),
        **_extras(header, segments),
        **_news(rows[0].call, segments, news, record["status"]),
    }
    if news:
        tasks = _unique(f"task:{said['task_id']}" for said in optional["progress"] if said.get("task_id"))
        optional["runtime_refs"] = [*optional["runtime_refs"], *tasks]
        optional["evidence_refs"] = [_evidence(row) for row in sorted([*rows, *news], key=lambda row: row.seq)]
    record.update((name, value) for name, value in optional.items() if value)
    return record


def _transitions(segments: Sequence[Segment]) -> Iterable[Transition]:
    """Every change of state with its time, which never goes back (AT-97)."""
    before: State | None = None
    latest = segments[0].created_at
    for segment in segments:
        for state, entered in state_times(segment):
            if before is None and state != "planned" and state in _FIRST:
                before = "planned"
                yield {"from": None, "to": "planned", "at": iso(latest)}
            latest = max(latest, segments[0].created_at + entered // 1000)
            move: Transition = {"from": before, "to": state, "at": iso(latest)}
            if reason := _reason(state, segment):
                move["reason"] = reason
            yield move
            before = state


def _reason(state: State, segment: Segment) -> str:
    if state == "awaiting_approval" and segment.request is not None:
        return segment.request.message
    if state == "approved" and segment.answer is not None:
        return f"approved by {segment.answer.by}"
    if state in TERMINAL and segment.error is not None:
        return segment.error.error_code
    return ""


def _times(moves: Sequence[Transition]) -> dict[str, str]:
    """`started_at` only for a call that began to run; `ended_at` for every one that ended (AT-99)."""
    times = {}
    started = next((move["at"] for move in moves if move["to"] == "running"), None)
    if started is not None:
        times["started_at"] = started
    if moves and moves[-1]["to"] in TERMINAL:
        times["ended_at"] = moves[-1]["at"]
    return times


def _inputs(rows: Sequence[StoredEntry]) -> dict[str, Any]:
    """The four inputs as they were last; a reference in the place of one that was erased (AT-101)."""
    found: dict[str, Any] = {}
    for row in rows:
        payload = row.inputs()
        if payload is not None:
            found.update(_given(payload))
        elif row.is_erased:
            found.update((f"{name}_ref", f"ledger:{row.seq}:erased") for name in INPUTS if name not in found)
    return {name: value for name, value in found.items() if name.removesuffix("_ref") not in found or name in INPUTS}


def _given(payload: Payload) -> dict[str, Any]:
    values: dict[str, Any] = {}
    current: bytes | None = None
    for name in INPUTS:
        current = getattr(payload, name) or current
        if current is not None:
            values[name] = _json(current)
    return values


def _artifacts(rows: Sequence[StoredEntry]) -> list[dict[str, Any]]:
    """What the call made that lasts, as its result names it (AT-250, AT-251)."""
    payload = rows[-1].inputs()
    if payload is None or payload.result is None:
        return []
    found = _decode_result(payload.result).rest.get("artifact_refs", ())
    return [ref for ref in found if isinstance(ref, dict)]


def _json(text: bytes) -> Any:
    """What JSON says; the text itself where a caller sent something else, or something nested without end."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text.decode("utf-8", errors="replace")


def _references(rows: Sequence[StoredEntry], segments: Sequence[Segment], header: Header) -> dict[str, Any]:
    decisions = [decision for segment in segments for decision in segment.decisions]
    asked = [row.seq for row, segment in zip(rows, segments, strict=True) if segment.request is not None]
    policies = [header.policy_digest, *(ref for decision in decisions for ref in decision.ruling.policy_refs)]
    return {
        "surface_id": header.surface_id,
        "actor_ref": f"principal:{header.principal}",
        "runtime_refs": _named(header),
        "policy_refs": _unique(policies),
        "permission_decision_refs": [decision_id(rows[0].call, number) for number in range(len(decisions))],
        "hook_refs": _unique(run.hook_id for segment in segments for run in segment.hooks),
        "evidence_refs": [_evidence(row) for row in rows],
        "approval_request_ref": f"ledger:{asked[-1]}" if asked else None,
        "result_ref": rows[0].call.replace("inv_", "res_", 1) if segments[-1].status else None,
    }


def _evidence(row: StoredEntry) -> str:
    return f"ledger:{row.seq}:{row.hash.hex()}"


def _named(header: Header) -> list[str]:
    named = {
        "agent": header.agent,
        "channel": header.channel,
        "tenant": header.tenant,
        "run": header.run_id,
        "catalog": header.catalog_digest,
        "tool": header.tool_digest,
    }
    return [f"{kind}:{value}" for kind, value in named.items() if value]


def _notes(segments: Sequence[Segment]) -> dict[str, Any]:
    notes: dict[str, Any] = {}
    for segment in segments:
        notes.update((name, segment.notes[name]) for name in _NOTED if name in segment.notes)
    return notes


def _news(
    call: str, segments: Sequence[Segment], news: Sequence[StoredEntry], status: str
) -> dict[str, Any]:  # fmt: skip
    facts = facts_of(segments, news)
    ended_at = _ended_at(segments) if status in TERMINAL else None
    requests = [one.to_record() for one in cancellations(facts, status, ended_at)]
    return {
        "progress": progress_records(call, facts),
        "cancellation": {**requests[0], "requests": requests} if requests else None,
        "late_results": [late.to_record() for late in late_results(news)],
    }


def _ended_at(segments: Sequence[Segment]) -> int:
    entered = [at for segment in segments for _, at in state_times(segment)]
    return segments[0].created_at + max(entered, default=0) // 1000


def _extras(header: Header, segments: Sequence[Segment]) -> dict[str, Any]:
    return {
        "scheduler": _scheduler(header, segments),
        "external_mappings": [
            *header.external_mappings,
            *(ref for segment in segments for ref in segment.notes.get("native_refs", ())),
        ],
    }


def _scheduler(header: Header, segments: Sequence[Segment]) -> dict[str, Any]:
    """The seven facts of a call (AT-159): its tool's, and what was worked out from its input."""
    facts: dict[str, Any] = dict(zip(FACT_NAMES, header.facts, strict=False))
    exclusive, policy, locks = header.scheduling or (False, DEFAULT_POLICY.context_modifier_policy, ())
    if facts:
        facts["requires_exclusive_context"] = exclusive
        facts["resource_locks"] = [{"key": key, "mode": "shared" if shared else "exclusive"} for key, shared in locks]
    for segment in segments:
        said = segment.notes.get("scheduler", {})
        facts.update(said.get("facts", said))
        policy = segment.notes.get("context_modifiers", {}).get("policy", policy)
    if facts:
        facts["context_modifier_policy"] = policy
    return facts


def _unique(values: Iterable[str]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]
