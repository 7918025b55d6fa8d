"""Progress of a call: ordered records with numbers that are never used twice (AT-197 to AT-204)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ferrule.model.misfits import describe_complaint
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject

ProgressStatus = Literal[
    "queued",
    "started",
    "running",
    "waiting_for_permission",
    "waiting_for_input",
    "backgrounded",
    "partial_result",
    "completed",
    "failed",
    "canceled",
]


class Progress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The progress of a call at one moment."""

    invocation_id: str
    sequence: int
    """Counts from 1 within its call, without gaps, over restarts too."""
    status: ProgressStatus
    timestamp: int
    """Microseconds since 1970."""
    message: str = ""
    percent: float | None = None
    """0 to 100."""
    current_step: str | None = None
    total_steps: int | None = None
    elapsed_ms: int | None = None
    bytes_read: int | None = None
    bytes_written: int | None = None
    line_count: int | None = None
    task_id: str | None = None
    partial_result_refs: tuple[str, ...] = ()
    artifact_refs: tuple[dict[str, Any], ...] = ()
    extra: dict[str, Any] = {}
    """Other facts a tool reported: `stdout_bytes`, `stderr_bytes`, `timeout_ms`, `exit_code`, `hook_id`, … (AT-203)."""

    def to_record(self) -> JsonObject:
        """Returns the standard's `tool_progress` record."""
        fields = msgspec.to_builtins(self)
        fields.pop("extra", None)
        return {
            "schema_version": "0.2.0",
            "progress_id": progress_id(self.invocation_id, self.sequence),
            **fields,
            "timestamp": iso(self.timestamp),
            **self.extra,
        }


def progress_id(invocation_id: str, sequence: int) -> str:
    """Returns the id of one record of an invocation's progress."""
    return f"{invocation_id.replace('inv_', 'prg_', 1)}.{sequence}"


class BadProgress(ValueError):
    """Progress with an impossible value."""


_OURS = frozenset({"schema_version", "progress_id", "invocation_id", "sequence", "timestamp", "elapsed_ms", "extra"})
"""Fields that the runtime sets itself, whatever a tool claims."""
_KNOWN = frozenset(Progress.__struct_fields__) - {
    "invocation_id",
    "sequence",
    "timestamp",
    "extra",
    "status",
    "elapsed_ms",
}


def progress_of(invocation_id: str, sequence: int, timestamp: int, elapsed_ms: int, facts: JsonObject) -> Progress:
    """Builds a record from what a tool reported. Raises BadProgress for impossible values (AT-201, AT-202)."""
    reported = {key: value for key, value in facts.items() if value is not None and key not in _OURS}
    status = reported.pop("status", "running")
    if isinstance(reported.get("current_step"), int | float):
        reported["current_step"] = str(reported["current_step"])
    extra = {key: reported.pop(key) for key in list(reported) if key not in _KNOWN}
    if status == "partial_result" and "content" in extra:
        reported.setdefault(
            "partial_result_refs", (progress_id(invocation_id, sequence),)
        )  # the part is in this very record
    percent = reported.get("percent")
    if percent is not None and not (isinstance(percent, int | float) and 0 <= percent <= 100):
        raise BadProgress(f"percent is a number from 0 to 100, not {percent!r}")
    try:
        return msgspec.convert(
            {
                "invocation_id": invocation_id,
                "sequence": sequence,
                "status": status,
                "timestamp": timestamp,
                "elapsed_ms": elapsed_ms,
                "extra": extra,
                **reported,
            },
            Progress,
        )
    except msgspec.ValidationError as error:
        raise BadProgress(f"this is no progress: {describe_complaint(error)}") from None
