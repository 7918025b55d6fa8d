"""Makes the `data` of a call's events.

Level `standard` names tools, people, rules and outcomes, never an argument, a result, or free text that may quote
one. Level `full` adds them as the ledger has them: sensitive members are masked before anything is recorded (AT-271,
AML-107).
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from ferrule.model.approval import ApprovalRequest
from ferrule.model.decision import Decision
from ferrule.model.failure import ToolError
from ferrule.model.journal import Header, HookRun, Mutation, Payload, ResultPayload, Segment
from ferrule.model.retry import attempts_in
from ferrule.model.timestamps import iso, milliseconds
from ferrule.model.value import JsonObject, json_or_text

Level = Literal["none", "standard", "full"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""From the least detail to the most."""

_PLANNED = (
    "tool_name", "tool_version", "tool_digest", "namespace", "surface_id", "catalog_digest", "policy_digest",
    "principal", "agent", "channel", "tenant", "run_id", "dialect", "lifecycle", "external_mappings",
)  # fmt: skip
_NOTED = ("native_call_id", "retry_of", "trace_id", "selection_ref", "instance")
_WORDS_OF_PEOPLE = ("accept_feedback", "blocked_path", "suggested_updates")
_SAID = frozenset(
    {
        "progress_id", "invocation_id", "result_id", "status", "timestamp", "task_id", "hook_id", "partial_result_refs",
        "by", "cause", "abort_reason", "why", "state", "error_class", "error_code",
    }
)  # fmt: skip
"""The members of progress, cancel requests and late results at every level, besides numbers."""
_decode_result = msgspec.msgpack.Decoder(ResultPayload).decode


def describe_plan(header: Header, segment: Segment, payload: Payload | None) -> JsonObject:
    """Describes the planned call and its caller."""
    data = {name: msgspec.to_builtins(value) for name in _PLANNED if (value := getattr(header, name))}
    data.update((name, segment.notes[name]) for name in _NOTED if segment.notes.get(name))
    if payload is not None and payload.model_input is not None:
        data["arguments"] = json_or_text(payload.model_input)
    return data


def describe_tool(header: Header) -> JsonObject:
    """Describes the selected tool."""
    return {"tool_version": header.tool_version, "tool_digest": header.tool_digest, "surface_id": header.surface_id}


def describe_start(payload: Payload | None) -> JsonObject:
    """Describes the input it runs with."""
    arguments = None if payload is None else find_final_input(payload)
    return {} if arguments is None else {"arguments": json_or_text(arguments)}


def describe_mutation(mutation: Mutation, level: Level) -> JsonObject:
    """Describes the changed fields and who changed them."""
    data: JsonObject = {
        "source_type": mutation.source_type,
        "source_ref": mutation.source_ref,
        "changed_fields": list(mutation.changed_fields),
        "from_input": mutation.from_input,
        "to_input": mutation.to_input,
    }
    return data | ({"reason": mutation.reason} if level == "full" and mutation.reason else {})


def describe_hook(run: HookRun, level: Level, *, has_ended: bool) -> JsonObject:
    """Describes the hook and the kinds of its outputs; at level `full` also the outcomes of guardrails (AML-107)."""
    data: JsonObject = {"hook_id": run.hook_id, "hook_event": run.hook_event}
    if has_ended:
        data["duration_ms"] = milliseconds(run.ended - run.started)
        data["outputs"] = [kind for output in run.outputs for kind in _list_kinds(output)]
        outcomes = [output["outcome"] for output in run.outputs if "outcome" in output] if level == "full" else []
        data |= {"outcomes": outcomes} if outcomes else {}
    return data


def _list_kinds(output: JsonObject) -> list[str]:
    kind = output.get("type")
    return [kind] if isinstance(kind, str) else sorted(output)


def describe_request(segment: Segment) -> JsonObject:
    """Describes the approvers asked, and the deadline."""
    request, void = segment.request, segment.notes.get("approval_void")
    again = {"asked_again_because": void} if void else {}
    return again if request is None else _encode_request(request) | again


