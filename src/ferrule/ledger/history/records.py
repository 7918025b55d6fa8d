"""Parts of a call's story as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ferrule.ledger.history.details import milliseconds
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.journal import Header, HookRun, Mutation
from ferrule.model.result import SCHEMA_VERSION
from ferrule.model.retry import Attempt
from ferrule.model.timestamps import iso


def who_and_what(header: Header) -> dict[str, Any]:
    """For whom which tool was called, through what."""
    names = (
        "tool_id", "tool_name", "tool_version", "tool_digest", "namespace", "dialect", "is_read_only", "principal",
        "agent", "channel", "tenant", "run_id", "surface_id", "catalog_digest", "policy_digest",
    )  # fmt: skip
    return {name: getattr(header, name) for name in names}


def mutation_records(mutations: Sequence[Mutation], invocation_id: str, created_at: int) -> list[dict[str, Any]]:
    """The changes of an input as the standard's records, each referring to what the one before made of it (AT-150, AT-151)."""
    stem, records = invocation_id.replace("inv_", "mut_", 1), []
    names = _inputs_between(mutations)
    for number, mutation in enumerate(mutations):
        record = msgspec.structs.asdict(mutation)
        at = record.pop("at")
        records.append(
            {
                "schema_version": SCHEMA_VERSION,
                "mutation_id": f"{stem}.{number}",
                "invocation_id": invocation_id,
                **record,
                "changed_fields": list(mutation.changed_fields),
                "from_input_ref": f"{invocation_id}/{names[number]}",
                "to_input_ref": f"{invocation_id}/{names[number + 1]}",
                "created_at": iso(created_at + at // 1000),
                "after_ms": milliseconds(at),
            }
        )
    return records


def _inputs_between(mutations: Sequence[Mutation]) -> list[str]:
    """What the input is called before, between and after its changes: what a person was asked about has a name of its own,
    what one hook left to the next has a number."""
    names: list[str] = []
    for number, mutation in enumerate(mutations):
        is_own = number == 0 or (mutation.from_input == "permission_input" and mutation.from_input not in names)
        names.append(mutation.from_input if is_own else f"input.{number}")
    return [*names, "call_input"]


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
