"""Words and rows of the inbox: pure functions from the HTTP API's answers to what templates show."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from difflib import SequenceMatcher

from ferrule.model.value import JsonObject
from ferrule.servers.console.calls.call_words import display_name

_MOST_LINES = 1500
_MOST_PAIRS = 60_000
"""Pairs of equal lines up to which the best match is searched: that takes long where lines repeat."""
_OVER = {
    "approved": "approved by",
    "rejected": "rejected by",
    "answered": "answered by",
    "settled": "settled by",
}
_UNANSWERED = {
    "expired": "expired without an answer",
    "canceled": "canceled before an answer",
    "ended": "ended before an answer",
}
_CHANGERS = {"hook": "hook", "runtime": "the runtime", "adapter": "adapter", "migration": "migration"}


def seconds_left(expires_at: str | None, now: float) -> int | None:
    """Returns whole seconds until a time; None for requests that never expire."""
    if expires_at is None:
        return None
    return max(0, round(datetime.fromisoformat(expires_at).timestamp() - now))


def clock(seconds: int | None) -> str:
    """Returns a countdown as the script draws it: `8:41`, `3 h 12 m`."""
    if seconds is None:
        return ""
    if seconds <= 0:
        return "expired"
    hours, rest = divmod(seconds, 3600)
    return f"{hours} h {rest // 60:02d} m" if hours else f"{rest // 60}:{rest % 60:02d}"


def join_names(names: Sequence[str], me: str = "", last: str = "and") -> str:
    """Joins names as a person would say them; the reader is `you`."""
    words = ["you" if name == me else name for name in names]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else "nobody"


def people(approvers: Sequence[str]) -> str:
    """Returns who may answer: `anyone in accounts, or maria`."""
    groups = [name.removeprefix("group:") for name in approvers if name.startswith("group:")]
    single = [name for name in approvers if not name.startswith("group:")]
    words = [*(f"anyone in {group}" for group in groups), *single]
    return join_names(words, last="or") if words else "anyone who may approve"


def asker(item: JsonObject) -> str:
    """Returns who wants to call, and for whom."""
    agent, principal = item["agent"], item["principal"]
    return f"{agent}, for {principal}," if agent and agent != principal else str(agent or principal)


# The queue


def waiting_row(item: JsonObject, me: str, now: float) -> JsonObject:
    """Returns a row of the queue for a call that waits."""
    left = seconds_left(item["expires_at"], now)
    return {
        "id": item["invocation_id"],
        "name": display_name(item),
        "risk": item["risk"],
        "left": left,
        "clock": clock(left),
        "at": None,
        "line": _describe_own(item) if may_answer(item) else _describe_other(item, me),
        "is_mine": may_answer(item),
    }


def may_answer(item: JsonObject) -> bool:
    """Returns True when the reader can do what is asked of people."""
    return any(item["ways"].get(way, "no such way") is None for way in ("approve", "answer", "settle"))


def _describe_own(item: JsonObject) -> str:
    who = item["agent"] or item["principal"]
    match item["purpose"]:
        case "input":
            return f"question from {who}"
        case "outcome":
            return f"{who}, unknown outcome"
    if item["people"] > 1:
        return f"{who}, {len(item['approvals'])} of {item['people']} approved"
    return f"{who}, changed by {item['edited_by']}" if item["edited_by"] else str(who)


def _describe_other(item: JsonObject, me: str) -> str:
    if any(each["by"] == me for each in item["approvals"]):
        return f"you approved, waiting for {people(item['approvers'])}"
    if item["purpose"] == "input":
        return f"question for {people(item['assignees'])}"
    who = item["agent"] or item["principal"]
    return f"{who}, for {people(item['approvers'])}" if item["approvers"] else f"{who}, for other approvers"


def decided_row(item: JsonObject, me: str) -> JsonObject:
    """Returns a row of the queue for a call that was decided."""
    return {
        "id": item["invocation_id"],
        "name": display_name(item),
        "risk": item["risk"],
        "left": None,
        "clock": "",
        "at": item["decided_at"],
        "line": describe_decision(item["outcome"], item["by"], me, is_edited=item["is_edited"]),
        "is_mine": False,
    }


def describe_decision(outcome: str, by: Sequence[str], me: str, *, is_edited: bool = False) -> str:
    """Returns a decision in a few words: `approved by you, edited`."""
    if outcome in _UNANSWERED:
        return _UNANSWERED[outcome]
    if outcome == "waiting":
        return "waiting"
    return f"{_OVER[outcome]} {join_names(by, me)}{', edited' if is_edited else ''}"


def median_answer_time(items: Sequence[JsonObject]) -> float | None:
    """Returns how long people took, in microseconds; None when nobody answered anything."""
    times = sorted(item["waited_seconds"] for item in items if item["by"])
    return times[len(times) // 2] * 1_000_000 if times else None


# One item


def write_sentence(review: JsonObject, me: str) -> str:
    """Returns the one sentence that must not mislead a person who stops reading after it."""
    title, outcome = review["tool_title"] or display_name(review), review["outcome"]
    if outcome != "waiting":
        return _describe_fate(review, me)
    if review["purpose"] == "outcome":
        return f"The outcome of {title} is unknown."
    if review["purpose"] == "input":
        return str(review["message"])
    about = review["about"]
    on = f" on {about['value']}" if about["name"] else ""
    return f"{asker(review)} wants to run {title}{on}."


def _describe_fate(review: JsonObject, me: str) -> str:
    by = [each["by"] for each in review["signatures"] if each["counts"]]
    said = describe_decision(review["outcome"], list(dict.fromkeys(by)), me)
    is_edited = any(each["is_edit"] for each in review["signatures"])
    said += ", with changes" if is_edited and review["outcome"] == "approved" else ""
    name = review["tool_title"] or display_name(review)
    if review["outcome"] in ("approved", "answered"):
        return f"{name}: {said}. {_STATE_SENTENCES.get(review['state'], 'It continues.')}"
    return f"{name}: {said}."


_STATE_SENTENCES = {
    "succeeded": "It succeeded.",
    "failed": "It failed.",
    "timed_out": "It timed out.",
    "canceled": "It was canceled.",
    "denied": "It was denied nevertheless.",
    "blocked": "It was blocked nevertheless.",
    "running": "It is running; the result will appear here.",
    "approved": "It is about to run; the result will appear here.",
    "awaiting_approval": "It waits for more approvals.",
    "needs_input": "It waits for an answer.",
}


def write_hint(review: JsonObject) -> str:
    """Returns the text below the sentence."""
    if review["outcome"] != "waiting":
        return ""
    if review["purpose"] == "outcome":
        return (
            "The process that ran it is gone. Find out whether it took effect, and record it here. It is not retried."
        )
    if review["purpose"] == "input":
        return f"Asked by {display_name(review)} for {review['principal']}. The call continues with your answer."
    return "Nothing has run yet."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def list_signatures(review: JsonObject, me: str) -> list[JsonObject]:
    """Returns who has signed, and who still has to: one entry for each person that is needed."""
    found = [
        {"who": each["by"], "is_open": False, "verdict": each["verdict"], "at": each["at"], "reason": each["reason"],
         "is_edit": each["is_edit"], "is_void": not each["counts"], "is_me": each["by"] == me}
        for each in review["signatures"]
    ]  # fmt: skip
    item = review["item"]
    if item is None or review["outcome"] != "waiting":
        return found
    named = item["assignees"] if review["purpose"] == "input" else item["approvers"]
    others = people(named) if review["purpose"] != "outcome" else "anyone who may approve"
    may = may_answer(item)
    who = ("You" if named == [me] else f"You, or {others}") if may else others.replace("anyone", "Anyone", 1)
    if item["not_requester"]:
        who += f", not {review['principal']}"
    return found + [
        {"who": who if number == 0 else "Another person", "is_open": True, "verdict": "", "at": None, "reason": None,
         "is_edit": False, "is_void": False, "is_me": False}
        for number in range(max(1, review["people_missing"]))
    ]  # fmt: skip


def signing_title(review: JsonObject) -> str:
    """Returns the title of the list of people."""
    if review["outcome"] != "waiting":
        return "Decided by" if review["outcome"] in _OVER else "Approved by"
    if review["purpose"] == "input":
        return "To be answered by"
    if review["purpose"] == "outcome":
        return "To be settled by"
    count = review["people"]
    words = {1: "One person must approve", 2: "Two people must approve", 3: "Three people must approve"}
    return words.get(count, f"{count} people must approve")


def list_changes(review: JsonObject) -> list[JsonObject]:
    """Returns who changed what the model wrote."""
    return [
        {
            "is_person": each["kind"] == "person",
            "who": each["by"],
            "label": "" if each["kind"] == "person" else _CHANGERS.get(each["kind"], each["kind"]),
            "fields": ", ".join(each["fields"]) or "input",
            "reason": each["reason"],
        }
        for each in review["changes"]
    ]


def describe_changers(review: JsonObject) -> str:
    """Returns who changed the input in a few words, to stand beside the title."""
    found = review["changes"]
    if not review["differences"]:
        return "exactly as the model wrote it"
    hooks = len({each["by"] for each in found if each["kind"] == "hook"})
    persons = list(dict.fromkeys(each["by"] for each in found if each["kind"] == "person"))
    words = [f"{hooks} hooks" if hooks > 1 else "a hook"] if hooks else []
    said = join_names([*words, *persons]) if words or persons else "the runtime"
    return f"{said} changed what the model wrote"


def diff(before: object, after: object) -> list[JsonObject]:
    """Returns two JSON values as lines: `kind` is empty, `add` or `rem`; `number` is the line's in its own value."""
    old, new = _lines(before), _lines(after)
    if old == new or len(old) + len(new) > _MOST_LINES:
        return [{"kind": "", "number": number, "text": text} for number, text in enumerate(new[:_MOST_LINES], 1)]
    rows: list[JsonObject] = []
    bare_old, bare_new = (
        [text.rstrip(",") for text in lines] for lines in (old, new)
    )  # a trailing comma is not a difference
    for kind, a, b, c, d in _find_edits(bare_old, bare_new):
        if kind != "equal":
            rows += ({"kind": "rem", "number": at + 1, "text": old[at]} for at in range(a, b))
        rows += ({"kind": "" if kind == "equal" else "add", "number": at + 1, "text": new[at]} for at in range(c, d))
    return rows


