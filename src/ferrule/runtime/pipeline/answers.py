"""What a caller is told about an invocation that has rows already: its result, or what it waits for."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.model.decision import CLIENT_CHANNEL
from ferrule.model.journal import LAST_KINDS, StoredEntry
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.result_payload import unpacked


def answer_of(rows: Sequence[StoredEntry], state: str | None = None) -> Result | Pending | None:
    """The answer of a call with these rows; None when there are none. `state`: the ledger's, while it is open."""
    if not rows:
        return None
    last = rows[-1]
    if last.kind in LAST_KINDS:
        payload = last.inputs()
        return unpacked(last.call, last.segment(), payload.result if payload is not None else None, last.at)
    request = next((found for row in reversed(rows) if (found := row.segment().request) is not None), None)
    state = state or last.outcome
    message = _WAITS_FOR.get(state, "the call has not ended yet")
    if request is not None and state == "needs_input" and request.requirement.is_reply_only:
        is_client = request.requirement.reply_channel == CLIENT_CHANNEL
        message = f"it waits for a reply from {'its caller' if is_client else 'the system behind its tool'}"
    if request is not None and state in ("awaiting_approval", "needs_input"):
        message = f"{message}: {request.message}"
    parked = next((row for row in reversed(rows) if row.kind == "parked"), None)
    is_open = state == "needs_input" and last.kind != "answered"
    return Pending(
        invocation_id=last.call,
        state=state,
        message=message,
        expires_at=request.expires_at if request else None,
        client_requests=parked.segment().notes.get("client_requests", {}) if parked is not None and is_open else {},
        channels=request.requirement.channels if request is not None and state == "awaiting_approval" else (),
        round=parked.seq if parked is not None else 0,
    )


_WAITS_FOR = {
    "awaiting_approval": "it waits for an approval ('ferrule pending' shows it)",
    "needs_input": "it waits for a person ('ferrule pending' shows it)",
    "approved": "it is approved and about to run",
    "queued": "it waits for its turn",
    "running": "it is running",
}
