"""Ledgers to audit: rows of every kind, written by the real store with times that do not depend on the clock."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.app.custody.paths import LedgerPaths
from ferrule.definitions.compiler.seal import load_key, make_key, public_half, trust
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.ledger.stores.witness import FileWitness
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.decision import Behavior, Decision, Requirement, Ruling
from ferrule.model.failure import Stop, tool_error
from ferrule.model.journal import Entry, Header, Kind, Mark, News, NewsBody, Payload, ResultPayload, Segment, encode
from ferrule.model.lifecycle import STATES, State

START = 1_767_225_600_000_000
"""2026-01-01, in microseconds."""
MINUTE = 60_000_000
CANARY = "the-canary-sings-at-dawn"


def make_paths(folder: Path) -> LedgerPaths:
    """The files of a ledger in a folder, its keys made."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = folder / "keys"
    paths = LedgerPaths(folder / "ledger.db", keys / "ledger.key", keys / "ledger.pub", folder / "witness.jsonl")
    trust(paths.public, make_key(paths.key))
    return paths


def other_key() -> Ed25519PrivateKey:
    """A key that nobody trusts."""
    return Ed25519PrivateKey.generate()


def list_public_keys(paths: LedgerPaths) -> tuple[bytes, ...]:
    """The key to verify with."""
    return (public_half(load_key(paths.key)),)


def make_header(principal: str = "alice", tool: str = "mail.send", **more: Any) -> msgspec.Raw:
    """The header of a call."""
    fields: dict[str, Any] = {
        "tool_id": tool,
        "tool_name": tool.partition(".")[2],
        "tool_version": "1.0.0",
        "tool_digest": "d" * 8,
        "namespace": "mail",
        "surface_id": "surface-1",
        "catalog_digest": "c" * 8,
        "policy_digest": "p" * 8,
        "principal": principal,
        "agent": "support",
        "channel": "agent-token",
        "tenant": "default",
        "run_id": "run-1",
        "facts": (False, False, False, True),
    }
    return msgspec.Raw(encode(Header(**{**fields, **more})))


def make_segment(*states: State, begin: int = 0, principal: str = "alice", **more: Any) -> Segment:
    """What a call went through: one microsecond per state."""
    codes = [(begin + number) * 1000 << 5 | STATES.index(state) for number, state in enumerate(states)]
    return Segment(header=make_header(principal), created_at=START, phases=[], states=codes, **more)


def make_decision(behavior: Behavior, **more: Any) -> Decision:
    """A decision of the policy."""
    return Decision(Ruling(behavior, f"a rule says {behavior}", rule_refs=("rule-1",)), START, **more)


def make_request(call: str, **requirement: Any) -> ApprovalRequest:
    """A question to a person."""
    return ApprovalRequest(
        invocation_id=call,
        tool_id="mail.send",
        tool_version="1.0.0",
        tool_digest="d" * 8,
        tool_title="Send mail",
        principal="alice",
        agent="support",
        channel="agent-token",
        tenant="default",
        requested_at=START,
        expires_at=START + 10_000 * MINUTE,
        binding=b"b" * 32,
        requirement=Requirement(**requirement),
        message="a person has to approve it",
        risk="medium",
    )


def make_answer(
    call: str, by: str = "olga", verdict: Literal["approve", "reject"] = "approve", channel: str = "owner-token"
) -> Answer:
    """A person's word."""
    return Answer(
        invocation_id=call, verdict=verdict, by=by, channel=channel, answered_at=START, binding=b"b" * 32, seal=b"s"
    )


def make_payload(text: str = "hello") -> Payload:
    """Inputs and a result."""
    words = msgspec.json.encode({"text": text})
    return Payload(model_input=words, result=encode(ResultPayload(({"type": "text", "text": text},))))


def make_mark(state: str = "", **more: Any) -> Mark:
    """What a row changes in the tables."""
    owner = "7-00ff" if state == "running" else ""
    return Mark(state, owner, None, "mail.send", "alice", "support", "default", **more)