def _find_edits(old: list[str], new: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """Returns the edits from one text to the other, as difflib writes them.

    Where difflib would take long, everything between the first and the last difference is one replacement.
    """
    counted = Counter(old)
    if sum(counted[text] * times for text, times in Counter(new).items()) <= _MOST_PAIRS:
        return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    shorter = min(len(old), len(new))
    first = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    most = shorter - first
    last = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    end, new_end = len(old) - last, len(new) - last
    kinds = [("equal", 0, first, 0, first), ("replace", first, end, first, new_end)]
    return [*kinds, ("equal", end, len(old), new_end, len(new))]


def _lines(value: object) -> list[str]:
    return json.dumps(value, indent=2, ensure_ascii=False).split("\n")


def pretty(value: object) -> str:
    """Returns a JSON value as the editor shows it."""
    return "\n".join(_lines(value))


def count_hidden_lines(value: object) -> int:
    """Returns how many lines of a value `diff` does not show."""
    return max(0, len(_lines(value)) - _MOST_LINES)


def list_rules(review: JsonObject) -> list[JsonObject]:
    """Returns the rules that asked, as they are shown."""
    return [
        {"name": each["rule_ref"], "place": each["place"], "reason": _capital(each["reason"]), "is_gone": not each["decision"]}
        for each in review["rules"]
    ]  # fmt: skip


def stamp(review: JsonObject) -> str:
    """Returns a text that changes whenever anything that the page shows of an item does."""
    item = review["item"] or {}
    said = [review["outcome"], review["state"], review["signatures"], review["input"], review["is_definition_current"],
            review["result_text"], review["error"], item.get("seen"), item.get("ways"), item.get("assignees"),
            item.get("will_not_run")]  # fmt: skip
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def is_stale(review: JsonObject, seen: str) -> bool:
    """Returns True when the item has changed since the page was made."""
    return review["item"] is None or review["item"]["seen"] != seen


def midnight(now: float) -> str:
    """Returns when today began, in the server's time zone."""
    return datetime.fromtimestamp(now).astimezone().replace(hour=0, minute=0, second=0, microsecond=0).isoformat()
