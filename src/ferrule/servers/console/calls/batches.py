"""The pages of batches: the list, and one batch as a Gantt chart, live while it runs.

`gantt` makes the chart. It is made of answers of the HTTP API alone.
"""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from ferrule.model.value import JsonObject
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.console.calls.call_words import STANDINGS, join_words, now_micros, pluralize
from ferrule.servers.console.calls.gantt import VIEWS, answers_of, chart_of, locks_of, numbers_of
from ferrule.servers.console.rendering import part, took
from ferrule.servers.console.view import ConsolePage, ConsoleView

_AT_ONCE = 20


async def show(view: ConsoleView) -> HttpAnswer:
    """`GET /console/batches`"""
    cursor = view.query.get("cursor", "")
    page = await view.api.get("/batches", limit=_AT_ONCE, cursor=cursor)
    batches = [line_of(batch) for batch in page["items"]]
    older = parse_qs(urlsplit(page["next"]).query)["cursor"][0] if page["next"] else ""
    values: JsonObject = {
        "batches": batches,
        "cursor": cursor,
        "older": older,
        "sentence": list_sentence(batches, cursor),
    }
    if view.is_fragment:
        return view.fragment("batches_rows.html", **values)
    return await view.page("batches.html", **values)


def line_of(batch: JsonObject) -> JsonObject:
    """Returns a batch as a line of the list."""
    standings = batch["standings"]
    kind, word = batch_state(batch)
    return {
        "id": batch["batch_id"],
        "stands": {"kind": kind, "word": word},
        "caller": batch["agent"] or batch["principal"],
        "size": batch["size"],
        "at": batch["at"],
        "took": batch["duration_ms"] * 1000 if batch["duration_ms"] is not None else None,
        "tools": join_words([f"{name} ×{count}" if count > 1 else name for name, count in list(batch["tools"].items())[:4]]),
        "counts": [{"kind": STANDINGS[name][0], "word": f"{standings[name]:,} {STANDINGS[name][1]}"}
                   for name in STANDINGS if standings.get(name)],
    }  # fmt: skip


def batch_state(batch: JsonObject) -> tuple[str, str]:
    """Returns the state of a batch: that of its worst call, once all have ended."""
    standings = batch["standings"]
    for standing in ("running", "unknown", "waiting"):
        if standings.get(standing):
            return STANDINGS[standing]
    if not batch["is_over"]:
        return "run", "not fully recorded"
    for standing in ("failed", "timed_out", "refused", "canceled"):
        if standings.get(standing):
            kind, word = STANDINGS[standing]
            return kind, f"{standings[standing]:,} {word}"
    return "ok", "succeeded"


def list_sentence(batches: list[JsonObject], cursor: str) -> str:
    """Returns what the list shows, in a sentence."""
    if not batches:
        return "No older batches." if cursor else "No recent batches."
    going_on = sum(batch["stands"]["kind"] in ("run", "wait") for batch in batches)
    calls = sum(batch["size"] for batch in batches)
    text = f"{pluralize(len(batches), 'batch', 'batches')} with {pluralize(calls, 'call')}"
    if cursor:
        return f"{text}, older than the previous page."
    over = "all have ended" if len(batches) > 1 else "it has ended"
    return f"The last {text}; {f'{going_on} still running' if going_on else over}."


async def show_batch(view: ConsoleView) -> HttpAnswer:
    """`GET /console/batches/{batch_id}`; a script gets only the part that changes while it runs."""
    by = view.query.get("by", "kind")
    by = by if by in VIEWS else "kind"
    batch = await view.api.get(f"/batches/{view.parts['batch_id']}")
    brief = batch["brief"]
    kind, word = batch_state(brief)
    numbers = numbers_of(batch)
    values = {
        "id": brief["batch_id"],
        "brief": brief,
        "stands": {"kind": kind, "word": word},
        "caller": brief["agent"] or brief["principal"],
        "sentence": sentence_of(brief, numbers, now_micros()),
        "numbers": numbers,
        "chart": chart_of(batch, by),
        "by": by,
        "views": list(VIEWS.items()),
        "locks": locks_of(batch),
        "answers": answers_of(batch),
        "calls": batch["calls"],
        "is_over": brief["is_over"],
        "unbegun": count_unbegun(batch),
    }
    if view.is_fragment:
        return view.fragment("batch_part.html", **values)
    return await view.page("batch.html", **values)


def count_unbegun(batch: JsonObject) -> int:
    """Returns how many calls have neither begun nor ended."""
    states = ("planned", "selected", "arguments_ready", "pre_hooks_running", "queued", "awaiting_approval")
    return sum(member["call"]["status"] in states for member in batch["calls"])


def sentence_of(brief: JsonObject, numbers: JsonObject, now: int) -> str:
    """Returns a batch in one sentence."""
    who = brief["agent"] or brief["principal"]
    calls = pluralize(brief["size"], "call")
    if brief["is_over"]:
        text = f"{who} made {calls} in one batch; {numbers['succeeded']:,} succeeded in {took(numbers['elapsed'])}"
    else:
        text = f"{who} is making {calls} in one batch; {numbers['succeeded']:,} have succeeded after {took(numbers['elapsed'])}"
    others = f", {numbers['others']}" if numbers["succeeded"] < brief["size"] and numbers["others"] else ""
    held = (
        f" Most of the waiting was for {numbers['held_by']} ({took(numbers['held_for'])})."
        if numbers["held_for"]
        else ""
    )
    missing = brief["size"] - brief["known"]
    gap = f" {pluralize(missing, 'call is', 'calls are')} not on record here." if missing > 0 else ""
    return f"{text}{others}.{held}{gap}"


async def cancel(view: ConsoleView) -> HttpAnswer:
    """`POST /console/batches/{batch_id}/cancel`: cancels the calls that have not begun."""
    batch = view.parts["batch_id"]
    await view.api.post(f"/batches/{batch}/cancel", {"reason": view.field("reason")[:4000]})
    return view.redirect(f"/console/batches/{part(batch)}")


PAGES = (
    ConsolePage("GET", "/batches", show),
    ConsolePage("GET", "/batches/{batch_id}", show_batch),
    ConsolePage("POST", "/batches/{batch_id}/cancel", cancel),
)