class Story:
    """Entries in the order in which they are written, a minute apart."""

    def __init__(self, calls_before: int = 0) -> None:
        self.entries: list[Entry] = []
        self._calls = calls_before

    def add(self, kind: Kind, call: str, outcome: str, body: Segment | NewsBody | dict[str, Any], **more: Any) -> None:
        """Append one row."""
        at = START + (len(self.entries) + 1) * MINUTE
        self.entries.append(Entry(kind, call, at, "mail.send" if call else "", outcome, body, **more))

    def new_call(self) -> str:
        """Another invocation id."""
        self._calls += 1
        return f"inv_{self._calls:06d}"

    def read(self, principal: str = "alice", text: str = "hello", key: bytes = b"") -> str:
        """A whole call in one row."""
        call = self.new_call()
        went = make_segment(
            "selected", "arguments_ready", "running", "succeeded", principal=principal, status="succeeded"
        )
        went.decisions = (make_decision("allow"),)
        taken = make_mark(key=key, input_digest=b"i" * 32) if key else None
        self.add("call", call, "succeeded", went, payload=make_payload(text), mark=taken)
        return call

    def refused(self) -> str:
        """A call that a rule denies."""
        call = self.new_call()
        error = tool_error(Stop("permission_denied", "no"), has_run=False, is_repeatable=False)
        went = make_segment(
            "selected", "arguments_ready", "denied", status="denied", error=error, decisions=(make_decision("deny"),)
        )
        self.add("call", call, "denied", went, payload=make_payload())
        return call

    def unknown_tool(self) -> str:
        """A call of a tool that does not exist."""
        call = self.new_call()
        error = tool_error(Stop("unknown_tool", "no such tool"), has_run=False, is_repeatable=False)
        went = make_segment("failed", status="failed", error=error)
        went.header = make_header(tool="unknown:nothing")
        self.add("call", call, "failed", went, payload=make_payload())
        return call

    def begin(self, run: str = "", key: bytes = b"") -> str:
        """An action that is running."""
        call = self.new_call()
        went = make_segment("selected", "arguments_ready", "running", decisions=(make_decision("allow"),))
        counted = make_mark("running", counted_run=run, key=key, input_digest=b"i" * 32 if key else b"")
        self.add("started", call, "running", went, payload=make_payload(), mark=counted)
        return call

    def end(self, call: str, begin: int = 10) -> None:
        """The end of an action."""
        went = make_segment("succeeded", begin=begin, status="succeeded")
        self.add("ended", call, "succeeded", went, payload=make_payload("done"), mark=make_mark())

    def park(self, **requirement: Any) -> str:
        """A call that waits for a person."""
        call = self.new_call()
        went = make_segment("selected", "arguments_ready", "awaiting_approval", decisions=(make_decision("ask"),))
        went.request = make_request(call, **requirement)
        waiting = make_mark("awaiting_approval")
        waiting.expires_at = START + 10_000 * MINUTE
        self.add("parked", call, "awaiting_approval", went, payload=make_payload(), mark=waiting)
        return call

    def approve(self, call: str, by: str = "olga", *, is_last: bool = True, channel: str = "owner-token") -> None:
        """A person says yes."""
        state: State = "approved" if is_last else "awaiting_approval"
        went = make_segment(
            *(("approved",) if is_last else ()), begin=20, answer=make_answer(call, by, channel=channel)
        )
        self.add("answered", call, state, went, mark=make_mark(state))

    def resume(self, call: str) -> None:
        """An approved call runs."""
        went = make_segment("running", begin=30, decisions=(make_decision("allow", by="olga"),))
        self.add("started", call, "running", went, payload=make_payload(), mark=make_mark("running"))

    def reject(self, call: str) -> None:
        """A person says no."""
        went = make_segment("denied", begin=20, status="rejected", answer=make_answer(call, verdict="reject"))
        self.add("ended", call, "denied", went, mark=make_mark())

    def forget(self, call: str) -> None:
        """A crash left the outcome unknown."""
        self.add("unknown", call, "running", make_segment(begin=20), mark=make_mark("running"))

    def news(self, call: str, outcome: News, *, payload: Payload | None = None, sequence: int = 0, **data: Any) -> None:
        """Something about a call that does not move it."""
        at = START + (len(self.entries) + 1) * MINUTE
        said = {
            "at": at,
            "event": f"tool.invocation.{outcome}",
            "data": data | ({"sequence": sequence} if sequence else {}),
        }
        self.add("news", call, outcome, NewsBody([said], sequence), payload=payload)

    def switch(self, tool: str, word: str) -> None:
        """A tool is turned off or on."""
        facts = {"tool_id": tool, "switch": word}
        self.add("switch", "", word, facts, mark=Mark(tool_id=tool, switch=word))


def make_full_story(rounds: int = 12) -> Story:
    """A few hundred rows of all kinds, some calls still open at the end."""
    story = Story()
    story.add("catalog", "", "adopted", {"digest": "c" * 8, "declared": ["mail.send"]})
    story.add("policy", "", "adopted", {"digest": "p" * 8}, payload=Payload(text=b"allow mail.*"))
    story.add("surface", "", "created", {"change": "created", "surface_id": "surface-1"})
    for number in range(rounds):
        _round(story, number)
    story.park()
    story.park(people=2)
    story.begin("run-open")
    story.forget(story.begin())
    story.news("inv_without_rows", "progress", sequence=1)
    story.switch("mail.delete", "off")
    return story


def _round(story: Story, number: int) -> None:
    for turn in range(6):
        story.read("bob" if turn % 3 == 0 else "alice", key=f"key-{number}-{turn}".encode() if turn % 2 else b"")
    story.refused()
    story.unknown_tool()
    for turn in range(2):
        story.end(story.begin(f"run-{number % 4}", key=b"act-%d-%d" % (number, turn)))
    call = story.park()
    story.read()
    story.approve(call)
    story.resume(call)
    story.end(call, begin=40)
    pair = story.park(people=2)
    story.approve(pair, "olga", is_last=False)
    story.approve(pair, "otto")
    story.resume(pair)
    story.end(pair, begin=40)
    story.reject(story.park())
    lost = story.begin()
    story.news(lost, "progress", sequence=1, percent=40)
    story.forget(lost)
    story.news(lost, "cancel_requested", by="ada", abort_reason="user_interruption")
    story.end(lost, begin=50)
    story.news(lost, "cancel_failed", why="too_late")
    story.news(lost, "late_result", payload=make_payload("too late"), status="succeeded")
    story.switch(f"tool.{number % 3}", "off" if number % 2 == 0 else "on")


def write_story(paths: LedgerPaths, story: Story, *, has_witness: bool = True) -> None:
    """Write a story to a ledger, through the store; then let go of it."""

    async def main() -> None:
        witness = FileWitness(paths.witness) if has_witness and paths.witness is not None else None
        store = SqliteStore(paths.ledger, load_key(paths.key), witness=witness, clock=lambda: START)
        await store.open()
        for number, entry in enumerate(story.entries):
            store.record(entry)
            if number % 50 == 49:
                await store.flush()
        await store.aclose()

    asyncio.run(main())
