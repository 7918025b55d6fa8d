"""Streams output that is too large to hold into the payload store: in chunks, redacted, counted and hashed on the way.

A few hundred kilobytes are in memory at most. A stream that breaks off, is canceled or exceeds the limit leaves
nothing behind. `supervise` calls it; it does not know the phases that follow.
"""

from __future__ import annotations

import asyncio
import codecs
import threading
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from contextlib import suppress

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.contracts.payloads import PayloadOwner, PayloadWriter, StoredPayload, payload_block
from ferrule.contracts.redactor import RedactingStream
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.redaction import redact_secrets
from ferrule.runtime.pipeline.results.output_contract import NO_OUTPUT_POLICY, InlineLimits, compute_limits
from ferrule.runtime.pipeline.results.redaction import open_redacting_stream as redacting_stream
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.redaction.stream import PIECE

OnBytes = Callable[[int], None]
"""Receives the number of bytes so far, from any thread."""
_SLICE = 1024 * 1024
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "application/x-ndjson")


class OutputTooLarge(Exception):
    """Raised for a stream longer than may be stored."""


class Unstorable(OSError):
    """Raised when the store fails; distinct from an OSError that the stream itself raises."""


class TextPreview:
    """The first characters of a text that arrives in chunks; no character is cut in two."""

    def __init__(self, chars: int) -> None:
        self._left = chars
        self._pieces: list[str] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(self, chunk: bytes) -> None:
        """Adds the next chunk."""
        if self._left > 0:
            # A character has at most four bytes, and the decoder may hold a part of one from the chunk before.
            piece = self._decoder.decode(chunk[: 4 * self._left + 4])[: self._left]
            self._left -= len(piece)
            self._pieces.append(piece)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)


async def drain_stream(
    output: Output,
    writer: PayloadWriter,
    redacting: RedactingStream | None,
    on_bytes: OnBytes | None = None,
    *,
    most: int | None = None,
    beginning: TextPreview | None = None,
) -> StoredPayload:
    """Reads an output's stream to its end into a writer; returns the stored payload.

    Raises what the stream raises, Unstorable when there is no room, OutputTooLarge past `most` bytes; then, and when it
    is
    canceled, the writer is discarded and the stream closed.
    """
    sink = _ChunkSink(writer, redacting, on_bytes, most, beginning)
    stream = output.stream
    try:
        if isinstance(stream, AsyncIterable):
            await _drain_async(stream, sink)
        else:
            await _drain_iterable(stream or (), sink)
        return await asyncio.to_thread(sink.finish)
    except BaseException:
        writer.discard()
        raise


class _ChunkSink:
    """The destination of chunks: limits, redacts, previews and writes them."""

    def __init__(
        self, writer: PayloadWriter, redacting: RedactingStream | None, on_bytes: OnBytes | None, most: int | None,
        beginning: TextPreview | None,
    ) -> None:  # fmt: skip
        self._writer = writer
        self._redacting = redacting
        self._on_bytes = on_bytes
        self._most = most
        self._beginning = beginning
        self._held = bytearray()
        self.received = 0
        self.is_stopped = False
        """True when no more chunks are wanted."""

    def take(self, chunk: object) -> None:
        """Takes one chunk, in slices when it is long. Raises OSError and OutputTooLarge."""
        if isinstance(chunk, str):
            chunk = chunk.encode(errors="replace")
        elif not isinstance(chunk, bytes | bytearray | memoryview):
            raise ExecutionFailed(
                "execution_failed",
                f"the tool gave a stream of {type(chunk).__name__} where bytes are expected; its author has to convert it",
                code="result_mapping_failed",
            )
        view = memoryview(chunk)
        for start in range(0, len(view), _SLICE):
            self._write(bytes(view[start : start + _SLICE]))

    def finish(self) -> StoredPayload:
        """Writes the rest and closes the payload."""
        if self._redacting is not None:
            self._pass_on(self._redacting.feed(bytes(self._held)) + self._redacting.finish())
        try:
            return self._writer.close()
        except OSError as error:
            raise Unstorable(*error.args) from error

    def _write(self, data: bytes) -> None:
        self.received += len(data)
        if self._most is not None and self.received > self._most:
            raise OutputTooLarge
        if self._redacting is None:
            self._pass_on(data)
        else:  # small chunks are collected first: each scan has a fixed cost
            self._held += data
            if len(self._held) >= PIECE:
                self._pass_on(self._redacting.feed(bytes(self._held)))
                self._held.clear()
        if self._on_bytes is not None:
            self._on_bytes(self.received)

    def _pass_on(self, data: bytes) -> None:
        try:
            self._writer.write(data)
        except OSError as error:
            raise Unstorable(*error.args) from error
        if self._beginning is not None:
            self._beginning.take(data)


