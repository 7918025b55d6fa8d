"""Parts of a call's story as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.history.details import milliseconds
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.journal import Header, HookRun, Mutation
from ferrule.model.retry import Attempt
from ferrule.model.timestamps import iso


def who_and_what(header: Header) -> dict[str, Any]:
    """For whom which tool was called, through what."""
    names = (
        "tool_id", "tool_name", "tool_version", "tool_digest", "namespace", "dialect", "is_read_only", "principal",
        "agent", "channel", "tenant", "run_id", "surface_id", "catalog_digest", "policy_digest",
    )  # fmt: skip
    return {name: getattr(header, name) for name in names}


def mutation_record(mutation: Mutation) -> dict[str, Any]:
    """A change of the input."""
    record = msgspec.structs.asdict(mutation)
    at = record.pop("at")
    return {**record, "changed_fields": list(mutation.changed_fields), "after_ms": milliseconds(at)}


def attempt_record(attempt: Attempt) -> dict[str, Any]:
    """An attempt that failed and was followed by another."""
    record = attempt.to_record()
    started, ended = record.pop("started"), record.pop("ended")
    return {**record, "after_ms": milliseconds(started), "duration_ms": milliseconds(ended - started)}


def hook_record(run: HookRun, invocation_id: str, tool_id: str, created_at: int) -> dict[str, Any]:
    """A run of a hook."""
    return {
        **run.to_record(invocation_id, tool_id, created_at),
        "after_ms": milliseconds(run.started),
        "duration_ms": milliseconds(run.ended - run.started),
    }


def request_record(request: ApprovalRequest) -> dict[str, Any]:
    """A question to a person."""
    record: dict[str, Any] = msgspec.to_builtins(request)
    for name in ("binding", "seal"):  # proofs for the inbox, of no use to a reader
        record.pop(name, None)
    return {**record, "requested_at": iso(request.requested_at), "expires_at": iso(request.expires_at)}


def answer_record(answer: Answer) -> dict[str, Any]:
    """A person's answer."""
    return {
        "verdict": answer.verdict,
        "by": answer.by,
        "channel": answer.channel,
        "answered_at": iso(answer.answered_at),
        "reason": answer.reason,
    }
