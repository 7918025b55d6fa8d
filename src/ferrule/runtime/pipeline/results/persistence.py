"""Keeps one result: shown in full, as a preview with the rest in the payload store, by reference alone, or not at all.

The limit is counted in characters of what the model sees (AT-227). All of it happens after redaction, so no preview
and no stored payload holds what the result must not have. It reports what cannot be kept, and never cuts silently.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from msgspec.structs import replace

from ferrule.contracts.payloads import SCHEME, Access, StoredPayload, payload_block
from ferrule.infra.tasks import finish_uncancelled
from ferrule.model.failure import Stop
from ferrule.model.persistence import Persistence, RedactionState, Strategy, persistence_id
from ferrule.model.result import Result
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.hooks.runs import has_hooks_for, run_persistence_hooks
from ferrule.runtime.pipeline.results.mapping import Blocks
from ferrule.runtime.pipeline.results.outcome import build_stopped_result
from ferrule.runtime.pipeline.results.output_contract import NO_OUTPUT_POLICY, compute_limits
from ferrule.runtime.pipeline.results.payload_store import NotStored, append_rest, describe_stored, store_payload
from ferrule.runtime.pipeline.results.views import ModelView, StoredForm, drop_block, encode_output, view_result
from ferrule.runtime.pipeline.services import Services

EXCEEDED = "result_exceeded_inline_limit"


def keep_result(call: Call, services: Services) -> Awaitable[None] | None:
    """Decides how the call's result is kept, and applies it. Awaits nothing unless something is stored or hooks run."""
    keeper = _Keeper(call, services)
    strategy, reason = keeper.decide()
    is_hooked = bool(services.hooks) and call.ending.has_run and has_hooks_for(services, "result_persistence")
    if not is_hooked and not keeper.needs_store(strategy):
        keeper.end_at_once(strategy, reason)
        return None
    # To the end even when the caller goes away: a result that a hook would withhold must not be fetched by its key.
    return finish_uncancelled(keeper.end(strategy, reason, is_hooked=is_hooked))


