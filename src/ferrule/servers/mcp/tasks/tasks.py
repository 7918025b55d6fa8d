"""The Tasks extension: a call that takes long, or waits for a person, becomes a task that its client polls (section
24).

A task is a call in the ledger. Its id names the call and proves that this workspace issued it to this caller, so there
is no table of tasks: any process of the workspace knows every task, also after a crash, and nobody can forge one. A
task's result is the one that `tools/call` would have returned.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Unreadable
from collections import Counter
from collections.abc import Coroutine
from typing import Any, NamedTuple, TypeVar

from ferrule.errors import LedgerError
from ferrule.model.result import Pending, Result
from ferrule.model.timestamps import iso
from ferrule.model.tool import TaskUse
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.pulse import surface_call
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.server import Exchange, McpService
from ferrule.servers.mcp.wire.messages import INVALID_REQUEST, MISSING_CAPABILITY, TASKS, Params, RpcError

_LABEL = b"ferrule mcp task 1"
_PREFIX = "inv_"
_CALL_BYTES, _TTL_BYTES, _SEAL_BYTES = 12, 5, 16
_LENGTH = _CALL_BYTES + _TTL_BYTES + _SEAL_BYTES
_MOST_MS = (1 << 8 * _TTL_BYTES) - 1


class TaskRef(NamedTuple):
    """The call and lifetime that a task id holds."""

    task_id: str
    invocation_id: str
    ttl_ms: int
    """How long after its call was made it can be asked about."""

    @property
    def created_at(self) -> int:
        """The time its call was made: microseconds since 1970. Every invocation id begins with it."""
        return int(self.invocation_id[len(_PREFIX) : len(_PREFIX) + 14], 16)

    def has_expired(self, now: int) -> bool:
        """True once it is too old to be asked about (MCP-256). `now`: microseconds since 1970."""
        return now - self.created_at > self.ttl_ms * 1000


def make_task_ref(secret: bytes, caller: Caller, invocation_id: str, ttl_ms: int) -> TaskRef:
    """Returns the task id of a call for its caller."""
    said = bytes.fromhex(invocation_id[len(_PREFIX) :]) + min(ttl_ms, _MOST_MS).to_bytes(_TTL_BYTES, "big")
    text = urlsafe_b64encode(said + _seal(secret, caller, said)).decode()
    return TaskRef(text, invocation_id, min(ttl_ms, _MOST_MS))


def open_task_ref(secret: bytes, caller: Caller, text: str, now: int) -> TaskRef | None:
    """Returns the task of an id; None for one that was issued to another caller, was changed, or has expired (MCP-259)."""
    try:
        whole = urlsafe_b64decode(text.encode("ascii"))
    except (Unreadable, ValueError):
        return None
    said, seal = whole[:-_SEAL_BYTES], whole[-_SEAL_BYTES:]
    if len(whole) != _LENGTH or not hmac.compare_digest(seal, _seal(secret, caller, said)):
        return None
    if urlsafe_b64encode(whole).decode() != text:
        return None  # one task has one id
    ref = TaskRef(text, _PREFIX + said[:_CALL_BYTES].hex(), int.from_bytes(said[_CALL_BYTES:], "big"))
    return None if ref.has_expired(now) else ref


def _seal(secret: bytes, caller: Caller, said: bytes) -> bytes:
    state = hmac.new(secret, _LABEL, hashlib.sha256)
    for part in (caller.tenant.encode(), caller.identity.principal.encode(), said):
        # Lengths keep two different pairs of tenant and principal from sealing alike.
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return state.digest()[:_SEAL_BYTES]


_LOOK_SECONDS = 0.05
POLL_RUNNING_MS = 500
NEEDED: JsonObject = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
"""The capability a client has to declare (MCP-243)."""

Outcome = TypeVar("Outcome", bound=Result | Pending | None)


def find_task(exchange: Exchange, task_id: str) -> TaskRef | None:
    """Returns the task of an id; None for one that `open_task_ref` refuses."""
    services = exchange.server.app.services
    return open_task_ref(services.sealing.secret, exchange.caller, task_id, services.wall())


def knows_tasks(exchange: Exchange) -> bool:
    """True when this very request declares the extension (MCP-241)."""
    return exchange.is_modern and TASKS in exchange.client


def decide_task_use(exchange: Exchange, use: TaskUse) -> TaskUse:
    """Returns whether a call may, or must, become a task: its tool says `use`, to a client that knows tasks. Raises
    RpcError for a client that could have declared tasks, did not, and calls a tool that requires them (MCP-243).
    Sessions have no tasks; their calls are awaited (MCP-261)."""
    if use == "never" or not exchange.is_modern:
        return "never"
    if TASKS in exchange.client:
        return use
    if use == "required":
        raise RpcError(MISSING_CAPABILITY, "this tool gives its results as tasks only", NEEDED)
    return "never"


async def wait_or_make_task(
    exchange: Exchange, call: str, work: Coroutine[Any, Any, Outcome], use: TaskUse
) -> Outcome | JsonObject:
    """Waits for a call of a client that knows tasks; returns its outcome in time, or the handle of the task it became.

    `work` carries the call on, and stops it when it is cancelled. A call that asks its client is no task yet, unless
    its tool requires one (MCP-230). Its notifications are sent with its outcome, and dropped for a task (MCP-258).
    """
    back, exchange.back = exchange.back, (held := BufferedBack())
    # A task of the app, not of this request: it goes on when its client gets a handle.
    going = exchange.server.app.services.live.spawn(work)
    try:
        if use != "required":
            await asyncio.wait({going}, timeout=exchange.server.settings.task_after_seconds)
        if not (
            await _wait_until_recorded(exchange.server, call, going)
            and _has_room(exchange.server, exchange.caller, going)
        ):
            await asyncio.wait({going})
    except asyncio.CancelledError:
        going.cancel()
        raise
    if going.done():
        outcome = going.result()
        if use != "required":
            exchange.back = back
            for text in held.texts:
                await back.tell(text)
            return outcome
        if outcome is not None:
            call = outcome.invocation_id  # another one, for a call that was made before under the same key
        # The client may ask any process about its task, so the outcome is durable before the handle leaves.
        await exchange.server.app.store.flush()
    held.is_deaf = True
    return make_task_handle(exchange, call)


class BufferedBack:
    """The way back to a client that may get a task instead: buffers notifications until that is decided."""

    is_pipe = False

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.is_deaf = False

    async def tell(self, text: bytes) -> None:
        """Buffers a notification."""
        if not self.is_deaf:
            self.texts.append(text)

    async def ask(self, method: str, params: Params | None) -> Any:
        """Refuses: this revision has no requests to the client."""
        raise RpcError(INVALID_REQUEST, "this client cannot be asked here")


async def _wait_until_recorded(server: McpService, call: str, going: asyncio.Task[Any]) -> bool:
    """Returns True once the ledger has the call, so that every process finds it (MCP-245), or the call has ended; False
    when the ledger failed."""
    live = server.app.services.live
    while not going.done():
        found = live.calls.get(call)
        if found is not None and found.stage in ("queued", "running"):
            try:
                await surface_call(found)
            except LedgerError:
                return False  # nobody else could find it: it is waited for
            if found.call.recorded is not None:
                return True
        await asyncio.wait({going}, timeout=_LOOK_SECONDS)
    return True


def _has_room(server: McpService, caller: Caller, going: asyncio.Task[Any]) -> bool:
    """Takes a place among a principal's running tasks. False when there are too many: further calls are awaited, in
    line (MCP-290)."""
    running: Counter[tuple[str, str]] = server.kept.setdefault("tasks that run", Counter())
    who = (caller.tenant, caller.identity.principal)
    if going.done():
        return True
    if running[who] >= server.edge.settings.limits.calls_at_once:
        return False
    running[who] += 1

    def release(_: object) -> None:
        running[who] -= 1
        if not running[who]:
            del running[who]

    going.add_done_callback(release)
    return True


def make_task_handle(exchange: Exchange, call: str) -> JsonObject:
    """Returns the handle that a client gets instead of a result (MCP-244). It says `working` even when the call has
    ended since: the client polls."""
    secret = exchange.server.app.services.sealing.secret
    ref = make_task_ref(secret, exchange.caller, call, exchange.server.settings.task_ttl_ms)
    made = iso(ref.created_at)
    return {"resultType": "task", "taskId": ref.task_id, "status": "working", "createdAt": made, "lastUpdatedAt": made,
            "ttlMs": ref.ttl_ms, "pollIntervalMs": POLL_RUNNING_MS}  # fmt: skip