async def _drain_async(stream: AsyncIterable[object], sink: _ChunkSink) -> None:
    """Drains an async stream; collects a slice of chunks before each write, since a thread per chunk is expensive."""
    gathered: list[object] = []
    size = 0
    iterator = aiter(stream)
    try:
        async for chunk in iterator:
            gathered.append(chunk)
            size += len(chunk) if hasattr(chunk, "__len__") else _SLICE
            if size >= _SLICE:
                await asyncio.to_thread(_take_all, sink, gathered)
                gathered, size = [], 0
        await asyncio.to_thread(_take_all, sink, gathered)
    except BaseException:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            with suppress(Exception):
                await close()
        raise


def _take_all(sink: _ChunkSink, chunks: list[object]) -> None:
    for chunk in chunks:
        sink.take(chunk)


async def _drain_iterable(stream: Iterable[object], sink: _ChunkSink) -> None:
    """Drains a plain iterable in a thread of its own; one that blocks forever blocks only that thread."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def read() -> None:
        error: BaseException | None = None
        iterator: Iterator[object] | None = None
        try:
            iterator = iter(stream)
            for chunk in iterator:
                if sink.is_stopped:
                    break
                sink.take(chunk)
        except BaseException as raised:
            error = raised
        close = getattr(iterator, "close", None)
        if close is not None and (error is not None or sink.is_stopped):
            with suppress(Exception):
                close()
        with suppress(RuntimeError):  # the loop is closed; nobody waits any more
            loop.call_soon_threadsafe(_settle, done, error)

    threading.Thread(target=read, name="ferrule-stream", daemon=True).start()
    try:
        await done
    finally:
        # The thread cannot be cancelled; it looks at this between two chunks.
        sink.is_stopped = True


def _settle(done: asyncio.Future[None], error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        # A future refuses StopIteration.
        done.set_exception(error if not isinstance(error, StopIteration) else RuntimeError("the stream broke off"))


async def store_stream(call: Call, services: Services, output: Output, on_bytes: OnBytes | None = None) -> Output:
    """Drains an output's stream as the tool's policy says, and returns an output that refers to it.

    The call's notes get `stored` (the payload) and `preview`. Raises ExecutionFailed: `result_too_large` where it can
    neither be stored nor shown, `execution_failed` with code `output_lost` when the stream broke off.
    """
    keeping, settings = call.prepared.traits.output_policy or NO_OUTPUT_POLICY, services.results
    limits = compute_limits(keeping, settings)
    # Redaction rules apply to values and not to bytes, so a stream under such rules is shown to no model.
    is_private = output.is_private or keeping.is_private or keeping.rules is not None
    if keeping.strategy in ("never_persist", "inline", "drop_with_reason", "redact") or services.payloads is None:
        return await _hold_in_memory(call, services, output, limits, is_private)
    request = call.session.surface.request
    owner = PayloadOwner(call.invocation_id, request.principal, request.tenant, call.prepared.tool_id)
    seconds = keeping.expires_seconds or settings.expires_seconds
    beginning = TextPreview(limits.preview) if is_text(output.media_type) and not is_private else None
    redacting = redacting_stream(call, services)
    media_type, name = redact_secrets(call, services, (output.media_type, output.file_name))
    try:
        writer = services.payloads.begin(
            owner,
            media_type=media_type,
            name=name,
            scope=keeping.scope,
            expires_at=None if seconds is None else services.now() + seconds * 1_000_000,
            access="protected" if is_private else "owner",
        )
    except OSError as error:
        raise _fail_too_large(f"it could not be stored ({error.strerror or type(error).__name__})") from error
    try:
        kept = await drain_stream(
            output, writer, redacting, on_bytes, most=settings.max_stored_bytes, beginning=beginning
        )  # fmt: skip
    except Unstorable as error:
        raise _fail_too_large(f"it could not be stored ({error.strerror or type(error).__name__})") from error
    except OutputTooLarge:
        raise _fail_too_large(
            f"it has more than the {settings.max_stored_bytes:,} bytes that are stored at most"
        ) from None
    except Exception as error:
        raise _fail_lost(error) from error
    notes: JsonObject = {"stored": kept}
    if beginning is not None:
        notes["preview"] = beginning.text
    if redacting is not None and redacting.found:
        notes |= {"redaction_state": "partial", "redactions": sorted(set(redacting.found))}
    call.notes = {**call.notes, **notes}
    return _replace_output(output, None, (payload_block(kept),))


def is_text(media_type: str) -> bool:
    """Returns True for media types whose beginning people and models can read."""
    bare = media_type.split(";")[0].strip().lower()
    return bare.startswith(_TEXTS) or bare.endswith(("+json", "+xml"))


async def _hold_in_memory(
    call: Call, services: Services, output: Output, limits: InlineLimits, is_private: bool
) -> Output:
    """Reads a stream that may not, or cannot, be stored; fails when it is too long to show and may not be truncated."""
    strategy = (call.prepared.traits.output_policy or NO_OUTPUT_POLICY).strategy
    memory = _MemoryWriter(4 * limits.chars + 4)
    try:
        await drain_stream(output, memory, redacting_stream(call, services), most=services.results.max_stored_bytes)
    except OutputTooLarge:
        raise _fail_too_large("it does not end") from None
    except _NothingStored:
        pass
    except Exception as error:
        raise _fail_lost(error) from error
    is_shown = strategy in ("never_persist", "redact") or (memory.size <= memory.room and is_text(output.media_type))
    if is_private or not is_shown:
        why = "there is no store for it" if services.payloads is None else "its tool wants it stored nowhere"
        raise _fail_too_large(f"it has {memory.size:,} bytes, and {why}")
    return _replace_output(output, memory.text, None)


def _replace_output(output: Output, value: str | None, content: tuple[JsonObject, ...] | None) -> Output:
    return Output(
        value,
        content,
        output.native_refs,
        output.artifact_refs,
        output.resource_refs,
        context_modifiers=output.context_modifiers,
        ui_summary=output.ui_summary,
        search_text=output.search_text,
        is_private=output.is_private,
    )


class _NothingStored(Exception):
    """Raised by `_MemoryWriter.close`: there is no payload."""


class _MemoryWriter:
    """A writer that holds the beginning of a stream, and counts the rest."""

    def __init__(self, room: int) -> None:
        self.size = 0
        self.room = room
        self._data = bytearray()

    @property
    def text(self) -> str:
        return self._data.decode(errors="replace")

    def write(self, chunk: bytes) -> None:
        self._data += chunk[: max(0, self.room - len(self._data))]
        self.size += len(chunk)

    def close(self) -> StoredPayload:
        raise _NothingStored

    def discard(self) -> None:
        pass


def _fail_too_large(why: str) -> ExecutionFailed:
    return ExecutionFailed("result_too_large", f"the tool did its work, but its output is too large to show, and {why}")


def _fail_lost(error: Exception) -> ExecutionFailed:
    if isinstance(error, ExecutionFailed):
        return error
    message = f"the tool's output broke off before its end ({type(error).__name__}), so it is lost"
    return ExecutionFailed("execution_failed", message, code="output_lost")
