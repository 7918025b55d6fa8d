"""The ledger over HTTP: its state, full checks that run in the background, and the rows around a break.

`app/custody` reads and verifies; `audits` exports. One check runs at a time.
"""

from __future__ import annotations

import asyncio
import time
from typing import Annotated
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import msgspec

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.paths import LedgerPaths, load_public_keys
from ferrule.app.custody.state import LedgerMark, find_ends, list_links, list_marks, read_last_head
from ferrule.definitions.compiler.seal import read_trusted_keys
from ferrule.errors import FerruleError
from ferrule.ledger.audit.findings import AuditVerdict
from ferrule.model.timestamps import iso
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.oversight.audits import LedgerHead, Verification, flush_ledger, hide_path
from ferrule.servers.api.replies import AnyReply, JsonReply, Problem
from ferrule.servers.api.shapes import describe
from ferrule.servers.edge import Edge
from ferrule.settings import load_settings

_MARKS = 200


class WitnessState(msgspec.Struct, kw_only=True):
    """The place outside the ledger that keeps its signed heads."""

    name: Annotated[str, describe("A file of the workspace, or the host that is told.")]
    seq: Annotated[int | None, describe("The last row it saw; null where that cannot be read here.")]
    at: str | None


class UpkeepMark(msgspec.Struct, kw_only=True):
    """A maintenance step that is recorded in the ledger."""

    seq: int
    at: str
    deed: Annotated[str, describe("`opened`, `restored`, `erased` or `pruned`.")]
    by: str
    told: str


class AuditCheckState(msgspec.Struct, kw_only=True):
    """A full check of the ledger: its progress, and the result of the last one."""

    is_running: bool
    began_at: str | None = None
    rows_done: int = 0
    rows_total: int = 0
    problem: Annotated[str | None, describe("Why the last check could not be made.")] = None
    checked_at: str | None = None
    result: Annotated[Verification | None, describe("What the last check of this process gave.")] = None


class AuditState(msgspec.Struct, kw_only=True):
    """The state of the ledger. Nothing is verified here."""

    ledger: str
    rows: int
    first_seq: int
    first_at: str | None
    last_seq: int
    last_at: str | None
    size_bytes: int
    heads: list[LedgerHead]
    keys: Annotated[int, describe("How many public keys are trusted to have signed it.")]
    witness: WitnessState | None
    marks: Annotated[list[UpkeepMark], describe("What was done to it, newest first.")]
    marks_total: int
    check: AuditCheckState


class LinkQuery(msgspec.Struct, kw_only=True):
    """The rows to show."""

    around: Annotated[int, describe("The row in the middle.", ge=1, le=10**15)] = 1
    count: Annotated[int, describe("How many before it, and after it.", ge=0, le=20)] = 2


class ChainLink(msgspec.Struct, kw_only=True):
    """One row of the chain, without its content."""

    seq: int
    kind: str
    invocation_id: str
    at: str | None
    tool: str
    outcome: str
    is_erased: bool
    hash: str
    is_whole: Annotated[bool, describe("True when it is what was hashed, and follows the row before.")]
    follows_gap: Annotated[bool, describe("True when rows before it are missing.")]


class ChainLinks(msgspec.Struct, kw_only=True):
    """Rows in order."""

    items: list[ChainLink]


class _Stopped(Exception):
    """Ends a check because the process stops."""


class _Check:
    """The checks of one process: one at a time."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._task: asyncio.Task[None] | None = None
        self.state = AuditCheckState(is_running=False)
        self.marks: tuple[int, list[LedgerMark]] = (0, [])
        """The last row that was searched for marks, and the marks found."""
        edge.closing.append(self.aclose)

    def start(self, ask: Ask, paths: LedgerPaths) -> None:
        """Starts a check in the background, unless one is running."""
        if self._task is None or self._task.done():
            now = iso(ask.edge.app.services.now())
            self.state = msgspec.structs.replace(
                self.state, is_running=True, began_at=now, rows_done=0, rows_total=0, problem=None
            )
            self._task = ask.background.start(self._run(ask, paths))

    async def _run(self, ask: Ask, paths: LedgerPaths) -> None:
        result, problem = self.state.result, None
        try:
            async with ask.background.lock_for("audit verify"):
                verdict = await asyncio.to_thread(self._verify, paths)
            result = _encode_verdict(verdict)
        except FerruleError as error:
            problem = hide_path(paths, error)
        except _Stopped:
            problem = "the server was stopped"
        finally:
            self.state = AuditCheckState(
                is_running=False,
                began_at=self.state.began_at,
                problem=problem,
                checked_at=iso(time.time_ns() // 1000) if problem is None else self.state.checked_at,
                result=result,
            )

    def _verify(self, paths: LedgerPaths) -> AuditVerdict:
        return verify_ledger(
            paths.ledger, load_public_keys(paths), witness=paths.witness, progress=self._report_progress
        )

    def _report_progress(self, done: int, total: int) -> None:
        # This runs in the thread of the check, which nothing but an exception ends early.
        if self._edge.is_closing:
            raise _Stopped
        self.state.rows_done, self.state.rows_total = done, total

    async def aclose(self) -> None:
        """Waits until a running check has stopped."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)


