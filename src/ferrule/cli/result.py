"""`ferrule result ID`: how a call ended, the part of its output the model saw, and where the rest is.

It saves an output to a file complete and verified, or not at all, and overwrites no file unasked.
Exit codes as of `ferrule call`: 0 it succeeded, 1 it ended with an error (or its bytes cannot be had), 3 it has not ended.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import secrets
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from ferrule.cli.call_lookup import find_call, format_duration, open_ledger
from ferrule.cli.options import calls_here
from ferrule.cli.show.outcome import ENDED_WITH_ERROR, SUCCEEDED, WAITS, exit_code_of, make_record
from ferrule.cli.show.output import ProgressBar, json_text
from ferrule.contracts.payloads import PayloadGone, StoredPayload, address_of
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.errors import LedgerError, WorkspaceError
from ferrule.infra.clock import Clock
from ferrule.ledger.payloads.files import FilePayloads
from ferrule.model.journal import StoredEntry
from ferrule.model.result import Pending, Result
from ferrule.model.story import Story
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.results.packing import read_answer
from ferrule.runtime.pipeline.results.payload_access import list_payload_uris, why_gone
from ferrule.workspace.workspace import Workspace


class SavedFile(NamedTuple):
    """One file that was written."""

    path: Path
    size: int
    is_verified: bool


class InlineContent(NamedTuple):
    """The content of a result that needed no store."""

    data: bytes
    suffix: str


def find_inline_content(result: Result) -> InlineContent:
    """Returns the part of the output that is in the result itself."""
    if result.structured_content is not None:
        return InlineContent(msgspec.json.format(msgspec.json.encode(result.structured_content)) + b"\n", ".json")
    if all(block.get("type") == "text" for block in result.content):
        return InlineContent(result.text.encode(errors="replace"), ".txt")
    return InlineContent(msgspec.json.format(msgspec.json.encode(result.content)) + b"\n", ".json")


async def print_output(payloads: FilePayloads, kept: list[StoredPayload], result: Result) -> None:
    """Prints the complete output as it is. Raises PayloadGone."""
    out = sys.stdout.buffer
    if not kept:
        out.write(find_inline_content(result).data)
    for one in kept:
        async for chunk in payloads.stream(one.uri):
            out.write(chunk)
    out.flush()


async def save_output(
    payloads: FilePayloads, kept: list[StoredPayload], result: Result, target: str, force: bool
) -> list[SavedFile]:
    """Saves the output to a file, or all stored outputs into a folder. Raises PayloadGone, WorkspaceError."""
    path = Path(target)
    if len(kept) > 1 and not path.is_dir():
        raise WorkspaceError(f"{len(kept)} outputs are stored of this call; name a folder that exists to save them in")
    if not kept:
        content = find_inline_content(result)
        where = path / f"{result.invocation_id}{content.suffix}" if path.is_dir() else path
        return [await _write(where, _once(content.data), len(content.data), force=force, is_verified=False)]
    saved = []
    for one in kept:
        where = path / _name(one) if path.is_dir() else path
        saved.append(await _write(where, payloads.stream(one.uri), one.size, force=force, is_verified=True))
    return saved


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _name(kept: StoredPayload) -> str:
    address = address_of(kept.uri)
    number = address.number if address is not None else 0
    suffix = mimetypes.guess_extension(kept.media_type.split(";")[0]) or ".bin"
    return kept.name or f"{kept.owner.invocation_id}-{number}{suffix}"


async def _write(path: Path, chunks: AsyncIterator[bytes], size: int, *, force: bool, is_verified: bool) -> SavedFile:
    """Writes a temporary file and renames it, so that a file of this name is always complete."""
    if path.exists() and not force:
        raise WorkspaceError(f"{path} is there already; --force replaces it")
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    done = 0
    try:
        with open(part, "xb") as file, ProgressBar("bytes") as bar:
            async for chunk in chunks:
                file.write(chunk)
                done += len(chunk)
                bar(done, size)
            file.flush()
            os.fsync(file.fileno())
        if force:
            os.replace(part, path)
        else:
            os.link(part, path)  # fails where a file appeared meanwhile
    except FileExistsError:
        raise WorkspaceError(f"{path} is there already; --force replaces it") from None
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            os.unlink(part)
    return SavedFile(path, done, is_verified)


class StoredOutput(NamedTuple):
    """One stored output of the call, or why it is unavailable."""

    uri: str
    kept: StoredPayload | None
    gone: PayloadGone | None


class CallOutputs(NamedTuple):
    """A call, how it ended, and its stored outputs."""

    story: Story
    answer: Result | Pending
    stored: list[StoredOutput]


@click.command()
@click.argument("call", metavar="ID", shell_complete=calls_here)
@click.option(
    "--save", "target", metavar="PATH", help="Save the whole output to this file, or under its name in this folder."
)
@click.option("--force", is_flag=True, help="With --save: overwrite an existing file.")
@click.option("--raw", "is_raw", is_flag=True, help="Print only the output, unchanged.")
@click.option("--json", "as_json", is_flag=True, help="Print the result's record as JSON, for programs.")
@click.option("--workspace", "path", default=".", type=click.Path(), help="Look in the workspace around this path.")
def command(call: str, target: str | None, force: bool, is_raw: bool, as_json: bool, path: str) -> int:
    """Show how one call ended and what came of it. ID may be shortened; `last` is the newest call.

    What was too large to show is stored: --save writes it to a file and verifies it on the way.
    """
    if sum((target is not None, is_raw, as_json)) > 1:
        raise click.UsageError("--save, --raw and --json exclude one another")
    if force and target is None:
        raise click.UsageError("--force goes with --save")
    return asyncio.run(_run(path, call, target, force, is_raw, as_json))


async def _run(path: str, call: str, target: str | None, force: bool, is_raw: bool, as_json: bool) -> int:
    settings = Workspace.open(path)
    store = FilePayloads(settings.root / settings.settings.results.path, Clock().now)
    try:
        found = await _find_result(path, call, store)
        if target is not None or is_raw:
            return await _deliver_output(found, store, target, force)
    finally:
        await store.aclose()
    if as_json:
        click.echo(json_text(_record(found)))
    else:
        for line in _lines(found):
            sys.stdout.write(line + "\n")
    return exit_code_of(found.answer)


async def _find_result(path: str, call: str, payloads: FilePayloads) -> CallOutputs:
    async with open_ledger(path) as store:
        rows = await find_call(store, call)
        opened = await store.find_open(rows[0].call)
    answer = read_answer(rows, opened.state if opened is not None else None)
    if answer is None:
        raise LedgerError(f"the ledger has no rows of {call}")
    return CallOutputs(
        Story(rows), answer, [await _list_stored(payloads, rows, uri) for uri in list_payload_uris(rows)]
    )


async def _list_stored(payloads: FilePayloads, rows: Sequence[StoredEntry], uri: str) -> StoredOutput:
    try:
        return StoredOutput(uri, await payloads.describe(uri), None)
    except PayloadGone as gone:
        return StoredOutput(uri, None, why_gone(rows, uri, gone, Clock().now()))


async def _deliver_output(found: CallOutputs, payloads: FilePayloads, target: str | None, force: bool) -> int:
    """Writes the complete output into a file or to standard output."""
    if isinstance(found.answer, Pending):
        click.echo(f"there is nothing to save yet: {sanitize(found.answer.message)}", err=True)
        return WAITS
    missing = next((stored.gone for stored in found.stored if stored.gone is not None), None)
    if missing is not None:
        click.echo(f"the output cannot be had: {missing}", err=True)
        return ENDED_WITH_ERROR
    kept = [stored.kept for stored in found.stored if stored.kept is not None]
    try:
        if target is None:
            await print_output(payloads, kept, found.answer)
            return SUCCEEDED
        for saved in await save_output(payloads, kept, found.answer, target, force):
            click.echo(_result_lines(saved))
    except PayloadGone as gone:
        click.echo(f"the output cannot be had: {gone}; nothing was written", err=True)
        return ENDED_WITH_ERROR
    return SUCCEEDED


def _result_lines(saved: SavedFile) -> str:
    verified = ", verified" if saved.is_verified else ""
    return f"saved {saved.size:,} bytes to {saved.path}{verified}"


def _record(found: CallOutputs) -> JsonObject:
    if isinstance(found.answer, Pending):
        return {**make_record(found.answer), "is_pending": True}
    notes = found.story.notes
    stored = [
        {"uri": stored.uri, "is_there": stored.gone is None, "reason": stored.gone.reason if stored.gone else None}
        for stored in found.stored
    ]
    return {**make_record(found.answer), "persistence": notes.get("persistence", []), "stored": stored}


def _lines(found: CallOutputs) -> list[str]:
    story, answer = found.story, found.answer
    if isinstance(answer, Pending):
        return [f"{story.invocation_id}  {sanitize(story.header.tool_name)}  {answer.state}", sanitize(answer.message)]
    took = format_duration(story.duration_ms)
    lines = [f"{story.invocation_id}  {sanitize(story.header.tool_name)}  {answer.status}  {took}"]
    if answer.error is not None:
        lines.append(f"{answer.error.error_class}: {sanitize(answer.error.message)}")
    if story.is_erased:
        lines.append("its content was erased; that it was called, by whom and how it ended stays on record")
    elif answer.error is None or find_inline_content(answer).data.decode(errors="replace") != answer.error.message:
        lines += ["", *map(sanitize, answer.text.split("\n"))]
    if answer.redaction_state != "none":
        taken = ", ".join(map(str, story.notes.get("redactions", ()))) or "withheld"
        lines += ["", f"redacted ({answer.redaction_state}): {sanitize(taken)}"]
    if found.stored:
        lines += ["", *(_stored_line(stored, story.invocation_id) for stored in found.stored)]
    return lines


def _stored_line(stored: StoredOutput, invocation_id: str) -> str:
    if stored.kept is None:
        return f"stored: {stored.gone}"
    kept = stored.kept
    until = f", until {kept.ref['expires_at'][:10]}" if kept.expires_at is not None else ""
    private = ", private" if kept.access == "protected" else ""
    return (
        f"stored: {kept.size:,} bytes, {kept.media_type}{private}{until};"
        f" ferrule result {invocation_id} --save {sanitize(kept.name) or 'FILE'}"
    )
