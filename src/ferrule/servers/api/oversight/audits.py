"""The ledger for auditors: verification, its signed head, and exports that can be verified offline.

`app/custody` does the work; `audit_checks` runs checks in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from typing import Annotated, Literal

import msgspec

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.exports import find_rows_between, stream_calls, stream_rows
from ferrule.app.custody.paths import LedgerPaths, ledger_paths, load_public_keys, translate_damage
from ferrule.errors import FerruleError, LedgerError
from ferrule.ledger.stores.sqlite.raw import SqliteSource
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.replies import NO_STORE, AnyReply, JsonReply, Problem
from ferrule.servers.api.route import LINES_TYPE
from ferrule.servers.api.shapes import Record, Time, describe, parse_moment
from ferrule.servers.asgi import HttpStream
from ferrule.workspace.workspace import Workspace

_CHUNK = 256 * 1024
_Row = Annotated[int, msgspec.Meta(ge=1, le=10**15)]
_Word = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class LedgerHead(msgspec.Struct, kw_only=True):
    """The signed last row."""

    ledger: str
    seq: int
    hash: Annotated[str, describe("Hexadecimal.")]
    at: str
    signature: Annotated[bytes, describe("Ed25519, over the rows so far; base64.")]


class HeadList(msgspec.Struct, kw_only=True):
    """The heads of the ledger: one, unless somebody tampered with it."""

    items: list[LedgerHead]


class Verification(msgspec.Struct, kw_only=True):
    """The result of a full check of the ledger."""

    is_clean: bool
    ledger: str
    rows: int
    first_seq: int
    last_seq: int
    head_hash: str
    findings: list[Record]
    finding_count: int
    notes: Annotated[list[str], describe("What the check could not see.")]
    seconds: float


class ExportQuery(msgspec.Struct, kw_only=True, rename={"first": "from", "last": "to"}):
    """The part to export, and its form."""

    first: Annotated[_Row | None, describe("The first row.")] = None
    last: Annotated[_Row | None, describe("The last row; such a part is sealed with the ledger's key.")] = None
    what: Annotated[Literal["rows", "calls"], describe("Rows that prove themselves, or readable records of calls.")] = (
        "rows"
    )
    payloads: Annotated[bool, describe("With rows: inputs and results too, as the ledger has them.")] = False
    since: Annotated[Time | None, describe("Only rows from this moment on, RFC 3339.")] = None
    until: Annotated[Time | None, describe("Only rows before this moment.")] = None
    tool: Annotated[_Word | None, describe("With calls: only those of this tool id.")] = None
    principal: Annotated[_Word | None, describe("With calls: only those on behalf of this one.")] = None


async def get_heads(ask: Ask) -> AnyReply:
    """Returns the ledger's signed head."""
    paths = await flush_ledger(ask)
    return JsonReply(HeadList(items=await asyncio.to_thread(_read_heads, paths)))


def _read_heads(paths: LedgerPaths) -> list[LedgerHead]:
    with SqliteSource(paths.ledger) as source, translate_damage(paths.ledger):
        return [
            LedgerHead(
                ledger=head.ledger, seq=head.seq, hash=head.hash.hex(), at=iso(head.at), signature=head.signature
            )
            for head in source.heads()
        ]


async def verify_audit(ask: Ask) -> AnyReply:
    """Verifies every row, the signed head, the tables derived from the rows, and the witness."""
    paths = await flush_ledger(ask)
    async with ask.background.lock_for("audit verify"):
        verdict = await asyncio.to_thread(verify_ledger, paths.ledger, load_public_keys(paths), witness=paths.witness)
    return JsonReply({"is_clean": verdict.is_clean, **msgspec.to_builtins(verdict)})


async def export_audit(ask: Ask) -> AnyReply:
    """Exports the ledger, or a part of it, as lines of JSON."""
    wanted, paths = ask.query(ExportQuery), await flush_ledger(ask)
    first, last = await _find_range(paths, wanted)
    if wanted.what == "calls":
        lines = stream_calls(paths, first=first, last=last, is_wanted=_make_filter(wanted))
    elif wanted.tool or wanted.principal:
        detail = "rows that prove themselves cannot be left out; choose by tool or principal with what=calls"
        raise Problem(409, "cannot_be_exported", detail)
    else:
        lines = stream_rows(paths, first=first, last=last, has_payloads=wanted.payloads)
    try:
        # Before any header is sent: what cannot be exported is still a problem, and no stream that breaks off.
        beginning = await asyncio.to_thread(_read_chunk, lines)
    except LedgerError as error:
        raise Problem(409, "cannot_be_exported", hide_path(paths, error)) from None
    headers = ((b"content-type", LINES_TYPE.encode()), NO_STORE)
    return HttpStream(200, _stream_export(ask, lines, beginning), headers)


async def _find_range(paths: LedgerPaths, wanted: ExportQuery) -> tuple[int, int | None]:
    """Returns the first and last row to export, from row numbers and times. Raises Problem."""
    first, last = wanted.first or 0, wanted.last
    since, until = parse_moment("since", wanted.since), parse_moment("until", wanted.until)
    if since is None and until is None:
        return first, last
    try:
        begin, end = await asyncio.to_thread(find_rows_between, paths, since, until)
    except LedgerError as error:
        raise Problem(409, "cannot_be_exported", hide_path(paths, error)) from None
    ends = [one for one in (last, end) if one is not None]
    return max(first, begin), min(ends) if ends else None


def _make_filter(wanted: ExportQuery) -> Callable[[JsonObject], bool] | None:
    if not (wanted.tool or wanted.principal):
        return None
    actor = None if wanted.principal is None else f"principal:{wanted.principal}"
    return lambda record: wanted.tool in (None, record["tool_id"]) and actor in (None, record["actor_ref"])


async def _stream_export(ask: Ask, lines: Generator[bytes], part: bytes) -> AsyncIterator[bytes]:
    gone = asyncio.ensure_future(ask.request.wait_until_gone())
    try:
        while part and not gone.done():
            # SQLite blocks, so each chunk is read in a thread; a client that leaves ends the export at the next
            # chunk.
            yield part
            part = await asyncio.to_thread(_read_chunk, lines)
    finally:
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await asyncio.to_thread(lines.close)


def _read_chunk(lines: Generator[bytes]) -> bytes:
    """Returns the next lines, up to about a chunk; nothing at the end."""
    parts, size = [], 0
    for line in lines:
        parts.append(line)
        size += len(line)
        if size >= _CHUNK:
            break
    return b"".join(parts)


async def flush_ledger(ask: Ask) -> LedgerPaths:
    """Returns the paths of the ledger after writing everything recorded so far. Raises Problem."""
    app = ask.edge.app
    paths = ledger_paths(Workspace.open(app.root))
    if not paths.ledger.is_file():
        raise Problem(409, "no_ledger_file", "this workspace keeps no ledger on disk")
    await app.store.flush()
    return paths


def hide_path(paths: LedgerPaths, error: FerruleError) -> str:
    """Returns a message without the path of the ledger, which callers need not know."""
    # Messages say "the ledger PATH", which would become "the ledger the ledger".
    return str(error).replace(str(paths.ledger), "the ledger").replace("the ledger the ledger", "the ledger")
