"""The news of a call: its progress, requests to cancel it and their outcomes, and results that came too late.

News is stored in rows of its own, and in the note `happened` of segments for what happened while the call moved. Both
count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from ferrule.model.journal import NewsBody, Payload, ResultPayload, Segment, StoredEntry, encode
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject

HAPPENED = "happened"
"""The note of a segment that lists rare events: `{at, event, data}` each, such as progress and cancel requests."""
_CONTENT = "content"
_CANCELS = "tool.invocation.cancel_"
_decode_contents = msgspec.msgpack.Decoder(list[Any]).decode
_decode_result = msgspec.msgpack.Decoder(ResultPayload).decode


class Fact(NamedTuple):
    """One thing that happened without moving its call."""

    at: int
    """Microseconds since 1970."""
    event: str
    data: dict[str, Any]


class CancellationNews(msgspec.Struct, frozen=True, kw_only=True):
    """A request to stop a call: requested, acknowledged and settled are facts of their own (AT-207)."""

    requested_at: int | None
    """Microseconds since 1970; None when the tool was stopped without a request."""
    by: str = ""
    reason: str = ""
    """In the words of the requester."""
    abort_reason: str = ""
    cause: str = ""
    """Another invocation, where one is the reason."""
    acknowledged_at: int | None = None
    outcome: str = ""
    """`canceled` or `cancel_failed`; empty while it is not known."""
    settled_at: int | None = None
    why: str = ""
    """Why it could not be stopped, where that was reported: `too_late`, …"""

    def to_record(self) -> JsonObject:
        """Returns the known fields as JSON."""
        fields = msgspec.structs.asdict(self)
        times = {name: None if fields[name] is None else iso(fields[name]) for name in fields if name.endswith("_at")}
        return {name: value for name, value in {**fields, **times}.items() if value}


class LateResult(msgspec.Struct, frozen=True):
    """The result of a tool after its call was given up. It was not delivered."""

    at: int
    data: dict[str, Any]
    result: ResultPayload | None
    is_erased: bool

    def to_record(self) -> JsonObject:
        """Returns it as JSON."""
        record: dict[str, Any] = {"at": iso(self.at), **self.data}
        if self.is_erased:
            record["is_erased"] = True
        if self.result is not None:
            record["content"] = list(self.result.content)
            record["structured_content"] = self.result.structured_content
        return record


def facts_of(segments: Sequence[Segment], news: Iterable[StoredEntry]) -> list[Fact]:
    """Returns what happened to a call besides its moves, in the order of time. Raises LedgerDamaged."""
    found = [
        Fact(segment.created_at + said.get("at", 0) // 1000, str(said["event"]), dict(said.get("data", {})))
        for segment in segments
        for said in segment.notes.get(HAPPENED, ())
    ]
    found += (fact for row in news for fact in facts_in(row))
    return sorted(found, key=lambda fact: fact.at)


def progress_row(happened: list[JsonObject], sequence: int) -> tuple[NewsBody, Payload | None]:
    """Builds the body of a row of progress, and its payload: parts of results go there, so that they can be erased."""
    contents = [said["data"].get(_CONTENT) for said in happened]
    if not any(contents):
        return NewsBody(happened, sequence), None
    plain = [
        {**said, "data": {name: value for name, value in said["data"].items() if name != _CONTENT}} for said in happened
    ]
    return NewsBody(plain, sequence), Payload(text=encode(contents))


def facts_in(row: StoredEntry) -> list[Fact]:
    """Returns the facts of one `news` row, in its order; with the parts of results its payload has. Raises
    LedgerDamaged."""
    facts = [
        Fact(_time(said.get("at"), row.at), str(said.get("event", "")), _members(said.get("data")))
        for said in row.news().happened
    ]
    payload = row.inputs() if row.outcome == "progress" else None
    if payload is not None and payload.text is not None:
        for fact, content in zip(facts, _decode_contents(payload.text), strict=False):
            if content:
                fact.data.update(_members({_CONTENT: content}))
    return facts


def progress_records(call: str, facts: Iterable[Fact]) -> list[JsonObject]:
    """Returns the standard's `tool_progress` records, by their numbers (AT-197, AT-198)."""
    found = [_progress(call, fact) for fact in facts if _is_progress(fact)]
    return sorted(found, key=lambda record: int(record["sequence"]))


