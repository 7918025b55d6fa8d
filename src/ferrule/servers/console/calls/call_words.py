"""Words for calls on pages: their state, decision and people, and the whole call in one plain sentence.

The sentence says who called what, which rule decided, who answered and how it ended. Pure functions of the HTTP API's
answers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from ferrule.model.timestamps import parse_iso
from ferrule.model.value import JsonObject
from ferrule.servers.console.rendering import took

Story = Mapping[str, Any]
STANDINGS: dict[str, tuple[str, str]] = {
    "running": ("run", "running"),
    "waiting": ("wait", "waiting"),
    "succeeded": ("ok", "succeeded"),
    "failed": ("bad", "failed"),
    "refused": ("deny", "denied or rejected"),
    "canceled": ("off", "canceled"),
    "timed_out": ("time", "timed out"),
    "unknown": ("unk", "unknown outcome"),
}
"""The shape and the word of each standing, in the order in which people look for them."""
_STATES = {
    "schema_parse_failed": "invalid arguments",
    "validation_failed": "failed validation",
    "denied": "denied",
    "blocked": "blocked",
    "queued": "queued",
    "approved": "approved",
}
_BARS = {
    "ok": "g-ok",
    "run": "g-act",
    "wait": "g-wait",
    "bad": "g-bad",
    "time": "g-bad",
    "unk": "g-bad",
    "deny": "g-deny",
}


class ShownState(NamedTuple):
    """A state to show: `kind` names the shape and colour, `word` says it."""

    kind: str
    word: str


def state_of(call: Mapping[str, Any]) -> dict[str, str]:
    """Returns the state of a call to show, from its short form."""
    kind, word = STANDINGS[call["standing"]]
    word = _STATES.get(call["status"], word)
    if call["status"] == "denied" and call["decision"].startswith("deny by "):
        word = "rejected"
    if call["standing"] == "running" and call["status"] in ("planned", "selected", "arguments_ready", "queued"):
        kind = "queue"
    return {"kind": kind, "word": word}


def bar_of(kind: str) -> str:
    """Returns the class of a bar in a chart."""
    return _BARS.get(kind, "g-idle")


def decision_of(call: Mapping[str, Any]) -> dict[str, str]:
    """Returns the decision about a call, and the rule or person that made it."""
    behavior, _, person = str(call["decision"]).partition(" by ")
    rule = ", ".join(call["rules"])
    if person:
        return {"word": {"allow": "approved", "deny": "rejected"}.get(behavior, behavior), "by": person}
    if call["standing"] == "unknown":
        return {"word": "unknown", "by": ""}
    return {"word": {"ask": "asks", "": ""}.get(behavior, behavior), "by": rule}


def caller_of(call: Mapping[str, object]) -> str:
    """Returns who called: the agent, or the principal where no agent is named."""
    return str(call["agent"] or call["principal"])


def microseconds(text: str) -> int:
    """Returns a time of the API in microseconds since 1970."""
    return parse_iso(text)


def duration_of(call: Mapping[str, Any], now: int) -> float:
    """Returns how long a call took, or has been running, in microseconds."""
    if call["duration_ms"] is not None:
        return float(call["duration_ms"]) * 1000
    return max(0, now - microseconds(call["at"]))


def now_micros() -> int:
    """Returns the time in microseconds since 1970."""
    return time.time_ns() // 1000


def pluralize(count: int, one: str, more: str = "") -> str:
    """Returns a number with its noun: `1 hook`, `2 hooks`."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def join_words(words: list[str]) -> str:
    """Joins words: `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def display_name(call: Mapping[str, object]) -> str:
    """Returns the tool's name on every page: as in the catalog, with its namespace unless it was called without.

    Clients that allow no dots use another spelling, which nobody would search for.
    """
    tool_id, name = str(call["tool_id"] or ""), str(call["tool_name"] or "")
    is_plain = tool_id.endswith((f".{name}", f"/{name}"))
    return name if name and (not tool_id or is_plain or tool_id.startswith("unknown:")) else tool_id


_LONGEST = 300
_KINDS = {"failed": "bad", "timed_out": "bad", "schema_parse_failed": "bad", "validation_failed": "bad"}
_SYMBOLS = {"person": "s-wait", "bad": "s-bad", "ok": "s-ok", "deny": "s-deny", "": "calls"}


def sentence_of(story: Story, standing: str, total: float, work: float) -> dict[str, str]:
    """Returns `lead`: the sentence; `rest`: how long it took; `kind` and `symbol`: how it looks. Times in microseconds."""
    who = story["agent"] or story["principal"]
    behalf = f" for {story['principal']}" if story["agent"] and story["agent"] != story["principal"] else ""
    parts = [f"{who} called {display_name(story)}{behalf}", *_describe_decisions(story), _describe_end(story, standing)]
    lead = "; ".join(part for part in parts if part)
    lead = lead if len(lead) <= _LONGEST else f"{lead[: _LONGEST - 1]}…"
    has_person = bool(story.get("answers")) or standing in ("waiting", "unknown")
    kind = "person" if has_person else _KINDS.get(story["status"], "")
    if story["status"] in ("denied", "blocked"):
        symbol = "s-deny"
    else:
        symbol = _SYMBOLS[kind] if kind else "s-ok" if standing == "succeeded" else "calls"
    return {"lead": f"{lead}.", "rest": _describe_times(story, total, work), "kind": kind, "symbol": symbol}


def _describe_decisions(story: Story) -> list[str]:
    decisions = story["decisions"]
    if not decisions:
        return []
    rules = join_words([f"rule {ref}" for ref in _list_rules(decisions)[:2]])
    asked = any(decision["behavior"] == "ask" for decision in decisions)
    answers = [answer for answer in story.get("answers", ()) if answer["verdict"]]
    parts = []
    if asked:
        parts.append(f"{rules} required approval" if rules else _explain_ask(decisions))
    elif decisions[-1]["behavior"] == "deny":
        parts.append(f"{rules or 'the policy'} denied it")
    else:
        parts.append(f"{rules or 'the policy'} allowed it")
    return [*parts, *_describe_answers(story, answers)]


def _describe_answers(story: Story, answers: list[JsonObject]) -> list[str]:
    parts = []
    for answer in answers[:3]:
        word = "approved it" if answer["verdict"] == "approve" else "rejected it"
        parts.append(f"{answer['by']} {word}{_describe_edits(story) if answer['verdict'] == 'approve' else ''}")
    return parts


def _describe_edits(story: Story) -> str:
    fields = [
        field
        for change in story.get("mutations", ())
        if change["source_type"] == "permission_prompt"
        for field in change["changed_fields"]
    ]
    return f" and changed {join_words(list(dict.fromkeys(fields))[:3])}" if fields else ""


def _list_rules(decisions: list[JsonObject]) -> list[str]:
    return list(dict.fromkeys(ref for decision in decisions for ref in decision.get("rule_refs", ())))


def _explain_ask(decisions: list[JsonObject]) -> str:
    """Returns why a person was asked where no rule asked."""
    asked = next(decision for decision in decisions if decision["behavior"] == "ask")
    return _REASONS.get(asked["reason"]["type"], "the policy required approval")


_REASONS = {
    "policy": "its definition requires approval",
    "mode": "no rule matched, so a person was asked",
    "hook": "a hook required approval",
    "classifier": "a classifier required approval",
}


def _describe_end(story: Story, standing: str) -> str:
    error = (story["result"] or {}).get("error") or {}
    because = f": {error['message']}" if error.get("message") else ""
    match standing:
        case "succeeded":
            failed = len(story.get("attempts", ()))
            return f"it succeeded on attempt {failed + 1}" if failed else "it succeeded"
        case "failed":
            return f"it failed{because}"
        case "refused":
            return "it did not run" if story.get("answers") or not because else f"it did not run{because}"
        case "timed_out":
            return f"it timed out{because}"
        case "canceled":
            by = next((one.get("by") for one in story.get("cancellations", ()) if one.get("by")), "")
            return f"it was canceled{f' by {by}' if by and by != 'batch' else because}"
        case "unknown":
            return "its process ended while it ran, so its outcome is unknown"
        case "waiting":
            return "it waits for an answer" if story["status"] == "needs_input" else "it waits for approval"
        case _:
            return "it is running"


def _describe_times(story: Story, total: float, work: float) -> str:
    if not story["ended_at"]:
        return f"For {took(total)} so far."
    if total - work > 1000 and total - work > work / 10:
        return f"{took(total)} in total, {took(work)} of it working."
    return f"{took(total)} in total."