def _encode_request(request: ApprovalRequest) -> JsonObject:
    return {
        "purpose": request.purpose,
        "message": request.message,
        "risk": request.risk,
        "rule_refs": list(request.rule_refs),
        "approvers": list(request.requirement.approvers),
        "people": request.requirement.people,
        "not_requester": request.requirement.not_requester,
        "expires_at": iso(request.expires_at),
    }


def describe_decision(decision: Decision, invocation_id: str, number: int | None, level: Level) -> JsonObject:
    """Describes the decision. `number`: its place among the call's decisions, where that is known."""
    record = decision.to_record(invocation_id, number or 0)
    # The id holds the number: with a wrong one it would be the id of another decision.
    for name in ("schema_version", "invocation_id", *(() if number is not None else ("decision_id",))):
        del record[name]
    if level != "full":
        for name in _WORDS_OF_PEOPLE:
            record.pop(name, None)
        if "classifiers" in record:
            record["classifiers"] = [{**note, "reason": ""} for note in record["classifiers"]]
    return record


def describe_result(invocation_id: str, segment: Segment, payload: Payload | None, level: Level) -> JsonObject:
    """Describes the result; at level `full` with its content, and the attempts that failed before the last one
    (AML-107)."""
    data: JsonObject = {
        "result_id": make_result_id(invocation_id),
        "status": segment.status,
        "is_error": segment.error is not None,
    }
    if segment.error is not None:
        data["error"] = describe_error(segment.error, level)
    if level == "full" and segment.notes.get("attempts"):
        data["attempts"] = [attempt.to_record() for attempt in attempts_in(segment.notes)]
    if payload is not None and payload.result is not None:
        data |= _decode_content(payload.result)
    return data


def _decode_content(result: bytes) -> JsonObject:
    found = _decode_result(result)
    data: JsonObject = {"content": list(found.content)}
    if found.structured_content is not None:
        data["structured_content"] = found.structured_content
    return data


def describe_error(found: ToolError, level: Level) -> JsonObject:
    """Describes the error. Its message may quote an argument, so only level `full` has it."""
    record: JsonObject = msgspec.to_builtins(found)
    if level != "full":
        del record["message"]
    return {name: value for name, value in record.items() if value not in (None, (), [])}


def describe_event(data: JsonObject, level: Level) -> JsonObject:
    """Describes progress of a tool or a caller while the call ran. Their words may quote anything; numbers and our
    names do not."""
    return {
        name: value
        for name, value in data.items()
        if name != "transitions"  # reserved for us: a replay of events relies on it
        and (level == "full" or name in _SAID or isinstance(value, int | float))
    }


def describe_news(event: str, data: JsonObject, payload: Payload | None, level: Level) -> JsonObject:
    """Describes news of a call; adds the content of a late result, where the level allows it."""
    said = describe_event(data, level)
    if event == "tool.invocation.late_result" and payload is not None and payload.result is not None:
        said |= _decode_content(payload.result)
    return said


def describe_end(header: Header, segment: Segment, invocation_id: str, state: str, at: int) -> JsonObject:
    """Describes how the call ended, in one line: enough for a log."""
    data: JsonObject = {
        "status": state,
        "result_id": make_result_id(invocation_id),
        "result_status": segment.status,
        "duration_ms": milliseconds(at),
        "principal": header.principal,
        "agent": header.agent,
    }
    if segment.error is not None:
        data["error_class"] = segment.error.error_class
        data["error_code"] = segment.error.error_code
    if segment.notes.get("abort_reason"):
        data["abort_reason"] = segment.notes["abort_reason"]
    return {name: value for name, value in data.items() if value is not None}


def make_result_id(invocation_id: str) -> str:
    """Returns the result's id, which follows from the invocation's: one result per invocation."""
    return invocation_id.replace("inv_", "res_", 1)


def find_final_input(payload: Payload) -> bytes | None:
    """Finds the latest input a payload has; None in a payload means "as the one before"."""
    inputs = (payload.call_input, payload.permission_input, payload.observable_input, payload.model_input)
    return next((found for found in inputs if found is not None), None)
