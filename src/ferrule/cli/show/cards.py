"""A waiting call as people read it in a terminal: who asks for what, why, with exactly which input, until when."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ferrule.definitions.reporters.excerpt import cleaned
from ferrule.runtime.approval.people import named
from ferrule.runtime.approval.waiting import Waiting

_BOLD, _RED, _YELLOW, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"
_RISKS = {"critical": _RED, "high": _RED, "medium": _YELLOW}
_LABEL = 10
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def card(waiting: Waiting, *, in_colour: bool = False) -> str:
    """One call, in full. Nothing of its input is left out or cut."""
    request = waiting.request
    version = f" {request.tool_version}" if request.tool_version else ""
    title = f"{request.tool_title} ({request.tool_id}{version})"
    risk = f"{request.risk} risk"
    if in_colour:
        title, risk = f"{_BOLD}{cleaned(title)}{_PLAIN}", f"{_RISKS.get(request.risk, '')}{risk}{_PLAIN}"
    lines = [f"{request.invocation_id}  {title if in_colour else cleaned(title)}  {risk}"]
    for label, text in _fields(waiting):
        first, *rest = text.split("\n")
        lines.append(f"  {label:<{_LABEL}}{cleaned(first)}")
        lines += [" " * (_LABEL + 2) + cleaned(line) for line in rest]
    return "\n".join(lines) + "\n"


def _fields(waiting: Waiting) -> Iterator[tuple[str, str]]:
    request = waiting.request
    agent = f"{request.agent} for " if request.agent else ""
    yield "asks", f"{agent}{request.principal}, {duration(waiting.age_seconds)} ago"
    yield "because", " ".join(request.message.split("\n"))
    if waiting.says != request.tool_title:
        yield "does", " ".join(waiting.says.split())
    if waiting.damage is None:
        edited = f"\n(as {waiting.edited_by} changed it)" if waiting.edited_by else ""
        yield "input", json.dumps(waiting.input, indent=2, ensure_ascii=False) + edited
    if request.purpose == "approval":
        yield "needs", _needs(waiting)
    if request.purpose == "input":
        yield "for", _assigned(waiting)
    if waiting.answer_schema:
        yield "answer", json.dumps(waiting.answer_schema, ensure_ascii=False)
    if waiting.expires_in_seconds is not None:
        left = waiting.expires_in_seconds
        yield "expires", f"in {duration(left)}" if left > 0 else f"{duration(-left)} ago"
    for place, update in enumerate(request.suggested_updates):
        rule = json.dumps(update.get("rule", update), ensure_ascii=False)
        yield f"rule {place}", f"{rule}\n(suggested; --accept-rule {place} takes it into the policy)"
    if waiting.damage is not None:
        yield "DAMAGED", f"{waiting.damage}; 'ferrule audit verify' tells more"
    elif waiting.will_not_run is not None:
        yield "ended", f"{waiting.will_not_run}; it does not go on, whoever answers it"
    elif waiting.why_not is not None:
        verb = "answer" if request.purpose == "input" else "approve"
        yield "you", f"cannot {verb} it: {waiting.why_not}"


def _needs(waiting: Waiting) -> str:
    requirement = waiting.request.requirement
    people = "1 person" if requirement.people <= 1 else f"{requirement.people} people"
    text = f"{people}: {named(requirement)}"
    if requirement.not_requester:
        text += f", not {waiting.request.principal}"
    if waiting.approvals:
        names = ", ".join(answer.by for answer in waiting.approvals)
        text += f"; approved so far by {names}"
    return text


def _assigned(waiting: Waiting) -> str:
    """Who a task is for, and who handed it on."""
    requirement = waiting.request.requirement
    who = f"a reply by {requirement.reply_channel}" if requirement.is_reply_only else named(requirement)
    lines = [who]
    for each in waiting.delegations:
        because = f": {each.reason}" if each.reason else ""
        lines.append(f"handed on to {each.to} by {each.by}{because}")
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """A length of time in its two largest units: `23 h 57 min`."""
    left, parts = int(seconds), []
    for size, name in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2]) or "0 s"