class _Keeper:
    """One result on its way to being kept."""

    def __init__(self, call: Call, services: Services) -> None:
        self.call = call
        self.ending = call.ending
        self.services = services
        self.keeping = call.prepared.traits.output_policy or NO_OUTPUT_POLICY
        self.limits = compute_limits(self.keeping, services.results)
        self.records: list[Persistence] = []
        self.stored: StoredPayload | None = call.notes.get("stored")
        self.preview: str | None = call.notes.get("preview")
        # Handed over by `store_stream`; the payload itself is no note of the row.
        if self.stored is not None:
            call.notes = {name: note for name, note in call.notes.items() if name not in ("stored", "preview")}
        self.view: ModelView = view_result(self.result)

    # Deciding

    @property
    def result(self) -> Result:
        """The result so far."""
        return self.ending.require_result()

    def decide(self) -> tuple[Strategy, str]:
        """Returns the strategy, and why it is not `inline`."""
        call, keeping = self.call, self.keeping
        if self.ending.output is None:  # refused, failed or lost: the message alone is short
            return "inline", ""
        if keeping.strategy == "redact":
            return "redact", keeping.reason or "its tool's policy withholds it"
        if keeping.rules is not None and keeping.rules.is_unreadable:
            return "redact", "the tool's redaction_rules cannot be read"
        # A stream is stored while it arrives, so only what is shown of it is left to decide.
        if self.stored is not None:
            is_shown = self.stored.access == "owner" and self.preview
            return ("preview_and_persist", EXCEEDED) if is_shown else ("ref_only", keeping.reason or "streamed_output")
        if self.is_private:
            return "ref_only", "private_output"
        if keeping.strategy == "ref_only":
            return "ref_only", keeping.reason or "its tool's policy"
        if self.view.fits(self.limits):
            return "inline", ""
        if keeping.strategy in ("inline", "drop_with_reason"):
            return "drop_with_reason", keeping.reason or EXCEEDED
        is_read_back = SCHEME.encode() in call.inputs.current  # reads a stored payload back (AT-232)
        if keeping.strategy == "never_persist" or is_read_back:
            return "never_persist", keeping.reason or EXCEEDED
        return "preview_and_persist", EXCEEDED

    @property
    def is_private(self) -> bool:
        """True when the model gets a summary and a protected reference (AT-234)."""
        output = self.ending.output
        return self.keeping.is_private or (output is not None and output.is_private)

    def needs_store(self, strategy: Strategy) -> bool:
        """Returns True when bytes go to the payload store, which has to be awaited."""
        return strategy in ("preview_and_persist", "ref_only") and self.stored is None

    # Ending

    def end_at_once(self, strategy: Strategy, reason: str) -> None:
        """Applies a strategy that needs no waiting."""
        match strategy:
            case "redact":
                self._withhold(reason)
            case "drop_with_reason":
                self._drop(reason)
            case "never_persist":
                self._cut_off(reason)
            case "inline":
                self._note_references()
            case _:
                assert self.stored is not None
                self._refer_to(self.stored, strategy, reason)
        self.settle()

    async def end(self, strategy: Strategy, reason: str, *, is_hooked: bool) -> None:
        """Applies a strategy after hooks have answered and the bytes are stored."""
        if is_hooked:
            about = self._record(strategy, reason, size=self.view.size).to_record(self.call.invocation_id)
            if await run_persistence_hooks(self.call, self.services, about) is not None:
                await self._end_withheld()
                return
            self.view = view_result(self.result)
        if not self.needs_store(strategy):
            self.end_at_once(strategy, reason)
            return
        try:
            await self._store(strategy, reason)
        except NotStored as why:
            await self._remove_stored()
            self._withhold(str(why)) if self.is_private else self._drop(str(why))
        self.settle()

    async def _end_withheld(self) -> None:
        """Keeps the output of a result that a hook withheld on record, where no surface can fetch it."""
        if not view_result(self.result).is_small_record(self.limits):
            try:
                kept = await self._put(encode_output(self.result, self.ending.output), "protected")
                self.records.append(self._record("ref_only", "held_back_by_hook", kept))
                self.ending.result = replace(
                    self.result, content=(payload_block(kept),), native_output=None, native_output_ref=kept.uri
                )
            except NotStored as why:
                self.records.append(self._record("drop_with_reason", str(why), size=self.view.size))
                self.ending.result = replace(
                    self.result, content=self.result.model_facing_content or (), native_output=None
                )
        self.settle()

    async def _store(self, strategy: Strategy, reason: str) -> None:
        if self.view.is_changed:
            await self._store_both(reason)
            return
        if strategy == "preview_and_persist":
            await self._store_oversized()
            # With its pictures stored by themselves the rest may be short enough.
            if self.view.fits(self.limits):
                return
            self.preview = self.view.text[: self.limits.preview]
        kept = await self._put(
            encode_output(self.result, self.ending.output), "protected" if self.is_private else "owner"
        )
        self._refer_to(kept, strategy, reason, chars=len(self.view.text))

    async def _store_both(self, reason: str) -> None:
        """Stores the model's view that hooks made and, for the record only, the tool's own output beside it."""
        view = self.view
        if self.is_private or not view.is_small_record(self.limits):
            kept = await self._put(encode_output(self.result, self.ending.output), "protected")
            self.records.append(self._record("ref_only", "replaced_by_hook", kept))
            self.ending.result = replace(
                self.result, content=(payload_block(kept),), native_output=None, native_output_ref=kept.uri
            )
        if not view.is_short(self.limits):
            kept = await self._put(view.encode(), "owner")
            self._show_preview(kept, view.text, "preview_and_persist", reason)

    async def _store_oversized(self) -> None:
        """Stores oversized pictures and other bytes by themselves, each with its own reference (AT-217)."""
        blocks = list(self.result.content)
        for number in self.view.list_oversized(self.limits):
            full = encode_output(
                replace(self.result, content=(blocks[number],), structured_content=None), self.ending.output
            )
            kept = await self._put(full, "owner")
            self.records.append(self._record("ref_only", EXCEEDED, kept))
            blocks[number] = {**payload_block(kept), "content_type": blocks[number]["type"]}
        self.ending.result = replace(self.result, content=tuple(blocks))
        self.view = view_result(self.result)

    async def _put(self, full: StoredForm, access: Access) -> StoredPayload:
        """Stores bytes for this call. Raises NotStored."""
        return await store_payload(self.call, self.services, full, access)

    async def _remove_stored(self) -> None:
        """Removes the stored parts of a result that cannot be stored completely."""
        assert self.services.payloads is not None or not self.records
        for record in self.records:
            if record.persisted_ref is not None and self.services.payloads is not None:
                await self.services.payloads.remove(record.persisted_ref["uri"])
        self.records = []

    # What becomes of the result

    def _refer_to(self, kept: StoredPayload, strategy: Strategy, reason: str, chars: int | None = None) -> None:
        """Replaces the content by a reference to the stored output, with a preview where that is allowed."""
        block = payload_block(kept)
        summary = None
        if self.preview:
            shown = append_rest(self.preview, kept, chars, self.call.invocation_id)
            searched = self.preview
        else:
            summary = self.keeping.fallback_summary if self.is_private else ""
            shown = summary = summary or describe_stored(kept, self.call.invocation_id)
            searched = shown
        self.records.append(self._record(strategy, reason, kept, preview=len((self.preview or "").encode())))
        self.ending.result = replace(
            self.result,
            content=(block,),
            structured_content=None,
            model_facing_content=({"type": "text", "text": shown}, block, *self.result.additional_context),
            summary=self.result.summary or summary,
            native_output_ref=kept.uri,
            transcript_search_text=self.result.transcript_search_text or searched,
        )

    def _show_preview(self, kept: StoredPayload, text: str, strategy: Strategy, reason: str) -> None:
        """Shows a preview of an oversized view that hooks made."""
        preview = text[: self.limits.preview]
        shown = append_rest(preview, kept, len(text), self.call.invocation_id)
        self.records.append(self._record(strategy, reason, kept, preview=len(preview.encode())))
        blocks = ({"type": "text", "text": shown}, payload_block(kept), *self.result.additional_context)
        searched = self.result.transcript_search_text or preview
        self.ending.result = replace(
            self.result, model_facing_content=blocks, structured_content=None, transcript_search_text=searched
        )

    def _withhold(self, reason: str) -> None:
        """Withholds all of the output (AT-233, AT-89)."""
        summary = self.keeping.fallback_summary or f"The tool did its work; its output is withheld: {reason}."
        self.records.append(self._record("redact", reason, size=self.view.size, state="full"))
        self._replace_with_message(Stop("result_redacted", summary), summary)
        self.ending.result = replace(self.result, redaction_state="full")
        self.call.notes = {**self.call.notes, "redaction_state": "full"}

    def _drop(self, reason: str) -> None:
        """Drops output that is too large to show and cannot be stored; size and reason stay (AT-226, AT-235)."""
        size, chars = self.view.size, len(self.view.text)
        message = (
            f"the tool did its work, but its output has {chars:,} characters ({size:,} bytes), more than the"
            f" {self.limits.chars:,} that are shown, and was not kept: {reason}; ask for less of it"
        )
        self.records.append(self._record("drop_with_reason", reason, size=size))
        self._replace_with_message(Stop("result_too_large", message), self.keeping.fallback_summary or message)

    def _replace_with_message(self, stop: Stop, summary: str) -> None:
        """Replaces the output by a message. A failed call keeps its failure; references stay too."""
        call, before = self.call, self.result
        if self.ending.stop is None:
            self.ending.stop = stop
            after = build_stopped_result(call, self.services)
        else:
            lines = ({"type": "text", "text": self.ending.stop.message}, {"type": "text", "text": summary})
            after = replace(
                before, content=lines, model_facing_content=None, structured_content=None, native_output=None
            )
        self.ending.result = replace(
            after,
            summary=summary,
            artifact_refs=before.artifact_refs,
            resource_refs=before.resource_refs,
            ui_facing_summary=before.ui_facing_summary,
            transcript_search_text=before.transcript_search_text,
            redaction_state=before.redaction_state,
        )

    def _cut_off(self, reason: str) -> None:
        """Truncates the output of a tool that opted out of storage, and says so (AT-231)."""
        whole = self.view.text
        shown = whole[: self.limits.chars]
        if self.limits.bytes is not None:
            shown = shown.encode()[: self.limits.bytes].decode(errors="ignore")
        note = (
            f"\n\n[Cut off: {len(whole) - len(shown):,} of {len(whole):,} characters are missing, and are kept nowhere;"
            " ask for a smaller part.]"
        )
        record = self._record("never_persist", reason, size=self.view.size, preview=len(shown.encode()))
        self.records.append(record)
        blocks: Blocks = ({"type": "text", "text": shown + note, "truncated": True}, *self.result.additional_context)
        kept = tuple(drop_block(block, reason) for block in self.view.other_blocks)
        self.ending.result = replace(
            self.result,
            content=blocks[:1] + kept,
            model_facing_content=blocks if len(blocks) > 1 or self.view.is_changed else None,
            structured_content=None,
            native_output=None,
            transcript_search_text=self.result.transcript_search_text or shown[: self.limits.preview],
        )

    def _note_references(self) -> None:
        """Records the payloads that a tool wrote itself like any others (AT-223)."""
        own = f"{SCHEME}{self.call.invocation_id}/"
        for block in self.result.content:
            if block.get("type") == "persisted_output_ref" and str(block.get("uri", "")).startswith(own):
                ref = {name: member for name, member in block.items() if name != "type"}
                size = block.get("size")
                record = self._record("ref_only", "written_by_tool", size=size if isinstance(size, int) else 0)
                self.records.append(replace(record, persisted_ref=ref))
                if self.result.native_output_ref is None:
                    self.ending.result = replace(self.result, native_output_ref=block["uri"])

    def _record(
        self, strategy: Strategy, reason: str, kept: StoredPayload | None = None, *, size: int = 0, preview: int = 0,
        state: RedactionState | None = None,
    ) -> Persistence:  # fmt: skip
        found: Any = self.call.notes.get("redaction_state", "none")
        return Persistence(
            strategy=strategy,
            created_at=self.services.now(),
            threshold=self.limits.to_record(),
            original_size_bytes=size if kept is None else kept.size,
            preview_size_bytes=preview,
            persisted_ref=None if kept is None else kept.ref,
            redaction_state=state or found,
            reason=reason,
        )

    def settle(self) -> None:
        """Copies the records to the ledger notes, the events and the result."""
        call = self.call
        if not self.records:
            return
        self.ending.is_plain_result = False
        ids = tuple(persistence_id(call.invocation_id, number) for number in range(len(self.records)))
        self.ending.result = replace(self.result, persistence_refs=ids)
        if self.ending.result.redaction_state == "none" and call.notes.get("redaction_state"):
            self.ending.result = replace(self.ending.result, redaction_state=call.notes["redaction_state"])
        self.ending.result = _mark_references(self.ending.result)
        told = [record.to_record(call.invocation_id, number) for number, record in enumerate(self.records)]
        call.notes = {**call.notes, "persistence": told, "persistence_refs": list(ids)}


def _mark_references(result: Result) -> Result:
    """Marks references that stand in place of bytes with the redaction state of those (AT-217)."""

    def mark(block: JsonObject) -> JsonObject:
        is_reference = block.get("type") == "persisted_output_ref"
        return {"redaction_state": result.redaction_state, **block} if is_reference else block

    shown = result.model_facing_content
    return replace(
        result,
        content=tuple(map(mark, result.content)),
        model_facing_content=None if shown is None else tuple(map(mark, shown)),
    )
