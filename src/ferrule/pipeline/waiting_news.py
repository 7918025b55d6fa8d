"""Whoever follows a call learns that it waits for somebody, and for what (AT-202)."""

from __future__ import annotations

import logging

from ferrule.errors import LedgerError
from ferrule.model.journal import Entry
from ferrule.model.news import progress_row
from ferrule.model.progress import progress_of
from ferrule.pipeline.call import Call, Park
from ferrule.pipeline.services import Services

_log = logging.getLogger("ferrule.pipeline")


PROGRESSED = "progressed"
"""The note of a parked row with the number of the progress that tells of it: whoever goes on with the call, perhaps at once
and elsewhere, counts on from there (AT-198)."""


def number_waiting(call: Call) -> None:
    """Take a number for the progress that will tell that the call waits; it stands in the row that parks the call."""
    sequence = (call.sequence if call.live is None else call.live.sequence) + 1
    call.notes = {**call.notes, PROGRESSED: sequence}


def tell_waiting(call: Call, services: Services, park: Park) -> None:
    """Write a piece of progress about a call that was parked just now."""
    status = "waiting_for_permission" if park.waiting is None else "waiting_for_input"
    now, sequence = services.now(), call.notes[PROGRESSED]
    elapsed = max(0, (now - call.created_at) // 1000)
    facts = {"status": status, "message": park.request.message}
    said = progress_of(call.invocation_id, sequence, now, elapsed, facts)
    happened = [{"at": now, "event": "tool.invocation.progress", "data": said.to_record()}]
    body, payload = progress_row(happened, sequence)
    body.audit_level = call.session.surface.audit_level
    row = Entry("news", call.invocation_id, now, call.prepared.tool_id, "progress", body, payload)
    try:
        services.store.record(row)
    except LedgerError as error:
        _log.warning("that %s waits could not be told: %s", call.invocation_id, error)
