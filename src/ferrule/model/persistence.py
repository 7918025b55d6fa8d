"""How results are kept: the six strategies, the limits, and the record each decision leaves (AT-223 to AT-237).

Holds the settings `[results]` and `[redaction]`: the latter names what is taken out of results and records besides a
tool's own sensitive fields. `runtime/pipeline` decides and `runtime/redaction` redacts; this module only has the
records.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import msgspec

from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject

Strategy = Literal["inline", "preview_and_persist", "ref_only", "redact", "drop_with_reason", "never_persist"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
RedactionState = Literal["none", "partial", "full", "unknown"]


class ResultSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[results]`"""

    store: Literal["files", "none"] = "files"
    """Where large results go: files under the workspace, or nowhere (then they end as `too_large`)."""
    path: str = ".ferrule/payloads"
    """The folder of those files, relative to the workspace."""
    max_inline_chars: Annotated[int, msgspec.Meta(ge=1)] = 50_000
    """What the model sees at most of one result; a tool's own, smaller limit wins."""
    max_inline_bytes: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The same in bytes."""
    preview_chars: Annotated[int, msgspec.Meta(ge=0)] = 2_000
    """How much of a stored result the model sees with its reference."""
    max_stored_bytes: Annotated[int, msgspec.Meta(ge=1)] = 16 * 1024**3
    """Larger outputs are cut off and end as `too_large`."""
    expires_seconds: Annotated[int, msgspec.Meta(ge=1)] | None = 30 * 24 * 3600
    """How long stored results can be read; None: for ever."""
    mismatch: Literal["fail", "note"] = "fail"
    """The effect of output that does not match its schema: a failure (AT-87), or a success with a note."""


class Persistence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision about a result's bytes."""

    strategy: Strategy
    created_at: int
    threshold: dict[str, int] = {}
    original_size_bytes: int = 0
    preview_size_bytes: int = 0
    persisted_ref: dict[str, Any] | None = None
    """`uri`, `media_type`, `digest`, `size`, `scope`, `expires_at`, `access`."""
    redaction_state: RedactionState = "none"
    reason: str = ""

    def to_record(self, invocation_id: str, number: int = 0) -> JsonObject:
        """Returns the standard's `result_persistence` record; it names its invocation and its result (AT-223)."""
        record: dict[str, Any] = {
            "schema_version": "0.2.0",
            "decision_id": persistence_id(invocation_id, number),
            "invocation_id": invocation_id,
            "result_id": invocation_id.replace("inv_", "res_", 1),
            "strategy": self.strategy,
            "created_at": iso(self.created_at),
            "threshold": self.threshold,
            "original_size_bytes": self.original_size_bytes,
            "preview_size_bytes": self.preview_size_bytes,
            "redaction_state": self.redaction_state,
        }
        if self.persisted_ref is not None:
            record["persisted_ref"] = self.persisted_ref
        if self.reason:
            record["reason"] = self.reason
        return record


def persistence_id(invocation_id: str, number: int = 0) -> str:
    """Returns the id of an invocation's persistence decision."""
    return f"{invocation_id.replace('inv_', 'per_', 1)}.{number}"


class RedactionPattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[[redaction.patterns]]`: a regular expression and the name it is reported under."""

    name: str
    pattern: str


class RedactionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[redaction]`"""

    secrets_env: tuple[str, ...] = ()
    """Environment variables whose values are secrets; they appear nowhere, in no encoding."""
    patterns: tuple[RedactionPattern, ...] = ()
    well_known: bool = True
    """Also take out what is shaped like a well-known token: `sk-…`, `ghp_…`, `AKIA…`, a JWT, a private key."""
