"""Makes the standard's `tool_invocation` record from a call's story (AT-90 to AT-103)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ferrule.model.decision import decision_id
from ferrule.model.journal import Header, StoredEntry
from ferrule.model.lifecycle import TERMINAL
from ferrule.model.result import SCHEMA_VERSION
from ferrule.model.scheduling import DEFAULT_POLICY
from ferrule.model.story import INPUTS, Move, Story
from ferrule.model.timestamps import iso
from ferrule.model.tool import FACT_NAMES
from ferrule.model.value import JsonObject

_NOTED = ("native_call_id", "retry_of", "abort_reason", "batch")


def make_invocation_record(story: Story) -> JsonObject:
    """Makes the record of one call: also of an open one, and of one whose payload was erased."""
    header, news = story.header, story.news
    transitions = [_make_transition(move) for move in story.moves]
    record: JsonObject = {
        "schema_version": SCHEMA_VERSION,
        "invocation_id": story.invocation_id,
        "tool_id": header.tool_id,
        "status": story.status,
        "created_at": iso(story.created_at),
    }
    record.update(_find_times(transitions))
    record.update(_list_inputs(story))
    optional = {
        "artifact_refs": _list_artifacts(story),
        **_list_references(story),
        "status_transitions": transitions,
        **_pick_notes(story),
        "scheduler": _describe_scheduling(story),
        "external_mappings": [
            *header.external_mappings,
            *(ref for segment in story.segments for ref in segment.notes.get("native_refs", ())),
        ],
        "progress": list(story.progress),
        "cancellation": _describe_cancellation(story),
        "late_results": [late.to_record() for late in story.late_results],
    }
    if news:
        tasks = _remove_duplicates(f"task:{said['task_id']}" for said in optional["progress"] if said.get("task_id"))
        optional["runtime_refs"] = [*optional["runtime_refs"], *tasks]
        optional["evidence_refs"] = [_format_evidence(row) for row in story.all_rows]
    record.update((name, value) for name, value in optional.items() if value)
    return record


def _make_transition(move: Move) -> JsonObject:
    said = {"from": move.before, "to": move.state, "at": iso(move.at)}
    return {**said, "reason": move.reason} if move.reason else said


def _find_times(transitions: Sequence[JsonObject]) -> dict[str, str]:
    """Finds `started_at` for a call that began to run, and `ended_at` for one that ended (AT-99)."""
    times = {}
    started = next((move["at"] for move in transitions if move["to"] == "running"), None)
    if started is not None:
        times["started_at"] = started
    if transitions and transitions[-1]["to"] in TERMINAL:
        times["ended_at"] = transitions[-1]["at"]
    return times


def _list_inputs(story: Story) -> JsonObject:
    """Lists the latest four inputs; a reference replaces an erased one (AT-101)."""
    found = story.input_values
    erased = [row for row in story.rows if row.is_erased and row.payload is None]
    gone = {f"{name}_ref": f"ledger:{row.seq}:erased" for row in erased for name in INPUTS if name not in found}
    return {**found, **gone}


def _list_artifacts(story: Story) -> list[JsonObject]:
    """Lists the call's lasting artifacts, as its result names them (AT-250, AT-251)."""
    found = () if story.result is None else story.result.rest.get("artifact_refs", ())
    return [ref for ref in found if isinstance(ref, dict)]


def _describe_cancellation(story: Story) -> JsonObject | None:
    requests = [one.to_record() for one in story.cancellations]
    return {**requests[0], "requests": requests} if requests else None


def _list_references(story: Story) -> JsonObject:
    header, call = story.header, story.invocation_id
    asked = [row.seq for row, segment in zip(story.rows, story.segments, strict=True) if segment.request is not None]
    policies = [header.policy_digest, *(ref for decision in story.decisions for ref in decision.ruling.policy_refs)]
    return {
        "surface_id": header.surface_id,
        "actor_ref": f"principal:{header.principal}",
        "runtime_refs": _list_runtime_refs(header),
        "policy_refs": _remove_duplicates(policies),
        "permission_decision_refs": [decision_id(call, number) for number in range(len(story.decisions))],
        "hook_refs": _remove_duplicates(run.hook_id for run in story.hooks),
        "evidence_refs": [_format_evidence(row) for row in story.rows],
        "approval_request_ref": f"ledger:{asked[-1]}" if asked else None,
        "result_ref": call.replace("inv_", "res_", 1) if story.result_status else None,
    }


def _format_evidence(row: StoredEntry) -> str:
    return f"ledger:{row.seq}:{row.hash.hex()}"


def _list_runtime_refs(header: Header) -> list[str]:
    named = {
        "agent": header.agent,
        "channel": header.channel,
        "tenant": header.tenant,
        "run": header.run_id,
        "catalog": header.catalog_digest,
        "tool": header.tool_digest,
    }
    return [f"{kind}:{value}" for kind, value in named.items() if value]


def _pick_notes(story: Story) -> JsonObject:
    return {name: story.notes[name] for name in _NOTED if name in story.notes}


def _describe_scheduling(story: Story) -> JsonObject:
    """Describes the seven scheduling facts of a call (AT-159): its tool's, and those worked out from its input."""
    header = story.header
    facts: JsonObject = dict(zip(FACT_NAMES, header.facts, strict=False))
    exclusive, policy, locks = header.scheduling or (False, DEFAULT_POLICY.context_modifier_policy, ())
    if facts:
        facts["requires_exclusive_context"] = exclusive
        facts["resource_locks"] = [{"key": key, "mode": "shared" if shared else "exclusive"} for key, shared in locks]
    for segment in story.segments:
        said = segment.notes.get("scheduler", {})
        facts.update(said.get("facts", said))
        policy = segment.notes.get("context_modifiers", {}).get("policy", policy)
    if facts:
        facts["context_modifier_policy"] = policy
    return facts


def _remove_duplicates(values: Iterable[str]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]
