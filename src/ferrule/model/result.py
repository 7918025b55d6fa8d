"""The result envelope: how one call ended (AT-211 to AT-222). Exactly one exists per invocation.

The pipeline fills it; servers encode it. It knows no protocol.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.failure import ResultStatus, ToolError
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject

SCHEMA_VERSION = "0.2.0"


class MutationNote(msgspec.Struct, frozen=True, gc=False):
    """One change of the input, as a result reports it (AT-78)."""

    mutation_id: str
    source_type: str
    source_ref: str
    changed_fields: tuple[str, ...]


class Result(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The outcome of one call."""

    invocation_id: str
    status: ResultStatus
    created_at: int
    """Microseconds since 1970."""
    content: tuple[dict[str, Any], ...] = ()
    """Content blocks, each with a `type`."""
    structured_content: Any = None
    """The native output as JSON, where it is JSON."""
    error: ToolError | None = None
    model_facing_content: tuple[dict[str, Any], ...] | None = None
    """What the model sees where it differs from `content`."""
    ui_facing_summary: str | None = None
    summary: str | None = None
    redaction_state: str = "none"
    input_mutations: tuple[MutationNote, ...] = ()
    synthetic: bool = False
    abort_reason: str | None = None
    resource_refs: tuple[dict[str, Any], ...] = ()
    artifact_refs: tuple[dict[str, Any], ...] = ()
    evidence_refs: tuple[str, ...] = ()
    policy_refs: tuple[str, ...] = ()
    persistence_refs: tuple[str, ...] = ()
    transcript_search_text: str | None = None
    native_output_ref: str | None = None
    native_call_id: str | None = None
    additional_context: tuple[dict[str, Any], ...] = ()
    """Blocks that hooks added for the model, each with its hook as `origin`; `model_facing_content` ends with them (AT-156)."""
    hook_stop: dict[str, Any] | None = None
    """Set when a hook stopped the call: `reason`, `hook_id`, and `continue` (false: the turn should end here) (AT-155)."""
    native_output: Any = None
    """The tool's own structured output where a hook replaced or withheld it; for the record, never for the model (AT-157)."""
    native_meta: dict[str, Any] | None = None
    """The metadata an MCP server sent beside its result (`_meta`), for clients of the same protocol."""

    is_pending = False
    """A result is final; see `Pending` for the other answer a call can get."""

    @property
    def result_id(self) -> str:
        """One result per invocation, so its id follows from the invocation's."""
        return self.invocation_id.replace("inv_", "res_", 1)

    @property
    def is_error(self) -> bool:
        """True exactly when there is an error (AT-215)."""
        return self.error is not None

    @property
    def text(self) -> str:
        """The text blocks of what the model sees of the tool's output, joined; what hooks added is not in it."""
        blocks = self.content if self.model_facing_content is None else self.model_facing_content
        if self.additional_context:
            blocks = tuple(block for block in blocks if block not in self.additional_context)
        return "\n".join(str(block["text"]) for block in blocks if block.get("type") == "text")

    @property
    def value(self) -> Any:
        """The native output: structured where it is JSON, else the text."""
        return self.text if self.structured_content is None else self.structured_content

    def to_record(self) -> JsonObject:
        """Returns the standard's `tool_result` record, of JSON values alone."""
        record: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "result_id": self.result_id,
            "invocation_id": self.invocation_id,
            "status": self.status,
            "created_at": iso(self.created_at),
            "is_error": self.is_error,
            "content": _tuples_to_lists(self.content),
        }
        if self.structured_content is not None:
            record["structured_content"] = self.structured_content
        if self.error is not None:
            record["error"] = _tuples_to_lists(msgspec.to_builtins(self.error))
        for name in _OPTIONAL:
            value = getattr(self, name)
            if value:
                record[name] = _tuples_to_lists(msgspec.to_builtins(value))
        record["redaction_state"] = self.redaction_state
        return record


def _tuples_to_lists(value: object) -> Any:
    """Returns the value with lists for tuples, at every depth."""
    if isinstance(value, dict):
        return {name: _tuples_to_lists(each) for name, each in value.items()}
    return [_tuples_to_lists(each) for each in value] if isinstance(value, list | tuple) else value


_ALWAYS = frozenset(
    {"invocation_id", "status", "created_at", "content", "structured_content", "error", "redaction_state"}
)
_OPTIONAL = tuple(name for name in Result.__struct_fields__ if name not in _ALWAYS and name != "native_meta")


class Pending(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A call that waits for somebody: nothing has run, and nothing is held in memory for it."""

    invocation_id: str
    state: str
    """`awaiting_approval`, `needs_input`, `queued` or `running`."""
    message: str
    """The thing it waits for, and where that can be given."""
    expires_at: int | None = None
    """Microseconds since 1970, after which it ends as `timed_out`."""
    client_requests: dict[str, dict[str, Any]] = {}
    """The questions to the calling client, by key, in MCP's words; `surface.answer` takes its answers."""
    channels: tuple[str, ...] = ()
    """Calling channels by which an approval may come although they made the call: the policy names them."""
    round: int = 0
    """Counts what the call has waited for: another round is another question."""

    is_pending = True
    is_error = False

    @property
    def status(self) -> str:
        """Its state, where a result would have its status."""
        return self.state
