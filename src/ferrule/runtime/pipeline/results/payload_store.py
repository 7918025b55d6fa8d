"""Stores bytes of a result in the payload store, and builds the texts that refer to them.

`persistence` calls it and decides what is stored. Bytes straight from a tool are redacted on the way; texts are
redacted already.
"""

from __future__ import annotations

import asyncio

from ferrule.contracts.payloads import Access, PayloadOwner, PayloadWriter, StoredPayload
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.results.output_contract import NO_OUTPUT_POLICY
from ferrule.runtime.pipeline.results.redaction import open_redacting_stream
from ferrule.runtime.pipeline.results.views import StoredForm
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.redaction.stream import RedactingWriter

_SLICE = 1024 * 1024


class NotStored(Exception):
    """Raised when bytes could not be stored; the message says why."""


async def store_payload(call: Call, services: Services, full: StoredForm, access: Access) -> StoredPayload:
    """Stores bytes for a call under the rules of its tool and the settings. Raises NotStored."""
    settings, store = services.results, services.payloads
    keeping = call.prepared.traits.output_policy or NO_OUTPUT_POLICY
    if store is None:
        raise NotStored("there is no payload store (see [results] store)")
    if full.size > settings.max_stored_bytes:
        raise NotStored(f"more than {settings.max_stored_bytes:,} bytes are not stored")
    request = call.session.surface.request
    owner = PayloadOwner(call.invocation_id, request.principal, request.tenant, call.prepared.tool_id)
    seconds = keeping.expires_seconds or settings.expires_seconds
    expires = None if seconds is None else services.now() + seconds * 1_000_000
    filtering = open_redacting_stream(call, services) if full.is_raw else None

    def write() -> StoredPayload:
        writer: PayloadWriter = store.begin(
            owner, media_type=full.media_type, name=full.name, scope=keeping.scope, expires_at=expires, access=access
        )
        try:
            if filtering is not None:
                writer = RedactingWriter(writer, filtering)
            for start in range(0, full.size, _SLICE):
                writer.write(full.data[start : start + _SLICE])
            return writer.close()
        finally:
            writer.discard()

    try:
        # Writing to disk must not block the event loop.
        kept = await asyncio.to_thread(write)
    except OSError as error:
        raise NotStored(f"it could not be stored ({error.strerror or type(error).__name__})") from error
    if filtering is not None and filtering.found:
        taken = {*call.notes.get("redactions", ()), *filtering.found}
        call.notes = {**call.notes, "redaction_state": "partial", "redactions": sorted(taken)}
    return kept


def append_rest(preview: str, kept: StoredPayload, chars: int | None, invocation_id: str) -> str:
    """Appends to a preview how much is missing, and where the rest is stored."""
    missing = "The rest" if chars is None else f"{chars - len(preview):,} of {chars:,} characters"
    until = f", until {kept.ref['expires_at']}" if kept.expires_at is not None else ""
    return (
        f"{preview}\n\n[{missing} left out. The whole output is kept as {kept.uri} ({kept.media_type}, {kept.size:,}"
        f" bytes{until}). Read parts of it by this address, or save it: ferrule result {invocation_id} --save FILE]"
    )


def describe_stored(kept: StoredPayload, invocation_id: str) -> str:
    """Builds the text that stands in for an output of which nothing is shown."""
    what = "private output" if kept.access == "protected" else "output"
    how = "A person can save it" if kept.access == "protected" else "Read parts of it by this address, or save it"
    return (
        f"The tool did its work. Its {what} ({kept.size:,} bytes, {kept.media_type}) is kept as {kept.uri}."
        f" {how}: ferrule result {invocation_id} --save FILE"
    )