_checks: WeakKeyDictionary[Edge, _Check] = WeakKeyDictionary()


def _find_check(edge: Edge) -> _Check:
    found = _checks.get(edge)
    if found is None:
        found = _checks[edge] = _Check(edge)
    return found


def _encode_verdict(verdict: AuditVerdict) -> Verification:
    return msgspec.convert({"is_clean": verdict.is_clean, **msgspec.to_builtins(verdict)}, Verification)


async def get_audit(ask: Ask) -> AnyReply:
    """Returns the state of the ledger."""
    paths, check = await flush_ledger(ask), _find_check(ask.edge)
    try:
        ends = await asyncio.to_thread(find_ends, paths)
        seen_to, known = check.marks
        known = [*known, *await asyncio.to_thread(list_marks, paths, seen_to)]
        check.marks = (ends.last_seq, known)
    except FerruleError as error:
        raise Problem(409, "cannot_be_read", hide_path(paths, error)) from None
    state = AuditState(
        ledger=ends.heads[0].ledger if ends.heads else "",
        rows=ends.last_seq - ends.first_seq + 1 if ends.last_seq else 0,
        first_seq=ends.first_seq,
        first_at=_format_time(ends.first_at),
        last_seq=ends.last_seq,
        last_at=_format_time(ends.last_at),
        size_bytes=ends.size_bytes,
        heads=[
            LedgerHead(ledger=one.ledger, seq=one.seq, hash=one.hash.hex(), at=iso(one.at), signature=one.signature)
            for one in ends.heads
        ],
        keys=len(read_trusted_keys(paths.public)),
        witness=await asyncio.to_thread(_read_witness, ask, paths),
        marks=[
            UpkeepMark(seq=one.seq, at=iso(one.at), deed=one.deed, by=one.by, told=one.told)
            for one in known[: -_MARKS - 1 : -1]
        ],
        marks_total=len(known),
        check=check.state,
    )
    return JsonReply(state)


def _format_time(at: int) -> str | None:
    return iso(at) if isinstance(at, int) and at > 0 else None


def _read_witness(ask: Ask, paths: LedgerPaths) -> WitnessState | None:
    name = load_settings(ask.edge.app.root).ledger.witness
    if not name:
        return None
    if paths.witness is None:
        return WitnessState(name=urlsplit(name).hostname or "an address", seq=None, at=None)
    seen = read_last_head(paths.witness)
    return WitnessState(name=name, seq=seen.seq if seen else None, at=iso(seen.at) if seen else None)


async def begin_audit_check(ask: Ask) -> AnyReply:
    """Starts a full check of the ledger in the background."""
    paths, check = await flush_ledger(ask), _find_check(ask.edge)
    check.start(ask, paths)
    return JsonReply(check.state, status=202)


async def get_audit_check(ask: Ask) -> AnyReply:
    """Returns the progress of the check and the last result."""
    return JsonReply(_find_check(ask.edge).state)


async def list_chain_links(ask: Ask) -> AnyReply:
    """Lists the rows around one, each checked against its hash."""
    wanted, paths = ask.query(LinkQuery), await flush_ledger(ask)
    try:
        found = await asyncio.to_thread(list_links, paths, wanted.around, wanted.count)
    except FerruleError as error:
        raise Problem(409, "cannot_be_read", hide_path(paths, error)) from None
    items = [
        ChainLink(
            seq=one.seq,
            kind=one.kind,
            invocation_id=one.call,
            at=_format_time(one.at),
            tool=one.tool,
            outcome=one.outcome,
            is_erased=one.is_erased,
            hash=one.hash,
            is_whole=one.is_whole,
            follows_gap=one.follows_gap,
        )
        for one in found
    ]
    return JsonReply(ChainLinks(items=items))
