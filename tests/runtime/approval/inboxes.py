"""A ledger with parked calls, and inboxes over it: everything an inbox needs, without a pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from ferrule.contracts.store import CommitCondition
from ferrule.errors import FerruleError
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.approval import APPROVE, CALL, Answer, ApprovalRequest, Identity, binding_of, seal_record
from ferrule.model.decision import Requirement
from ferrule.model.failure import Stop, tool_error
from ferrule.model.journal import Entry, Header, Mark, Payload, Segment, encode
from ferrule.model.result import Result
from ferrule.runtime.approval.inbox import Inbox
from ferrule.runtime.approval.key import ApprovalKey
from tests.runtime.approval.requests import HOUR, INPUT, START

HEADER = Header("refund", "refund", "1.0.0", "aa", "shop", "s", "c", "p", "alice", "support", "token:agent", "t", "r")


def make_identity(name: str, *scopes: str, groups: tuple[str, ...] = (), channel: str | None = None) -> Identity:
    """Somebody who comes with a token of their own."""
    return Identity(name, channel or f"token:{name}", frozenset(scopes or (APPROVE,)), frozenset(groups))


AGENT = make_identity("agents", CALL, channel="token:agent")


class FakeInboxes:
    """Use it inside an event loop: `await desk.open()` first."""

    def __init__(self) -> None:
        self.now = START
        self.key = ApprovalKey(b"r" * 32)
        self.store = MemoryStore(clock=lambda: START)
        self.resumed: list[str] = []
        self.closed: list[tuple[str, Stop, Answer]] = []
        self.accepted: list[dict[str, object]] = []
        self.rule_problem: FerruleError | None = None
        self.edit_problem: str | None = None
        self.before_commit: Any = None
        """Something to happen between an inbox's look and its write: an awaitable function, called once."""

    async def open(self) -> FakeInboxes:
        await self.store.open()
        commit = self.store.commit

        async def interrupted(entry: Entry, condition: CommitCondition = CommitCondition()) -> Any:  # noqa: B008
            meanwhile, self.before_commit = self.before_commit, None
            if meanwhile is not None:
                await meanwhile()
            return await commit(entry, condition)

        self.store.commit = interrupted  # type: ignore[method-assign]
        return self

    def inbox(self, who: Identity) -> Inbox:
        return Inbox(
            self.store, self.key, who, lambda: self.now, self._resume, self._validate, self._close, self._accept
        )  # fmt: skip

    async def park(
        self, call: str = "inv_1", requirement: Requirement | None = None, *, call_input: bytes = INPUT, **changes: Any
    ) -> ApprovalRequest:
        """A call that waits for an approval. `changes` may have `shown`: the input with its masks."""
        shown = changes.pop("shown", None)
        request = self.request(call, requirement, call_input, **changes)
        payload = Payload(shown or call_input)
        if shown is not None:
            payload.sealed_input = self.key.seal(call, msgspec.msgpack.encode((call_input, call_input)))
        await self.write("parked", call, "awaiting_approval", request=request, payload=payload)
        return request

    def request(
        self, call: str, requirement: Requirement | None = None, call_input: bytes = INPUT, **changes: Any
    ) -> ApprovalRequest:
        fields: dict[str, Any] = {
            "invocation_id": call,
            "tool_id": "refund",
            "tool_version": "1.0.0",
            "tool_digest": "aa",
            "tool_title": "Refund a payment",
            "principal": "alice",
            "agent": "support",
            "channel": "token:agent",
            "tenant": "t",
            "requested_at": self.now,
            "expires_at": self.now + HOUR,
            "requirement": requirement or Requirement(),
            "message": "rule refunds asks",
            "risk": "high",
        } | changes
        binding = binding_of(
            self.key.secret,
            call_input=call_input,
            **{name: fields[name] for name in ("invocation_id", "tool_digest", "principal", "agent", "expires_at")},
        )
        return seal_record(self.key.secret, ApprovalRequest(binding=binding, **fields))

    async def write(
        self, kind: Any, call: str, state: str, *, request: ApprovalRequest | None = None, payload: Payload | None = None,
        answer: Answer | None = None, is_last: bool = False,
    ) -> None:  # fmt: skip
        """A row as the pipeline writes it."""
        segment = Segment(msgspec.Raw(encode(HEADER)), START, [], [], request=request, answer=answer)
        expires_at = request.expires_at if request is not None and request.purpose == "approval" else None
        mark = Mark("" if is_last else state, "", expires_at, "refund", "alice", "support", "t")
        entry = Entry(kind, call, max(self.now, self.store.high_water()), "refund", state, segment, payload, mark)
        assert (await self.store.commit(entry)).outcome == "written"

    async def states(self, call: str = "inv_1") -> list[tuple[str, str]]:
        """The kinds and outcomes of a call's rows."""
        return [(row.kind, row.outcome) for row in await self.store.rows_of(call)]

    async def _resume(self, call: str) -> Result:
        self.resumed.append(call)
        await self.write("started", call, "running")
        await self.write("ended", call, "succeeded", is_last=True)
        return Result(invocation_id=call, status="succeeded", created_at=self.now)

    async def _validate(self, call: str, edited: bytes) -> str | None:
        return self.edit_problem

    async def _close(self, call: str, stop: Stop, answer: Answer, /, *, seq: int) -> Result | None:
        opened = await self.store.find_open(call)
        if opened is None or opened.seq != seq:
            return None
        self.closed.append((call, stop, answer))
        await self.write("ended", call, "denied", answer=answer, is_last=True)
        error = tool_error(stop, has_run=False, is_repeatable=False)
        return Result(invocation_id=call, status="rejected", created_at=self.now, error=error)

    async def _accept(self, update: dict[str, object]) -> None:
        if self.rule_problem is not None:
            raise self.rule_problem
        self.accepted.append(update)


ADA, BOB, CARL = make_identity("ada"), make_identity("bob"), make_identity("carl")


def run(main: Callable[[FakeInboxes], Awaitable[None]]) -> FakeInboxes:
    """Run a story at a desk."""
    desk = FakeInboxes()

    async def whole() -> None:
        await main(await desk.open())

    asyncio.run(asyncio.wait_for(whole(), 20))
    return desk
