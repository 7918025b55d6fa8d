"""The ledger as auditors see it: whether it is what was written, its signed head, and copies that prove themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from typing import Annotated, Any, Literal

import msgspec

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.exports import exported_calls, exported_rows, rows_between
from ferrule.app.custody.paths import LedgerPaths, damage_told, ledger_paths, public_keys
from ferrule.errors import FerruleError, LedgerError
from ferrule.ledger.stores.sqlite.raw import SqliteSource
from ferrule.model.timestamps import iso
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.replies import NO_STORE, Problem, Replied, Reply
from ferrule.servers.api.route import LINES_TYPE
from ferrule.servers.api.shapes import Record, Time, moment, says
from ferrule.servers.asgi import Stream
from ferrule.workspace.workspace import Workspace

_CHUNK = 256 * 1024
_Row = Annotated[int, msgspec.Meta(ge=1, le=10**15)]
_Word = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class LedgerHead(msgspec.Struct, kw_only=True):
    """The signed last row."""

    ledger: str
    seq: int
    hash: Annotated[str, says("Hexadecimal.")]
    at: str
    signature: Annotated[bytes, says("Ed25519, over the rows so far; base64.")]


class HeadList(msgspec.Struct, kw_only=True):
    """The heads of the ledger: one, unless somebody tampered with it."""

    items: list[LedgerHead]


class Verification(msgspec.Struct, kw_only=True):
    """What a check of the whole ledger gave."""

    is_clean: bool
    ledger: str
    rows: int
    first_seq: int
    last_seq: int
    head_hash: str
    findings: list[Record]
    finding_count: int
    notes: Annotated[list[str], says("What the check could not see.")]
    seconds: float


class ExportQuery(msgspec.Struct, kw_only=True, rename={"first": "from", "last": "to"}):
    """What to export."""

    first: Annotated[_Row | None, says("The first row.")] = None
    last: Annotated[_Row | None, says("The last row; such a part is sealed with the ledger's key.")] = None
    what: Annotated[Literal["rows", "calls"], says("Rows that prove themselves, or readable records of calls.")] = (
        "rows"
    )
    payloads: Annotated[bool, says("With rows: inputs and results too, as the ledger has them.")] = False
    since: Annotated[Time | None, says("Only rows from this moment on, RFC 3339.")] = None
    until: Annotated[Time | None, says("Only rows before this moment.")] = None
    tool: Annotated[_Word | None, says("With calls: only those of this tool id.")] = None
    principal: Annotated[_Word | None, says("With calls: only those on behalf of this one.")] = None


async def get_heads(ask: Ask) -> Replied:
    """The ledger's signed head."""
    paths = await paths_of(ask)
    return Reply(HeadList(items=await asyncio.to_thread(_heads, paths)))


def _heads(paths: LedgerPaths) -> list[LedgerHead]:
    with SqliteSource(paths.ledger) as source, damage_told(paths.ledger):
        return [
            LedgerHead(
                ledger=head.ledger, seq=head.seq, hash=head.hash.hex(), at=iso(head.at), signature=head.signature
            )
            for head in source.heads()
        ]


async def verify_audit(ask: Ask) -> Replied:
    """Check every row, the signed head, the tables that follow from the rows, and the witness."""
    paths = await paths_of(ask)
    async with ask.background.alone("audit verify"):
        verdict = await asyncio.to_thread(verify_ledger, paths.ledger, public_keys(paths), witness=paths.witness)
    return Reply({"is_clean": verdict.is_clean, **msgspec.to_builtins(verdict)})


async def export_audit(ask: Ask) -> Replied:
    """The ledger, or a part of it, as lines of JSON."""
    wanted, paths = ask.query(ExportQuery), await paths_of(ask)
    first, last = await _range(paths, wanted)
    if wanted.what == "calls":
        lines = exported_calls(paths, first=first, last=last, is_wanted=_filter(wanted))
    elif wanted.tool or wanted.principal:
        detail = "rows that prove themselves cannot be left out; choose by tool or principal with what=calls"
        raise Problem(409, "cannot_be_exported", detail)
    else:
        lines = exported_rows(paths, first=first, last=last, has_payloads=wanted.payloads)
    try:
        beginning = await asyncio.to_thread(_some, lines)
    except LedgerError as error:
        raise Problem(409, "cannot_be_exported", plain(paths, error)) from None
    headers = ((b"content-type", LINES_TYPE.encode()), NO_STORE)
    return Stream(200, _exported(ask, lines, beginning), headers)


async def _range(paths: LedgerPaths, wanted: ExportQuery) -> tuple[int, int | None]:
    """The rows that are meant, by their numbers and by their time. Raises Problem."""
    first, last = wanted.first or 0, wanted.last
    since, until = moment("since", wanted.since), moment("until", wanted.until)
    if since is None and until is None:
        return first, last
    try:
        begin, end = await asyncio.to_thread(rows_between, paths, since, until)
    except LedgerError as error:
        raise Problem(409, "cannot_be_exported", plain(paths, error)) from None
    ends = [one for one in (last, end) if one is not None]
    return max(first, begin), min(ends) if ends else None


def _filter(wanted: ExportQuery) -> Callable[[dict[str, Any]], bool] | None:
    if not (wanted.tool or wanted.principal):
        return None
    actor = None if wanted.principal is None else f"principal:{wanted.principal}"
    return lambda record: wanted.tool in (None, record["tool_id"]) and actor in (None, record["actor_ref"])


async def _exported(ask: Ask, lines: Generator[bytes], part: bytes) -> AsyncIterator[bytes]:
    gone = asyncio.ensure_future(ask.request.gone())
    try:
        while part and not gone.done():
            yield part
            part = await asyncio.to_thread(_some, lines)
    finally:
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await asyncio.to_thread(lines.close)


def _some(lines: Generator[bytes]) -> bytes:
    """The next lines, up to about a chunk; nothing at the end."""
    parts, size = [], 0
    for line in lines:
        parts.append(line)
        size += len(line)
        if size >= _CHUNK:
            break
    return b"".join(parts)


async def paths_of(ask: Ask) -> LedgerPaths:
    """Where the ledger is, with everything written that was recorded so far. Raises Problem."""
    app = ask.edge.app
    paths = ledger_paths(Workspace.open(app.root))
    if not paths.ledger.is_file():
        raise Problem(409, "no_ledger_file", "this workspace keeps no ledger on disk")
    await app.store.flush()
    return paths


def plain(paths: LedgerPaths, error: FerruleError) -> str:
    """A message without the place of the file, which is nobody's business over the network."""
    return str(error).replace(str(paths.ledger), "the ledger").replace("the ledger the ledger", "the ledger")
