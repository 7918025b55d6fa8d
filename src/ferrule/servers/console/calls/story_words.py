"""The story of a call in one plain sentence: who asked for what, which rule spoke, who decided, how it ended."""

from __future__ import annotations

from typing import Any

from ferrule.servers.console.calls.call_words import Story, known_as, listed
from ferrule.servers.console.rendering import took

_LONGEST = 300
_KINDS = {"failed": "bad", "timed_out": "bad", "schema_parse_failed": "bad", "validation_failed": "bad"}
_SYMBOLS = {"person": "s-wait", "bad": "s-bad", "ok": "s-ok", "deny": "s-deny", "": "calls"}


def sentence_of(story: Story, standing: str, total: float, work: float) -> dict[str, str]:
    """`lead`: the sentence; `rest`: how long it took; `kind` and `symbol`: how it looks. Times in microseconds."""
    who = story["agent"] or story["principal"]
    behalf = f" for {story['principal']}" if story["agent"] and story["agent"] != story["principal"] else ""
    parts = [f"{who} called {known_as(story)}{behalf}", *_decided(story), _ended(story, standing)]
    lead = "; ".join(part for part in parts if part)
    lead = lead if len(lead) <= _LONGEST else f"{lead[: _LONGEST - 1]}…"
    has_person = bool(story.get("answers")) or standing in ("waiting", "unknown")
    kind = "person" if has_person else _KINDS.get(story["status"], "")
    if story["status"] in ("denied", "blocked"):
        symbol = "s-deny"
    else:
        symbol = _SYMBOLS[kind] if kind else "s-ok" if standing == "succeeded" else "calls"
    return {"lead": f"{lead}.", "rest": _times(story, total, work), "kind": kind, "symbol": symbol}


def _decided(story: Story) -> list[str]:
    decisions = story["decisions"]
    if not decisions:
        return []
    rules = listed([f"rule {ref}" for ref in _rules(decisions)[:2]])
    asked = any(decision["behavior"] == "ask" for decision in decisions)
    answers = [answer for answer in story.get("answers", ()) if answer["verdict"]]
    parts = []
    if asked:
        parts.append(f"{rules} asked for a person" if rules else _reason(decisions))
    elif decisions[-1]["behavior"] == "deny":
        parts.append(f"{rules or 'the policy'} denied it")
    else:
        parts.append(f"{rules or 'nothing'} {'allowed it' if rules else 'stood against it'}")
    return [*parts, *_answered(story, answers)]


def _answered(story: Story, answers: list[dict[str, Any]]) -> list[str]:
    said = []
    for answer in answers[:3]:
        word = "allowed it" if answer["verdict"] == "approve" else "rejected it"
        said.append(f"{answer['by']} {word}{_edits(story) if answer['verdict'] == 'approve' else ''}")
    return said


def _edits(story: Story) -> str:
    fields = [
        field
        for change in story.get("mutations", ())
        if change["source_type"] == "permission_prompt"
        for field in change["changed_fields"]
    ]
    return f" and changed {listed(list(dict.fromkeys(fields))[:3])}" if fields else ""


def _rules(decisions: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(ref for decision in decisions for ref in decision.get("rule_refs", ())))


def _reason(decisions: list[dict[str, Any]]) -> str:
    """Why a person was asked where no rule said so."""
    asked = next(decision for decision in decisions if decision["behavior"] == "ask")
    return _REASONS.get(asked["reason"]["type"], "the policy asked for a person")


_REASONS = {
    "policy": "its definition asks for a person",
    "mode": "no rule decides it, so a person was asked",
    "hook": "a hook asked for a person",
    "classifier": "a classifier asked for a person",
}


def _ended(story: Story, standing: str) -> str:
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
            return "its process ended while it ran, so nobody knows whether it acted"
        case "waiting":
            return "it waits for an answer" if story["status"] == "needs_input" else "it waits for that"
        case _:
            return "it runs"


def _times(story: Story, total: float, work: float) -> str:
    if not story["ended_at"]:
        return f"For {took(total)} now."
    if total - work > 1000 and total - work > work / 10:
        return f"{took(total)} in all, of which {took(work)} was work."
    return f"{took(total)} in all."
