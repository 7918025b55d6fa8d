"""Attempts to have a call run that nobody approved, by whoever can write the ledger's file but holds no key.

After each: nothing ran, and `ferrule audit verify` says what was done.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import ferrule
from ferrule.app.app import App
from ferrule.errors import FerruleError, LedgerError
from ferrule.ledger.chain import SALT_BYTES, compute_commitment, compute_row_hash
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.decision import Requirement
from ferrule.model.journal import KINDS, Payload, Segment, encode
from ferrule.model.result import Pending
from ferrule.testing import FakeClock
from tests.faults.place import Place, played

ADA = Identity("ada", "token:ada", frozenset({APPROVE}))
_HOUR = 3600.0


class Scene(NamedTuple):
    """Two calls of `pay` and one of `wire` that wait; the second was approved and did not run yet."""

    db: sqlite3.Connection
    waiting: str
    approved: str
    two_people: str

    def row(self, call: str, kind: str) -> tuple[int, Segment, bytes | None]:
        """Number, body and payload (with its salt) of a call's last row of a kind."""
        where = "WHERE call = ? AND kind = ? ORDER BY seq DESC LIMIT 1"
        found = self.db.execute(f"SELECT seq, body, payload FROM journal {where}", (call, KINDS.index(kind)))
        seq, body, payload = found.fetchone()
        return seq, msgspec.msgpack.decode(body, type=Segment), payload

    def rewrite(self, seq: int, **columns: Any) -> None:
        """Change columns of a row."""
        names = ", ".join(f"{name} = ?" for name in columns)
        self.db.execute(f"UPDATE journal SET {names} WHERE seq = ?", (*columns.values(), seq))

    def set_open(self, call: str, **columns: Any) -> None:
        """Change columns of the table of open calls."""
        names = ", ".join(f"{name} = ?" for name in columns)
        self.db.execute(f"UPDATE open_calls SET {names} WHERE call = ?", (*columns.values(), call))

    def chain_again(self) -> None:
        """Work out every hash anew and put the last one into the head, whose signature nobody can make."""
        before, last = bytes(32), (0, b"", 0)
        for seq, kind, call, at, tool, outcome, body, payload, mark in self.db.execute(
            "SELECT seq, kind, call, at, tool, outcome, body, payload, mark FROM journal ORDER BY seq"
        ).fetchall():
            covered = bytes(32) if payload is None else compute_commitment(payload)
            before = compute_row_hash(before, seq, kind, call, at, tool, outcome, body, covered, mark)
            self.rewrite(seq, hash=before)
            last = (seq, before, at)
        self.db.execute("UPDATE head SET seq = ?, hash = ?, at = ?", last)


def _call_it_approved(scene: Scene) -> None:
    scene.set_open(scene.waiting, state="approved")


def _call_it_approved_in_the_rows_too(scene: Scene) -> None:
    seq, segment, _ = scene.row(scene.waiting, "parked")
    scene.rewrite(seq, outcome="approved", body=encode(segment))
    scene.set_open(scene.waiting, state="approved")


def _add_an_answer(scene: Scene, *, rename: bool = True) -> None:
    """Another call's approval, put behind this one's question; with `rename` made out to it."""
    seq, body = _other_answer(scene, rename=rename)
    last = scene.db.execute("SELECT max(seq) FROM journal").fetchone()[0]
    columns = "kind, at, tool, outcome, payload, commitment, mark, hash"
    scene.db.execute(
        f"INSERT INTO journal (seq, call, body, {columns}) SELECT ?, ?, ?, {columns} FROM journal WHERE seq = ?",
        (last + 1, scene.waiting, body, seq),
    )
    scene.set_open(scene.waiting, state="approved", seq=last + 1)


def _add_an_answer_and_chain_again(scene: Scene) -> None:
    _add_an_answer(scene)
    scene.chain_again()


def _take_over_an_answer(scene: Scene, *, rename: bool = False) -> None:
    """The same in the other's place, so that the last row stays the one the head names."""
    seq, body = _other_answer(scene, rename=rename)
    scene.rewrite(seq, call=scene.waiting, body=body)
    scene.set_open(scene.waiting, state="approved", seq=seq)


def _take_over_an_answer_and_rename_it(scene: Scene) -> None:
    _take_over_an_answer(scene, rename=True)


def _other_answer(scene: Scene, *, rename: bool) -> tuple[int, bytes]:
    seq, segment, _ = scene.row(scene.approved, "answered")
    assert segment.answer is not None
    if rename:
        segment.answer = msgspec.structs.replace(segment.answer, invocation_id=scene.waiting)
    return seq, encode(segment)


def _demand_one_person(scene: Scene) -> None:
    seq, segment, _ = scene.row(scene.two_people, "parked")
    assert segment.request is not None
    segment.request = msgspec.structs.replace(segment.request, requirement=Requirement())
    scene.rewrite(seq, body=encode(segment))


def _extend_the_time(scene: Scene) -> None:
    for call in (scene.waiting, scene.approved):
        seq, segment, _ = scene.row(call, "parked")
        assert segment.request is not None
        later = segment.request.expires_at + 10**12
        segment.request = msgspec.structs.replace(segment.request, expires_at=later)
        scene.rewrite(seq, body=encode(segment))
        scene.set_open(call, expires_at=later)


def _swap_the_input(scene: Scene) -> None:
    for call in (scene.waiting, scene.approved):
        seq, _, payload = scene.row(call, "parked")
        assert payload is not None
        inputs = msgspec.msgpack.decode(payload[SALT_BYTES:], type=Payload)
        inputs.model_input = b'{"n":1000000}'
        scene.rewrite(seq, payload=payload[:SALT_BYTES] + encode(inputs))


