"""The first page: what runs, how it does, and who has to answer. Its numbers come from the ledger and follow it live.

It is made of answers of the HTTP API alone, and its sentences are pure functions of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ferrule.model.approval import ADMIN, APPROVE
from ferrule.model.value import JsonObject
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.auth.callers import Refused
from ferrule.servers.console.calls.call_words import display_name
from ferrule.servers.console.rendering import count, normalize_json, took
from ferrule.servers.console.view import ConsolePage, ConsoleView

_RECENT = 8
_LOOKED_FOR_NEWER = 60
_WAITING_SHOWN = 3
_SPARK_WIDTH, _SPARK_HEIGHT, _SPARK_EDGE = 100.0, 30.0, 2.0
_BEHIND = 60_000_000
_NONE = "–"


async def show(view: ConsoleView) -> HttpAnswer:
    """`GET /console/`"""
    activity, waiting, workspace, clients, recent, upstreams, policy = await asyncio.gather(
        view.api.get("/activity"),
        _load_waiting(view),
        view.api.get("/workspace"),
        view.api.get("/clients"),
        _load_recent(view, None),
        view.api.get("/upstreams") if _oversees(view) else _nothing(),
        view.api.get("/policy") if _oversees(view) else _nothing(),
    )
    chosen = view.query.get("client", "")
    names = [item["client"] for item in clients["items"]]
    return await view.page(
        "home.html",
        running=_describe_running(workspace, activity["as_of"]),
        now=_describe_now(activity, waiting),
        waiting=waiting,
        clients=clients["items"],
        client=chosen if chosen in names else names[0],
        recent=recent,
        upstreams=_describe_upstreams(upstreams),
        policy=_describe_policy(policy),
        check=await _load_check(view) if "check" in view.query else None,
    )


async def show_now(view: ConsoleView) -> HttpAnswer:
    """`GET /console/parts/home/now`: the first sentence, the numbers, and the data of the charts."""
    activity, waiting = await asyncio.gather(view.api.get("/activity"), _load_waiting(view))
    return view.fragment("home_now.html", now=_describe_now(activity, waiting))


async def show_waiting(view: ConsoleView) -> HttpAnswer:
    """`GET /console/parts/home/waiting`: the calls that expire first."""
    return view.fragment("home_waiting.html", waiting=await _load_waiting(view))


async def show_upstreams(view: ConsoleView) -> HttpAnswer:
    """`GET /console/parts/home/upstreams`: the health of the systems behind tools."""
    return view.fragment("home_upstreams.html", upstreams=_describe_upstreams(await view.api.get("/upstreams")))


async def show_check(view: ConsoleView) -> HttpAnswer:
    """`GET /console/parts/home/check`: the findings in the definitions. The first check of many of them takes a while."""
    return view.fragment("home_check.html", check=await _load_check(view))


async def show_recent(view: ConsoleView) -> HttpAnswer:
    """`GET /console/parts/home/recent?top=`: the listed calls in their current state, and how many are newer. `top` is
    the row that the first of them began with; without it, the newest calls.
    """
    return view.fragment("home_recent.html", recent=await _load_recent(view, view.number("top")))


async def _nothing() -> None:
    return None


def _oversees(view: ConsoleView) -> bool:
    """Returns True for operators of the full workspace."""
    return view.may(ADMIN) and view.caller.identity.tenant is None


# What is running


def _describe_running(workspace: JsonObject, as_of: str) -> JsonObject:
    up = _micros(as_of) - _micros(workspace["started_at"])
    return {**workspace, "up": took(max(up, 1_000_000)), "address": workspace["url"].partition("://")[2]}


def _micros(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1_000_000)


# The numbers


def _describe_now(activity: JsonObject, waiting: JsonObject) -> JsonObject:
    minutes, calls, failed = activity["minutes"], activity["calls"], activity["failed"]
    value, unit = _split(activity["p95_ms"])
    return {
        "sentence": write_sentence(activity),
        "is_behind": _is_behind(activity),
        "counted_until": activity["counted_until"],
        "covers": activity["covers"],
        "calls": calls,
        "rate": activity["calls_last_minute"],
        "rate_spark": spark([_count_calls(minute) for minute in minutes]),
        "errors": percent(failed, calls),
        "errors_note": write_failures(activity),
        "errors_spark": spark([minute["failed"] for minute in minutes]),
        "failed": failed,
        "p95": value,
        "p95_unit": unit,
        "p95_spark": spark([minute["p95_ms"] or 0.0 for minute in minutes]),
        "waiting": waiting,
        "waiting_note": _write_waiting_note(activity["waiting"], waiting, activity["as_of"]),
        "summary": write_summary(activity),
        "legend": _write_legend(minutes),
        "points": chart_points(minutes),
    }


def _is_behind(activity: JsonObject) -> bool:
    """Returns True while so many rows are still being read that the numbers are out of date."""
    if activity["is_complete"]:
        return False
    until = activity["counted_until"]
    return until is None or _micros(activity["as_of"]) - _micros(until) > _BEHIND


def _count_calls(minute: JsonObject) -> int:
    return int(minute["succeeded"] + minute["failed"] + minute["denied"] + minute["canceled"])


def write_sentence(activity: JsonObject) -> str:
    """Returns the state of the workspace, for people who read nothing else."""
    calls, failed = activity["calls"], activity["failed"]
    whose = "of your calls " if activity["covers"] == "own" else ""
    if not calls:
        return "No calls ended in the last hour."
    if not failed:
        return f"{_plural(calls, 'call')} {whose}ended in the last hour, and none failed."
    return f"{percent(failed, calls)} % of {_plural(calls, 'call')} {whose}in the last hour failed."


def percent(part: int, whole: int) -> str:
    """Returns a percentage with one decimal. A dash for nothing; never 0 for more than nothing."""
    if not whole:
        return _NONE
    share = 100 * part / whole
    if part and share < 0.1:
        return "<0.1"
    if part < whole and share > 99.9:
        return ">99.9"
    return f"{share:.1f}".removesuffix(".0")


def write_failures(activity: JsonObject) -> str:
    """Returns how many calls failed, and of which tool most."""
    failed, failing = activity["failed"], [one for one in activity["failing"] if one["tool"]]
    if not activity["calls"]:
        return "no calls yet"
    if not failed:
        return "none failed in the last hour"
    if not failing:
        return f"{count(failed)} failed"
    first = failing[0]
    if first["calls"] == failed:
        which = "it was" if failed == 1 else "all of them"
        return f"{count(failed)} failed, {which} {first['tool']}"
    return f"{count(failed)} failed, {count(first['calls'])} of them {first['tool']}"


def _split(milliseconds: float | None) -> tuple[str, str]:
    """Returns a duration and its unit, where it has a single one."""
    if milliseconds is None:
        return _NONE, ""
    text = took(milliseconds * 1000)
    value, _, unit = text.partition(" ")
    return (value, unit) if " " not in unit else (text, "")


def spark(values: Sequence[float]) -> dict[str, str]:
    """Returns the paths of a small chart: its line, and the area below it."""
    most = max(values, default=0) or 1
    step = _SPARK_WIDTH / max(1, len(values) - 1)
    height = _SPARK_HEIGHT - 2 * _SPARK_EDGE
    places = [
        f"{number * step:.1f} {_SPARK_HEIGHT - _SPARK_EDGE - height * value / most:.1f}"
        for number, value in enumerate(values)
    ]
    line = "M" + "L".join(places) if places else ""
    return {"line": line, "area": f"M0 30L{line[1:]}L100 30Z" if line else ""}


def _write_waiting_note(counts: JsonObject, waiting: JsonObject, as_of: str) -> str:
    parts = []
    if waiting["oldest_at"] is not None and waiting["count"]:
        parts.append(f"oldest {took(max(0, _micros(as_of) - _micros(waiting['oldest_at'])))}")
    if counts["median_answer_ms"] is not None:
        parts.append(f"answered in {took(counts['median_answer_ms'] * 1000)} median")
    if not parts:
        return "no requests" if not waiting["count"] else "none answered in the last hour"
    return ", ".join(parts)


# The charts


def chart_points(minutes: Sequence[JsonObject]) -> dict[str, list[Any]]:
    """Returns the data of the charts: a list for each line, one value a minute. Seconds since 1970, milliseconds,
    calls.
    """
    return {
        "at": [_micros(minute["at"]) // 1_000_000 for minute in minutes],
        **{name: [minute[f"{name}_ms"] for minute in minutes] for name in ("p50", "p95", "p99")},
        **{name: [minute[name] for minute in minutes] for name in ("succeeded", "failed", "denied")},
    }


def _write_legend(minutes: Sequence[JsonObject]) -> dict[str, str]:
    """Returns the latest minute that has values."""
    busy = next((minute for minute in reversed(minutes) if minute["p50_ms"] is not None), None)
    last = minutes[-1] if minutes else None
    times = {name: _format_time(busy[f"{name}_ms"] if busy else None) for name in ("p50", "p95", "p99")}
    return {**times, **{name: count(last[name]) if last else _NONE for name in ("succeeded", "failed", "denied")}}


def _format_time(milliseconds: float | None) -> str:
    return took(None if milliseconds is None else milliseconds * 1000)


def write_summary(activity: JsonObject) -> str:
    """Returns the charts in words, for people who cannot see them."""
    if not activity["calls"]:
        return "No calls ended in the last hour, so there is nothing to draw."
    ended = [
        f"{count(activity[name])} {name}" for name in ("succeeded", "failed", "denied", "canceled") if activity[name]
    ]
    text = f"Of {_plural(activity['calls'], 'call')} in the last hour {_join_words(ended)}."
    if activity["p50_ms"] is not None:
        p50, p95, p99 = (_format_time(activity[f"{name}_ms"]) for name in ("p50", "p95", "p99"))
        text += f" Half took {p50} or less, 95 of 100 {p95} or less, 99 of 100 {p99} or less."
    return text + _write_worst_minute(activity["minutes"])


def _write_worst_minute(minutes: Sequence[JsonObject]) -> str:
    worst = max(minutes, key=lambda minute: minute["failed"])
    if worst["failed"] < 2:
        return ""
    return f" Most failures came at {worst['at'][11:16]} UTC: {count(worst['failed'])} in that minute."


def _join_words(words: Sequence[str]) -> str:
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"


def _plural(number: int, word: str) -> str:
    return f"{count(number)} {word}{'s' * (number != 1)}"


# Who is waited for


async def _load_waiting(view: ConsoleView) -> JsonObject:
    """Returns the calls that wait: all of the inbox for people who may open it, otherwise the number of the reader's
    own.
    """
    if not (view.may(APPROVE) or view.may(ADMIN)):
        counts = (await view.api.get("/activity"))["waiting"]
        first = counts["first_expires_at"]
        return {
            "count": counts["calls"],
            "oldest_at": counts["oldest_at"],
            "left": _seconds_left(first, view),
            "items": [],
            "is_own": True,
        }
    items = (await view.api.get("/approvals"))["items"]
    by_end = sorted(
        items, key=lambda item: (item["expires_at"] is None, item["expires_at"] or "", item["requested_at"])
    )
    ends = [item["expires_at"] for item in by_end if item["expires_at"] is not None]
    return {
        "count": len(items),
        "oldest_at": min((item["requested_at"] for item in items), default=None),
        "left": _seconds_left(ends[0], view) if ends else None,
        "items": [_describe_item(item, view) for item in by_end[:_WAITING_SHOWN]],
        "is_own": False,
    }


def _seconds_left(at: str | None, view: ConsoleView) -> int | None:
    """Returns the seconds until then, by the server's clock."""
    if at is None:
        return None
    return max(0, (_micros(at) - view.edge.app.services.wall()) // 1_000_000)


def _describe_item(item: JsonObject, view: ConsoleView) -> JsonObject:
    return {
        "invocation_id": item["invocation_id"],
        "tool": display_name(item),
        "risk": item["risk"],
        "who": item["agent"] or item["principal"],
        "needs": write_needs(item),
        "left": _seconds_left(item["expires_at"], view),
    }


def write_needs(item: JsonObject) -> str:
    """Returns what a waiting call needs, in a few words."""
    if item["purpose"] == "input":
        return "needs an answer"
    if item["purpose"] == "outcome":
        return "needs its outcome"
    given, people = len(item["approvals"]), item["people"]
    return f"needs {people - given} of {people} people" if people > 1 else "needs one person"


# The rest of the page

_MOST_UPSTREAMS = 30
"""Systems that are shown, those in trouble first: a large catalog reaches hundreds."""


def _describe_upstreams(listed: JsonObject | None) -> JsonObject | None:
    if listed is None:
        return None
    kinds = {"failing": "bad", "slow": "warn", "healthy": "ok", "quiet": "off"}
    worst_first = sorted(listed["items"], key=lambda item: list(kinds).index(item["health"]))
    items = [
        {
            **item,
            "state": kinds[item["health"]],
            "word": "no calls" if item["health"] == "quiet" else item["health"],
            "what": " · ".join([item["kind"], _plural(item["tools"], "tool")])
            + (", locked" if item["is_locked"] else ""),
            "note": _describe_health(item),
        }
        for item in worst_first[:_MOST_UPSTREAMS]
    ]
    more = len(worst_first) - len(items)
    return {
        "items": items,
        "more": more,
        "lock": listed["lock"],
        "as_of": listed["as_of"],
        "is_complete": listed["is_complete"],
    }


def _describe_health(item: JsonObject) -> str:
    """Returns the health of a system in a few words."""
    match item["health"]:
        case "quiet":
            return "in the last hour"
        case "failing":
            return f"{count(item['unreached'])} of {_plural(item['calls'], 'call')} failed to reach it"
        case _:
            return f"p95 {_format_time(item['p95_ms'])}"


def _describe_policy(overview: JsonObject | None) -> JsonObject | None:
    if overview is None:
        return None
    return {
        "is_usable": overview["is_usable"],
        "problem": overview["problem"],
        "rules": sum(overview["rules"].values()),
        "in_force_since": overview["in_force_since"],
    }


async def _load_check(view: ConsoleView) -> JsonObject | None:
    """Returns the check of the definitions in numbers; None for people who may not see the catalog."""
    if not _oversees(view):
        return None
    try:
        page = await view.api.get("/catalog/diagnostics", limit=1)
    except Problem as problem:
        return {"problem": problem.detail, "summary": None}
    except Refused as refused:
        return {"problem": refused.reason, "summary": None}
    return {"problem": None, "summary": page["summary"]}


async def _load_recent(view: ConsoleView, begin: int | None) -> JsonObject:
    """Returns the newest calls; with `begin` those from that row on, and how many are newer."""
    try:
        found = await view.api.get("/invocations", limit=_RECENT, cursor=None if begin is None else begin + 1)
        newest = await view.api.get("/invocations", limit=_LOOKED_FOR_NEWER) if begin is not None else None
    except Refused:  # the scope approve alone does not show calls
        return {"items": [], "newer": "", "top": "", "may": False}
    newer = [item for item in newest["items"] if item["seq"] > (begin or 0)] if newest is not None else []
    return {
        "items": [_describe_call(item) for item in found["items"]],
        "newer": write_newer_calls(len(newer)),
        "top": str(found["items"][0]["seq"]) if found["items"] else "",
        "may": True,
    }


def write_newer_calls(number: int) -> str:
    """Returns how many calls are newer than those on the page; empty for none."""
    if not number:
        return ""
    return _plural(number, "newer call") if number < _LOOKED_FOR_NEWER else f"more than {number - 1} newer calls"


def _describe_call(item: JsonObject) -> JsonObject:
    kept = ("invocation_id", "at", "agent", "principal", "decision")
    status = "denied" if item["standing"] == "refused" else item["standing"]
    shown = {
        "tool": display_name(item),
        "status": status,
        "took": _format_time(item["duration_ms"]),
        "input": normalize_json(item["input"]),
    }
    return {**{name: item[name] for name in kept}, **shown}


PAGES = (
    ConsolePage("GET", "/", show),
    ConsolePage("GET", "/parts/home/now", show_now),
    ConsolePage("GET", "/parts/home/waiting", show_waiting),
    ConsolePage("GET", "/parts/home/upstreams", show_upstreams),
    ConsolePage("GET", "/parts/home/check", show_check),
    ConsolePage("GET", "/parts/home/recent", show_recent),
)
