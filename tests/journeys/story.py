"""The moves of a random story: everything agents, people, operators, clocks and accidents may do, in any order."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, ClassVar

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ferrule.errors import AccessError, InboxError
from ferrule.model.journal import StoredEntry
from ferrule.model.result import Pending, Result
from tests.journeys.promises import check, reached
from tests.journeys.world import CATALOGS, PEOPLE, POLICIES, SECRET, TOOLS, World, view

_KEYS = st.sampled_from([None, None, None, "k1", "k2"])
_NUMBERS = st.integers(0, 2)
_PICK = st.integers(0, 5)
_WHO = st.sampled_from(["ada", "bob", "ada", "bob", *PEOPLE])
_CHANGES = ("time", "time", "clock", "sweep", "definitions", "policy", "off", "normal", "normal", "order")


class Story(RuleBasedStateMachine):
    """One process after another on one ledger. Subclasses choose where the ledger is."""

    world: World
    reached: ClassVar[Counter[str]] = Counter()
    """What came about in all stories together, so that a test can tell that they were not about nothing."""

    @rule(tool=st.sampled_from(TOOLS), n=_NUMBERS, key=_KEYS, shared=st.booleans(), card=st.booleans())
    def call(self, tool: str, n: int, key: str | None, shared: bool, card: bool) -> None:
        self.world.run(self._called(tool, n, key, shared, card))

    @rule(tool=st.sampled_from(TOOLS), bad=st.sampled_from([{}, {"n": "x"}, {"n": 1, "more": 2}, {"n": None}]))
    def call_wrongly(self, tool: str, bad: dict[str, Any]) -> None:
        outcome = self.world.run(self.world.surface.call(tool, bad))
        assert isinstance(outcome, Result) and outcome.is_error
        assert outcome.invocation_id not in {effect.invocation_id for effect in self.world.effects}

    @precondition(lambda self: len(self.world.held) < 3)
    @rule(tool=st.sampled_from(["look", "act", "few"]), n=_NUMBERS, key=_KEYS)
    def begin_a_long_call(self, tool: str, n: int, key: str | None) -> None:
        async def begin() -> None:
            before = len(self.world.effects)
            task = asyncio.create_task(self._called(tool, n, key, False, False))
            self.world.held.append(task)
            while not task.done() and len(self.world.effects) == before:
                await asyncio.sleep(0)

        self.world.run(begin())

    @precondition(lambda self: self.world.held)
    @rule()
    def let_long_calls_end(self) -> None:
        async def end() -> None:
            self.world.gate.set()
            await asyncio.gather(*self.world.held)
            self.world.held.clear()
            self.world.gate.clear()

        self.world.run(end())

    @precondition(lambda self: self.world.held)
    @rule()
    def cancel_a_long_call(self) -> None:
        async def cancel() -> None:
            task = self.world.held.pop()
            was_done = task.done()
            task.cancel()
            await asyncio.wait([task])
            assert was_done or task.cancelled(), "a cancellation was swallowed"

        self.world.run(cancel())

    @rule(tool=st.sampled_from(["pay", "wire"]), n=_NUMBERS, key=_KEYS, card=st.booleans())
    def ask(self, tool: str, n: int, key: str | None, card: bool) -> None:
        self.world.run(self._called(tool, n, key, False, card))

    @rule(pick=_PICK, first=st.sampled_from(["ada", "bob"]), runs=st.booleans())
    def approve_together(self, pick: int, first: str, runs: bool) -> None:
        second = "bob" if first == "ada" else "ada"
        self.world.run(self._answered(first, pick, resume=runs))
        self.world.run(self._answered(second, pick, resume=runs))

    @rule(who=_WHO, pick=_PICK, runs=st.booleans())
    def approve(self, who: str, pick: int, runs: bool) -> None:
        self.world.run(self._answered(who, pick, resume=runs))

    @rule(who=_WHO, pick=_PICK, n=st.sampled_from([0, 1, 2, "x", None]))
    def approve_with_an_edit(self, who: str, pick: int, n: Any) -> None:
        self.world.run(self._answered(who, pick, edited_input=msgspec.json.encode({"n": n})))

    @rule(who=st.sampled_from(["ada", "bob"]), pick=_PICK)
    def approve_what_was_never_shown(self, who: str, pick: int) -> None:
        async def approve() -> None:
            call = await self._waiting(pick)
            if call:
                try:
                    await self.world.app.inbox(PEOPLE[who]).approve(call, seen=b"\0" * 32)
                except (InboxError, AccessError):
                    return
                raise AssertionError(f"{call} was approved by somebody who had seen something else")

        self.world.run(approve())

    @rule(who=_WHO, pick=_PICK)
    def reject(self, who: str, pick: int) -> None:
        async def reject() -> None:
            call = await self._waiting(pick)
            if call:
                try:
                    self._told(await self.world.app.inbox(PEOPLE[who]).reject(call, reason="no"))
                except (InboxError, AccessError):
                    return

        self.world.run(reject())

    @rule(happened=st.booleans())
    def settle_what_a_crash_left(self, happened: bool) -> None:
        async def settle() -> None:
            for opened in await self.world.store.open_calls("needs_input"):
                inbox = self.world.app.inbox(PEOPLE["bob"])
                self._told(await inbox.settle(opened.call, happened=happened, note="looked"))

        self.world.run(settle())

    @rule(pick=_PICK)
    def wait_for_a_call(self, pick: int) -> None:
        async def wait() -> None:
            call = await self._waiting(pick)
            if call and len(self.world.waiters) < 3:
                waiting = self.world.app.result(call, wait=60)
                self.world.waiters.append(asyncio.create_task(waiting, name=call))

        self.world.run(wait())

    @rule()
    def go_on_with_what_is_answered(self) -> None:
        self.world.run(self.world.app.calls.resume_answered())

    @rule(what=st.sampled_from(_CHANGES), pick=_PICK)
    def change_something(self, what: str, pick: int) -> None:
        self.world.run(self._changed(what, pick))

    async def _changed(self, what: str, pick: int) -> None:
        world = self.world
        match what:
            case "time":
                world.clock.advance((1, 60, 600, 1800, 4000, 8000)[pick])
            case "clock":
                world.clock.jump((-86400, -4000, -60, -1, 60, 4000)[pick])
            case "sweep":
                await world.app.calls.sweep()
            case "definitions":
                self._adopt(list(CATALOGS)[pick % len(CATALOGS)])
            case "policy":
                self._rule_by(list(POLICIES)[pick % len(POLICIES)])
            case "off":
                tool = ("act", "pay", "few")[pick % 3]
                await world.app.disable(tool, by="ada")
                world.off.add(tool)
            case "normal":
                await self._back_to_normal()
            case "order":
                await world.reopen(crashed=False)

    async def _back_to_normal(self) -> None:
        world = self.world
        if world.catalog != "first":
            self._adopt("first")
        if world.policy != "usual":
            self._rule_by("usual")
        for tool in sorted(world.off):
            world.off.discard(tool)
            await world.app.enable(tool, by="ada")

    def _adopt(self, catalog: str) -> None:
        self.world.catalog = catalog
        self.world.app.adopt(view(catalog))

    def _rule_by(self, policy: str) -> None:
        self.world.policy = policy
        self.world.app.reload()

    @invariant()
    def promises_hold(self) -> None:
        check(self.world, self.rows())

    def rows(self) -> list[StoredEntry]:
        """The whole ledger, without writing what waits to be written."""
        found: list[StoredEntry] = []
        while more := self.world.run(self.world.store.rows_after(len(found))):
            found += more
        return found

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.reached.update(reached(self.world, self.rows()))
            self.world.close()

    async def _called(self, tool: str, n: int, key: str | None, shared: bool, card: bool) -> None:
        surface = self.world.shared if shared else self.world.surface
        is_known = bool(view(self.world.catalog).versions(tool))  # of a tool that is gone nobody knows what is secret
        arguments = {"n": n, "card": SECRET} if card and is_known else {"n": n}
        outcome = await surface.call(tool, arguments, idempotency_key=key)
        ran = any(effect.invocation_id == outcome.invocation_id for effect in self.world.effects)
        is_action = tool != "look" and is_known
        if isinstance(outcome, Pending) or is_action or (ran and key is not None):
            self._told(outcome)
        if key is not None and (ran or isinstance(outcome, Pending)):
            self.world.keyed.setdefault((tool, key), set()).add(outcome.invocation_id)

    async def _answered(self, who: str, pick: int, **options: Any) -> None:
        call = await self._waiting(pick)
        if not call:
            return
        try:
            answered = await self.world.app.inbox(PEOPLE[who]).approve(call, **options)
        except (InboxError, AccessError):
            return
        assert who not in ("no scope", "own channel"), f"{who} approved {call}"
        if answered.result is not None:
            self._told(answered.result)

    async def _waiting(self, pick: int) -> str | None:
        waiting = await self.world.store.open_calls("awaiting_approval", "approved", "needs_input")
        return waiting[pick % len(waiting)].call if waiting else None

    def _told(self, outcome: Result | Pending) -> None:
        self.world.told[outcome.invocation_id] = outcome