def _swap_the_input_and_chain_again(scene: Scene) -> None:
    _swap_the_input(scene)
    scene.chain_again()


def _change_whom_it_is_for(scene: Scene) -> None:
    seq, segment, _ = scene.row(scene.approved, "parked")
    assert segment.context is not None
    segment.context = msgspec.structs.replace(segment.context, principal="mallory")
    scene.rewrite(seq, body=encode(segment))
    scene.set_open(scene.approved, principal="mallory")


def _change_which_tool(scene: Scene) -> None:
    for kind in ("parked", "answered"):
        seq, segment, _ = scene.row(scene.approved, kind)
        segment.header = msgspec.Raw(bytes(segment.header).replace(b"\xa3pay", b"\xa4wire"))
        scene.rewrite(seq, body=encode(segment))


def _write_nonsense(scene: Scene) -> None:
    for call in (scene.waiting, scene.approved):
        seq, _, _ = scene.row(call, "parked")
        scene.rewrite(seq, body=b"\xc1nonsense")


ATTEMPTS: tuple[Callable[[Scene], None], ...] = (
    _call_it_approved,
    _call_it_approved_in_the_rows_too,
    _add_an_answer,
    _add_an_answer_and_chain_again,
    _take_over_an_answer,
    _take_over_an_answer_and_rename_it,
    _demand_one_person,
    _extend_the_time,
    _swap_the_input,
    _swap_the_input_and_chain_again,
    _change_whom_it_is_for,
    _change_which_tool,
    _write_nonsense,
)


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.__name__.strip("_"))
def test_writing_the_file_approves_nothing(tmp_path: Path, attempt: Callable[[Scene], None]) -> None:
    place, clock = Place(tmp_path), FakeClock("2030-01-01T00:00:00Z")
    waiting, approved, two_people = played(_parked(place, clock))
    if attempt is _extend_the_time:
        clock.advance(2 * _HOUR)
    with contextlib.closing(sqlite3.connect(place.ledger)) as db:
        attempt(Scene(db, waiting, approved, two_people))
        db.commit()
    assert place.verify().findings, "nobody would ever know"
    played(_try_everything(place, clock, [waiting, approved, two_people]))
    ran = set(place.effects())
    is_about_another = attempt in (_call_it_approved, _call_it_approved_in_the_rows_too, _demand_one_person)
    assert ran == ({approved} if is_about_another else set())


async def _parked(place: Place, clock: FakeClock) -> tuple[str, str, str]:
    async with ferrule.open(place.root, tends=False, clock=clock) as app:
        surface = app.surface(principal="alice", channel="token:agent")
        calls = []
        for number, tool in enumerate(("pay", "pay", "wire")):
            pending = await surface.call(tool, {"n": number})
            assert isinstance(pending, Pending)
            calls.append(pending.invocation_id)
        await app.inbox(ADA).approve(calls[1], resume=False)
    return calls[0], calls[1], calls[2]


async def _try_everything(place: Place, clock: FakeClock, calls: list[str]) -> None:
    """Whatever a process does with calls that wait: recover, go on, list, approve two as one person, wait, sweep."""
    with contextlib.suppress(LedgerError):  # a ledger whose last row nobody signed is not even opened
        async with ferrule.open(place.root, tends=False, clock=clock) as app:
            await app.calls.recover()
            await app.calls.resume_answered()
            for call in calls:
                await _tried(app, call)
            await app.inbox(ADA).pending()
            await app.calls.sweep()


async def _tried(app: App, call: str) -> None:
    is_two = call == (await _two_people_call(app))
    for step in ("resume", "approve" if is_two else "look", "wait"):
        with contextlib.suppress(FerruleError):
            if step == "resume":
                await app.calls.resume(call)
            elif step == "approve":
                await app.inbox(ADA).approve(call)
            elif step == "look":
                await app.inbox(ADA).get(call)
            else:
                await app.result(call, wait=0.05)


async def _two_people_call(app: App) -> str:
    found = await app.store.open_calls("awaiting_approval")
    return next((call.call for call in found if call.tool_id.endswith("wire")), "")


def test_the_definition_cannot_be_changed_under_an_approval(tmp_path: Path) -> None:
    """Promise 14: another definition, even of another word, needs another approval."""
    place, clock = Place(tmp_path), FakeClock("2030-01-01T00:00:00Z")
    _, approved, _ = played(_parked(place, clock))
    functions = place.root / "functions.py"
    functions.write_text(functions.read_text().replace("Do something that needs an approval.", "Do anything at all."))
    assert played(_state_after_going_on(place, clock, approved)) == "awaiting_approval"
    assert not place.effects()


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ('decision = "ask"\ntool = "pay"\npeople = 2', "awaiting_approval"),
        ('decision = "ask"\ntool = "pay"\napprovers = ["bob"]', "awaiting_approval"),
        ('decision = "deny"\ntool = "pay"', None),
        ("this is no policy", None),
    ],
)
def test_a_stricter_policy_counts_after_an_approval(tmp_path: Path, rule: str, state: str | None) -> None:
    place, clock = Place(tmp_path), FakeClock("2030-01-01T00:00:00Z")
    _, approved, _ = played(_parked(place, clock))
    policy = place.root / "policy.toml"
    policy.write_text(policy.read_text() + f'\n[[rules]]\nid = "stricter"\n{rule}\n')
    assert played(_state_after_going_on(place, clock, approved)) == state
    assert not place.effects()


async def _state_after_going_on(place: Place, clock: FakeClock, call: str) -> str | None:
    async with ferrule.open(place.root, tends=False, clock=clock) as app:
        await app.calls.resume_answered()
        found = await app.store.find_open(call)
        return found.state if found is not None else None