def cancellations(facts: Iterable[Fact], status: str, ended_at: int | None) -> list[CancellationNews]:
    """Returns the requests to stop a call, each with its outcome. `ended_at`: when the call ended, if it has."""
    found: list[CancellationNews] = []
    for fact in facts:
        match fact.event.removeprefix(_CANCELS):
            case "requested":
                found.append(_new_cancellation(fact))
            case "acknowledged" | "failed" as word:
                is_late = _word(fact, "why") == "too_late"
                # "Too late" does not speak of a request that the end of the call has already answered as canceled.
                waiting = [
                    number
                    for number, one in enumerate(found)
                    if not one.outcome and not (is_late and _settle(one, status, ended_at).outcome == "canceled")
                ]
                if not waiting:
                    found.append(CancellationNews(requested_at=None, abort_reason=_word(fact, "abort_reason")))
                    waiting = [len(found) - 1]
                for number in waiting:
                    found[number] = _apply_report(found[number], word, fact)
    return [_settle(one, status, ended_at) for one in found]


def late_results(news: Iterable[StoredEntry]) -> list[LateResult]:
    """Returns the results that came after a call was given up. Raises LedgerDamaged."""
    found = []
    for row in news:
        if row.outcome == "late_result":
            payload, facts = row.inputs(), facts_in(row)
            result = None if payload is None or payload.result is None else _decode_result(payload.result)
            at, data = (facts[0].at, facts[0].data) if facts else (row.at, {})
            found.append(LateResult(at, data, result, row.is_erased))
    return found


def _is_progress(fact: Fact) -> bool:
    return isinstance(fact.data.get("sequence"), int) and not fact.event.startswith(_CANCELS)


def _progress(call: str, fact: Fact) -> JsonObject:
    number = fact.data["sequence"]
    required = {
        "schema_version": "0.2.0",
        "progress_id": f"{call.replace('inv_', 'prg_', 1)}.{number}",
        "invocation_id": call,
        "sequence": number,
        "status": fact.data.get("status", "running"),
        "timestamp": iso(fact.at),
    }
    return required | {name: value for name, value in fact.data.items() if name not in required}


def _new_cancellation(fact: Fact) -> CancellationNews:
    return CancellationNews(
        requested_at=fact.at,
        by=_word(fact, "by"),
        reason=_word(fact, "reason"),
        abort_reason=_word(fact, "abort_reason"),
        cause=_word(fact, "cause"),
    )


def _apply_report(one: CancellationNews, word: str, fact: Fact) -> CancellationNews:
    if word == "acknowledged":
        return one if one.acknowledged_at else msgspec.structs.replace(one, acknowledged_at=fact.at)
    return msgspec.structs.replace(one, outcome="cancel_failed", settled_at=fact.at, why=_word(fact, "why"))


def _settle(one: CancellationNews, status: str, ended_at: int | None) -> CancellationNews:
    """Derives the outcome of a request from the call's end, where no fact states it. A tool acknowledges before the
    call ends, even when the fact was written later."""
    if one.outcome or ended_at is None:
        return one
    is_too_late = one.requested_at is not None and one.requested_at > ended_at
    is_stopped = status == ("timed_out" if one.abort_reason == "timeout" else "canceled")
    if is_stopped and not is_too_late:
        heard = (
            min(one.acknowledged_at, ended_at) if one.acknowledged_at and status == "canceled" else one.acknowledged_at
        )
        return msgspec.structs.replace(one, outcome="canceled", settled_at=ended_at, acknowledged_at=heard)
    at = one.requested_at if is_too_late else ended_at
    return msgspec.structs.replace(
        one, outcome="cancel_failed", settled_at=at, why="too_late" if is_too_late else f"the call {status}"
    )


def _word(fact: Fact, name: str) -> str:
    value = fact.data.get(name)
    return "" if value is None else str(value)


def _time(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _members(value: Any) -> JsonObject:
    """Returns the members that JSON can express: a tool may report anything, and a reader must not fail on it."""
    try:
        members = msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError):
        return {}
    return members if isinstance(members, dict) else {}
