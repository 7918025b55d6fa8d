"""What must hold after every step of any story, worked out from the ledger's rows and from what the tools really did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from ferrule.contracts.ledger import RawRow
from ferrule.ledger.audit.findings import Findings
from ferrule.ledger.audit.histories import Histories
from ferrule.model.approval import Answer, ApprovalRequest, binding_of, is_sealed
from ferrule.model.journal import KINDS, LAST_KINDS, StoredEntry, header_of, state_times
from ferrule.model.lifecycle import STARTS, TERMINAL, TRANSITIONS, State
from ferrule.model.result import Pending, Result
from ferrule.runtime.approval.check import normalize_person
from tests.journeys.world import LIMIT, NEVER, SECRET, Effect, World


def check(world: World, rows: Sequence[StoredEntry]) -> None:
    """Every promise. `rows`: the whole ledger."""
    calls = check_lives(rows)
    _effects_were_allowed(world, calls)
    _keys_gave_one_answer(world)
    _limits_held(world, calls)
    _nothing_told_is_lost(world, calls)
    assert not any(SECRET.encode() in row.body + (row.payload or b"") for row in rows), "a secret is in the ledger"


def check_lives(rows: Sequence[StoredEntry]) -> dict[str, list[StoredEntry]]:
    """What holds for any ledger: every call has one legal life with at most one end, and an audit finds nothing. Gives
    the rows of each call, without its news."""
    calls = _by_call(rows)
    _times_go_on(rows)
    for call, its in calls.items():
        _one_legal_life(call, its)
    _progress_is_counted(rows, calls)
    _audit_agrees(rows)
    return calls


def _progress_is_counted(rows: Iterable[StoredEntry], calls: Mapping[str, list[StoredEntry]]) -> None:
    """From one on, without a gap, and nothing after the end (AT-198, AT-204)."""
    said: Counter[str] = Counter()
    for row in rows:
        if row.kind == "news" and row.outcome == "progress":
            its = calls.get(row.call, [])
            ends = [each.seq for each in its if each.kind in LAST_KINDS]
            assert not ends or row.seq < ends[0], f"{row.call} said something after its end"
            for happened in row.news().happened:
                said[row.call] += 1
                assert happened["data"]["sequence"] == said[row.call], f"{row.call}: {happened} is not {said[row.call]}"


def _by_call(rows: Iterable[StoredEntry]) -> dict[str, list[StoredEntry]]:
    calls: dict[str, list[StoredEntry]] = {}
    for row in rows:
        if row.call and row.kind != "news":
            calls.setdefault(row.call, []).append(row)
    return calls


def _times_go_on(rows: Sequence[StoredEntry]) -> None:
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    times = [row.at for row in rows]
    assert times == sorted(times), "the ledger's time went back"


def _one_legal_life(call: str, rows: list[StoredEntry]) -> None:
    """Legal moves only, each later than the one before; at most one end, and nothing after it."""
    lasts = [number for number, row in enumerate(rows) if row.kind in LAST_KINDS]
    assert lasts in ([], [len(rows) - 1]), f"{call} has rows {[row.kind for row in rows]}"
    state: State | None = None
    at = -1
    for row in rows:
        for new, entered in state_times(row.segment()):
            assert new in (STARTS if state is None else TRANSITIONS[state]), f"{call} went from {state} to {new}"
            assert entered >= at, f"{call} entered {new} before {state}"
            state, at = new, entered
        assert row.outcome == state, f"{call} is told as {row.outcome} while it is {state}"
    assert not lasts or state in TERMINAL, f"{call} ended in {state}"


def _effects_were_allowed(world: World, calls: dict[str, list[StoredEntry]]) -> None:
    ran = Counter(effect.invocation_id for effect in world.effects)
    assert not [call for call, times in ran.items() if times > 1], "a call ran twice"
    for effect in world.effects:
        assert effect.wish.behavior != "deny", f"{effect} ran although the policy said no"
        assert not effect.is_off, f"{effect} ran although its tool was off"
        rows = calls.get(effect.invocation_id, [])
        if effect.tool_id != "look":
            assert any(row.kind == "started" for row in rows), f"{effect} ran without a record before"
        if effect.wish.behavior == "ask":
            _was_approved(world, effect, rows)


def _was_approved(world: World, effect: Effect, rows: list[StoredEntry]) -> None:
    """By enough people, for exactly this tool, input, principal and time, over channels that may."""
    before = rows[: next(number for number, row in enumerate(rows) if row.kind == "started")]
    request, answers = _question(before)
    assert is_sealed(world.key.secret, request)
    expected = binding_of(
        world.key.secret,
        invocation_id=effect.invocation_id,
        tool_digest=effect.digest,
        call_input=msgspec.json.encode(effect.arguments),
        principal="alice",
        agent=None,
        expires_at=request.expires_at,
    )
    counted = [answer for answer in answers if answer.binding == expected and answer.verdict == "approve"]
    people = {normalize_person(answer.by) for answer in counted}
    assert len(people) >= effect.wish.people, f"{effect} ran with the approvals of {people}"
    assert all(is_sealed(world.key.secret, answer) for answer in counted)
    assert not {answer.channel for answer in counted} & NEVER
    assert effect.now < request.expires_at, f"{effect} ran after its approval had expired"
    if effect.tool_id == "wire" and request.requirement.not_requester:
        assert "alice" not in people


def _question(rows: list[StoredEntry]) -> tuple[ApprovalRequest, list[Answer]]:
    """The last question, and the answers to it."""
    asked = max(number for number, row in enumerate(rows) if row.kind == "parked")
    request = rows[asked].segment().request
    assert request is not None
    found = [row.segment().answer for row in rows[asked + 1 :] if row.kind == "answered"]
    return request, [answer for answer in found if answer is not None]


def _keys_gave_one_answer(world: World) -> None:
    for key, calls in world.keyed.items():
        assert len(calls) == 1, f"{key} was answered by {calls}"


def _limits_held(world: World, calls: dict[str, list[StoredEntry]]) -> None:
    runs = Counter(
        header_of(calls[effect.invocation_id][0].segment()).run_id
        for effect in world.effects
        if effect.tool_id == "few"
    )
    assert all(times <= LIMIT for times in runs.values()), f"runs went over their limit: {runs}"


def _nothing_told_is_lost(world: World, calls: dict[str, list[StoredEntry]]) -> None:
    """Whatever a caller was told is in the ledger, and an end that was told is the end."""
    for call, told in world.told.items():
        rows = calls.get(call)
        assert rows, f"{call} was told as {told} and is lost"
        if isinstance(told, Result):
            assert rows[-1].kind in LAST_KINDS and rows[-1].segment().status == told.status, f"{told} is not on record"
        else:
            assert isinstance(told, Pending)


def _audit_agrees(rows: Sequence[StoredEntry]) -> None:
    findings = Findings()
    histories = Histories(findings)
    for row in rows:
        if row.call and row.kind != "news":
            kind = KINDS.index(row.kind)
            histories.feed(
                RawRow(row.seq, kind, row.call, row.at, row.tool, row.outcome, row.body, None, None, row.mark, row.hash)
            )
    assert not findings.kept, findings.kept


def reached(world: World, rows: Sequence[StoredEntry]) -> Iterator[str]:
    """What came about in a story, in words."""
    ran = {effect.invocation_id: effect for effect in world.effects}
    yield from (f"{effect.wish.behavior} ran for {effect.wish.people}" for effect in world.effects)
    for row in rows:
        if row.call and row.kind != "news":
            segment = row.segment()
            yield f"{row.kind} {row.outcome}"
            yield from (f"note {name}" for name in segment.notes)
            if segment.error is not None:
                yield f"error {segment.error.error_code}"
            if row.kind == "answered" and row.payload is not None and row.call in ran:
                yield "edited and ran"
