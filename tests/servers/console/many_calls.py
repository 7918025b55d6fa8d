"""A ledger with many calls in it, as a busy workspace would have: for tests and measurements of pages."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import msgspec

import ferrule
from ferrule.app.custody.paths import ledger_paths
from ferrule.contracts.store import Store
from ferrule.definitions.compiler.seal import load_key
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.failure import RetryAdvice, ToolError
from ferrule.model.journal import Entry, Header, Kind, Mark, Payload, ResultPayload, Segment, encode
from ferrule.model.lifecycle import PHASES, STATES
from ferrule.workspace.workspace import Workspace

_READS = ("search_books", "order_status", "stock_levels", "get_book", "sales_report")
_WRITES = ("refund_order", "restock_book", "email_customer", "delete_account")
_AGENTS = ("shop-assistant", "back-office", "support-bot")
_STEP = 1_000_000
_FAILURE = ToolError(
    error_class="execution_failed",
    error_code="execution_failed",
    message="upstream said 503",
    recoverability="retry_later",
    retry=RetryAdvice(True, False, False, False, False),
)
_MILLISECOND = 1_000_000


async def busy_workspace(folder: Path, count: int, *, span_seconds: int = 24 * 3600) -> list[str]:
    """A workspace whose ledger has so many calls of the last hours in it. Gives their ids, the oldest first."""
    (folder / "ferrule.toml").touch()
    async with ferrule.open(folder):
        pass  # makes the keys
    paths, until = ledger_paths(Workspace.open(folder)), time.time_ns() // 1000
    for file in paths.ledger.parent.glob(f"{paths.ledger.name}*"):
        file.unlink()
    first = until - span_seconds * 1_000_000
    store = SqliteStore(paths.ledger, load_key(paths.key), clock=lambda: first)
    await store.open()
    try:
        return await fill(store, count, until=until, span_seconds=span_seconds)
    finally:
        await store.aclose()


async def fill(
    store: Store, count: int, *, until: int, span_seconds: int = 24 * 3600, seed: int = 1, tenant: str = "default"
) -> list[str]:
    """Write so many calls, spread over the time before `until` (microseconds). Gives their ids, the oldest first."""
    maker = _Maker(Random(seed), tenant)
    first, ids = until - span_seconds * 1_000_000, []
    for number in range(count):
        at = first + span_seconds * 1_000_000 * number // count
        call = f"inv_{at:014x}{number:010x}"
        for entry in maker.call(call, at, number):
            store.record(entry)
        ids.append(call)
        if number % 5_000 == 4_999:
            await store.flush()
    await store.flush()
    return ids


class _Maker:
    def __init__(self, random: Random, tenant: str) -> None:
        self._random = random
        self._headers = {
            (tool, agent): msgspec.Raw(encode(_header(tool, agent, tenant)))
            for tool in (*_READS, *_WRITES)
            for agent in _AGENTS
        }
        self._batch = ("", 0, 0)

    def call(self, call: str, at: int, number: int) -> list[Entry]:
        """The rows of one call: a read is one, an action two; one in a hundred failed, a few were refused."""
        random = self._random
        is_write = number % 8 == 0
        tool = random.choice(_WRITES if is_write else _READS)
        header = self._headers[tool, random.choice(_AGENTS)]
        chance = random.random()
        outcome = (
            "failed" if chance < 0.01 else "denied" if chance < 0.013 else "canceled" if chance < 0.014 else "succeeded"
        )
        took = int(random.lognormvariate(3, 1) * _MILLISECOND)
        states = [STATES.index("planned"), _state(2, "arguments_ready"), _state(3, "running")]
        phases = [(number + 1) * 100_000 << 4 | number for number in range(len(PHASES))]
        notes = self._notes(call, number)
        payload = Payload(b'{"order_id": "o-%d", "amount": %d}' % (number, number % 90))
        result = encode(ResultPayload(({"type": "text", "text": f"done {number}"},), {"ok": True, "number": number}))
        error = _FAILURE if outcome == "failed" else None
        last = _state(took // _MILLISECOND, outcome)
        tool_id = f"shop.{tool}"
        if not is_write:
            segment = Segment(header, at, phases, [*states, last], status=outcome, error=error, notes=notes)
            payload.result = result
            return [_entry("call", call, at, tool_id, outcome, segment, payload)]
        begun = Segment(header, at, phases[:8], states, notes=notes)
        ended = Segment(header, at, phases[8:], [last], status=outcome, error=error)
        mark = Mark(state="running", owner="test", tool_id=tool_id, principal="ada", tenant="default")
        return [
            _entry("started", call, at, tool_id, "running", begun, payload, mark),
            _entry("ended", call, at, tool_id, outcome, ended, Payload(result=result), Mark(tool_id=tool_id)),
        ]

    def _notes(self, call: str, number: int) -> dict[str, object]:
        """Every 500 calls, twelve of them are a batch."""
        place = number % 500
        if place >= 12:
            return {}
        if place == 0:
            self._batch = (f"bat_{call[4:]}", 12, number)
        return {"batch": {"batch_id": self._batch[0], "index": place, "size": self._batch[1]}}


def _entry(
    kind: Kind, call: str, at: int, tool: str, outcome: str, segment: Segment, payload: Payload, mark: Mark | None = None
) -> Entry:  # fmt: skip
    return Entry(kind, call, at, tool, outcome, segment, payload, mark)


def _state(milliseconds: int, state: str) -> int:
    return milliseconds * _STEP << 5 | next(number for number, known in enumerate(STATES) if known == state)


def _header(tool: str, agent: str, tenant: str) -> Header:
    return Header(
        tool_id=f"shop.{tool}",
        tool_name=tool,
        tool_version="1.0.0",
        tool_digest="a" * 64,
        namespace="shop",
        surface_id="srf_" + "b" * 24,
        catalog_digest="c" * 64,
        policy_digest="d" * 64,
        principal="ada",
        agent=agent,
        channel="token:12345678",
        tenant=tenant,
        run_id="run_" + "e" * 24,
        dialect="aml",
        is_read_only=tool in _READS,
    )
