"""Inbox: what waits for a person, one item in full, and the forms that answer it.

The inbox behind the API decides who may answer what. What this adds: a form answers only what its page showed, and what cannot
be undone is approved by somebody who typed what it is about.
"""

from __future__ import annotations

import hmac
import time
from typing import Any

import msgspec

from ferrule.errors import FerruleError
from ferrule.model.lifecycle import TERMINAL
from ferrule.servers.api.replies import Problem, problem_of
from ferrule.servers.asgi import Answer
from ferrule.servers.auth.callers import Refused
from ferrule.servers.console.calls.call_words import known_as
from ferrule.servers.console.inbox import inbox_words as words
from ferrule.servers.console.inbox.inbox_answers import PREFIX, Unreadable, answer_form, answer_of
from ferrule.servers.console.view import NO_STORE, Page, View

_MODES = ("edit", "reject", "delegate")
_YES = ("approve", "edit", "answer")
"""What lets a call go on."""
_MOST_ROWS = 100
_TEXTS = (
    ("reason", "Reason or comment"),
    ("typed", "Typed to approve"),
    ("input", "Edited input"),
    ("to", "Hand on to"),
    ("answer", "Answer"),
)
_WAIT = "wait=1"
"""How long a form waits for the end of the call that it lets go on; the page then follows it."""


class _Said:
    """What somebody sent, and why it was not done."""

    def __init__(self, status: int, problem: str) -> None:
        self.status = status
        self.problem = problem


async def show(view: View) -> Answer:
    """`GET /console/inbox`: the queue, and its first item."""
    queue = await _queue(view)
    first = next((row["id"] for row in queue["need"]), None)
    item = None if first is None else await _item(view, first, _mode(view))
    return await view.page("inbox.html", queue=queue, item=item, current=first)


async def show_item(view: View) -> Answer:
    """`GET /console/inbox/{invocation_id}`"""
    call = view.parts["invocation_id"]
    item = await _item(view, call, _mode(view))
    return await view.page("inbox.html", queue=await _queue(view), item=item, current=call)


async def show_part(view: View) -> Answer:
    """`GET /console/inbox/{invocation_id}/part`: the item alone; nothing when it is as the page has it."""
    item = await _item(view, view.parts["invocation_id"], _mode(view))
    if view.query.get("stamp") == item["stamp"]:
        return Answer(204, b"", [NO_STORE])
    return view.fragment("inbox_item.html", item=item)


async def show_queue(view: View) -> Answer:
    """`GET /console/inbox/queue`: the queue alone."""
    return view.fragment("inbox_queue.html", queue=await _queue(view), current=view.query.get("item"))


async def approve(view: View) -> Answer:
    """`POST /console/inbox/{invocation_id}/approve`: as it is, or with the input of the form."""
    body: dict[str, Any] = {"seen": view.said("seen"), "reason": view.said("reason").strip() or None}
    places = [int(place) for place in view.form.get("rule", []) if place.isdecimal() and len(place) < 4]
    if places:
        body["accept_rules"] = places
    try:
        review = await _fresh(view)
        if "input" in view.form:
            body["input"] = _json(view.said("input"))
            checked = await view.api.post(f"/approvals/{view.parts['invocation_id']}/check", {"input": body["input"]})
            if checked["problem"] is not None:
                raise Problem(409, "unfit_edit", f"The edited input does not fit: {checked['problem']}")
            _demand_typed(view, checked["to_type"])
            if not checked["differences"]:  # nothing was changed, so nothing is recorded as changed
                del body["input"]
        else:
            _demand_typed(view, review["to_type"])
        if not review["is_definition_current"]:
            raise Problem(409, "stale", "The definition of the tool is another one now, so an approval would be void.")
    except (Problem, Refused, FerruleError) as error:
        return await _refused(view, error, "edit" if "input" in view.form else "")
    return await _sent(view, "approve", body, mode="edit" if "input" in view.form else "")


async def reject(view: View) -> Answer:
    """`POST /console/inbox/{invocation_id}/reject`"""
    reason = view.said("reason").strip()
    if not reason:
        problem = Problem(422, "no_reason", "Say why: whoever asked reads it.")
        return await _refused(view, problem, "reject")
    return await _sent(view, "reject", {"seen": view.said("seen"), "reason": reason}, mode="reject")


async def answer(view: View) -> Answer:
    """`POST /console/inbox/{invocation_id}/answer`"""
    try:
        review = await _fresh(view)
        value = answer_of(review["item"]["answer_schema"], view.form)
    except Unreadable as error:
        return await _refused(view, Problem(422, "unfit_answer", str(error)), "")
    except (Problem, Refused, FerruleError) as error:
        return await _refused(view, error, "")
    body = {"seen": view.said("seen"), "value": value, "reason": view.said("reason").strip() or None}
    return await _sent(view, "answer", body)


async def delegate(view: View) -> Answer:
    """`POST /console/inbox/{invocation_id}/delegate`"""
    to = view.said("to").strip()
    if not to:
        return await _refused(view, Problem(422, "nobody", "Say who gets it."), "delegate")
    body = {"seen": view.said("seen"), "to": to, "reason": view.said("reason").strip() or None}
    return await _sent(view, "delegate", body, mode="delegate")


async def settle(view: View) -> Answer:
    """`POST /console/inbox/{invocation_id}/settle`"""
    reason, happened = view.said("reason").strip(), view.said("happened")
    if happened not in ("yes", "no") or not reason:
        problem = (
            "Say whether it acted, and how you know." if reason else "Say how you know; it is kept with the record."
        )
        return await _refused(view, Problem(422, "unsaid", problem), "")
    body = {"seen": view.said("seen"), "happened": happened == "yes", "reason": reason}
    return await _sent(view, "settle", body)


async def check(view: View) -> Answer:
    """`POST /console/inbox/{invocation_id}/check`: what an edit would change, and what is wrong with it."""
    call = view.parts["invocation_id"]
    edit = await _checked(view, call, view.said("input"))
    if view.is_fragment:
        return view.fragment("inbox_edit.html", edit=edit)
    item = await _item(view, call, "edit", edit=edit)
    return await view.page("inbox.html", queue=await _queue(view), item=item, current=call)


# What pages are made of


async def _queue(view: View) -> dict[str, Any]:
    me, now = view.caller.identity.principal, time.time()
    waiting = (await view.api.get("/approvals"))["items"]
    rows = [words.waiting_row(item, me, now) for item in waiting]
    decided = (await view.api.get("/approvals/decided", since=words.midnight(now), limit=30))["items"]
    need = [row for row in rows if row["is_mine"]]
    others = [row for row in rows if not row["is_mine"]]
    return {
        "need": need[:_MOST_ROWS],
        "others": others[:_MOST_ROWS],
        "done": [words.decided_row(item, me) for item in decided],
        "need_count": len(need),
        "others_count": len(others),
        "median": words.median_minutes(decided),
    }


async def _item(
    view: View, call: str, mode: str, *, said: _Said | None = None, edit: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Everything that is shown of one item. `said`: what was sent and not done."""
    review = await view.api.get(f"/approvals/{call}/review")
    me, item = view.caller.identity.principal, review["item"]
    is_open = review["outcome"] == "waiting" and item is not None
    ways = _ways(review) if is_open else {}
    chosen = mode if is_open and ways.get(mode, "no such way") is None else ""
    left = words.seconds_left(item["expires_at"], time.time()) if item is not None else None
    text = view.said("input") if said is not None and "input" in view.form else None
    if chosen == "edit" and edit is None:
        edit = {"text": words.pretty(review["input"]), "problem": None, "rows": [], "to_type": review["to_type"]}
        edit = edit if text is None else await _checked(view, call, text)
    return {
        "id": call,
        "name": known_as(review),
        "stamp": words.stamp(review),
        "seen": item["seen"] if item is not None else "",
        "mode": chosen,
        "is_open": is_open,
        "is_running": review["outcome"] in ("approved", "answered") and review["state"] not in TERMINAL,
        "left": left,
        "clock": words.clock(left),
        "sentence": words.sentence(review, me),
        "hint": words.hint(review),
        "because": _sentence(review["message"]),
        "signing": words.signing(review, me),
        "signing_title": words.signing_title(review),
        "changes": words.changes(review),
        "changed_by": words.changed_by(review),
        "rows": words.diff(review["model_input"], review["input"]),
        "left_out": words.left_out(review["input"]),
        "rules": words.rules(review),
        "ways": ways,
        "why_not": _why_not(ways),
        "suggested": [each.get("rule", each) for each in item["suggested_updates"]] if is_open else [],
        "form": answer_form(item["answer_schema"]) if is_open and review["purpose"] == "input" else None,
        "delegations": item["delegations"] if item is not None else [],
        "edit": edit if chosen == "edit" else None,
        "problem": said.problem if said is not None else None,
        "typed": _typed_again(view, said),
        "kept": _kept(view) if said is not None and words.is_stale(review, view.said("seen")) else [],
        "why_no_rules": _sentence(review["why_no_rules"]) if review["why_no_rules"] else None,
        "has_rule": view.query.get("taken") == "rule",
        "review": review,
    }


def _ways(review: dict[str, Any]) -> dict[str, str | None]:
    """The ways to answer an item, each with why it cannot be taken; None where it can."""
    ways: dict[str, str | None] = dict(review["item"]["ways"])
    if not review["is_definition_current"]:
        gone = "the definition of the tool is another one now, so an approval would be void"
        ways |= {way: ways[way] or gone for way in ("approve", "edit") if way in ways}
    ended = review["item"]["will_not_run"]
    if ended is not None:
        ways |= {way: ways[way] or f"{ended}, so it does not go on" for way in _YES if way in ways}
    return ways


def _why_not(ways: dict[str, str | None]) -> str | None:
    """Why nothing can be done; None when something can, or when there is nothing to do."""
    return next((ways[way] for way in ("approve", "answer", "settle") if way in ways), None)


def _typed_again(view: View, said: _Said | None) -> dict[str, str]:
    """What stood in the form that was sent, to stand there again."""
    if said is None:
        return {}
    return {name: values[0] for name, values in view.form.items() if name not in ("proof", "seen")}


def _kept(view: View) -> list[dict[str, str]]:
    """What somebody typed for an item that is not there any more as they saw it."""
    found = [{"label": label, "text": view.said(name)} for name, label in _TEXTS]
    found += [{"label": name.removeprefix(PREFIX), "text": values[0]} for name, values in view.form.items()
              if name.startswith(PREFIX)]  # fmt: skip
    return [each for each in found if each["text"].strip()]


async def _checked(view: View, call: str, text: str) -> dict[str, Any]:
    """An edited input: what is wrong with it, and what it changes."""
    made: dict[str, Any] = {"text": text, "problem": None, "rows": [], "to_type": None}
    try:
        found = await view.api.post(f"/approvals/{call}/check", {"input": _json(text)})
    except (Problem, Refused, FerruleError) as error:
        return {**made, "problem": _told(error).problem}
    made |= {"problem": found["problem"], "to_type": found["to_type"]}
    if found["edited"] is not None:
        made["rows"] = words.diff(found["input"], found["edited"]) if found["differences"] else []
    return made


# What is sent


async def _fresh(view: View) -> dict[str, Any]:
    """The item that a form is about, if it is what its page showed. Raises Problem (409)."""
    review: dict[str, Any] = await view.api.get(f"/approvals/{view.parts['invocation_id']}/review")
    if not view.said("seen") or words.is_stale(review, view.said("seen")):
        raise Problem(409, "stale", "It is not any more what you looked at, so nothing was done.")
    return review


def _demand_typed(view: View, thing: dict[str, Any] | None) -> None:
    """Raises Problem (422) when what cannot be undone is approved without saying what it is about."""
    if thing is None or hmac.compare_digest(view.said("typed").strip().encode(), thing["value"].encode()):
        return
    what = f"{thing['name']} {thing['value']}" if thing["name"] else f"the tool's name, {thing['value']}"
    raise Problem(422, "not_typed", f"It cannot be undone: type {what} to approve it.")


def _json(text: str) -> msgspec.Raw:
    """A JSON object that was typed. Raises Problem (422)."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise Problem(422, "not_json", f"This is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise Problem(422, "not_json", "The input must be a JSON object, like the one it replaces.")
    return msgspec.Raw(text.encode())


async def _sent(view: View, way: str, body: dict[str, Any], *, mode: str = "") -> Answer:
    """Do it, and show what became of it; or say why it was not done."""
    call = view.parts["invocation_id"]
    if not view.said("seen"):
        return await _refused(view, Problem(409, "stale", "This page is too old; look again."), mode)
    try:
        done = await view.api.post(f"/approvals/{call}/{way}", body, prefer=_WAIT)
    except (Problem, Refused, FerruleError) as error:
        return await _refused(view, error, mode)
    if done is not None and done.get("problems"):
        told = _Said(200, f"It was approved, but a rule was not taken: {'; '.join(done['problems'])}")
        return await _page(view, "", told)
    taken = "?taken=rule" if done is not None and done.get("accepted") else ""
    return view.redirect(f"/console/inbox/{call}{taken}")


async def _refused(view: View, error: Exception, mode: str) -> Answer:
    return await _page(view, mode, _told(error))


async def _page(view: View, mode: str, said: _Said) -> Answer:
    """The item as it is now, with what was typed and why it was not done."""
    call = view.parts["invocation_id"]
    item = await _item(view, call, mode, said=said)
    if item["kept"]:
        item["typed"] = {}
    return await view.page("inbox.html", status=said.status, queue=await _queue(view), item=item, current=call)


def _told(error: Exception) -> _Said:
    """An error as people read it."""
    if isinstance(error, Refused):
        return _Said(error.status, _sentence(error.reason))
    known = error if isinstance(error, Problem) else problem_of(error) if isinstance(error, FerruleError) else None
    if known is None:
        raise error
    return _Said(known.status, _sentence(known.detail))


def _sentence(text: str) -> str:
    said = text[:1].upper() + text[1:]
    return said if said.endswith((".", "?", "!")) else f"{said}."


def _mode(view: View) -> str:
    wanted = view.query.get("mode", "")
    return wanted if wanted in _MODES else ""


_ITEM = "/inbox/{invocation_id}"
PAGES = (
    Page("GET", "/inbox", show),
    Page("GET", "/inbox/queue", show_queue),
    Page("GET", _ITEM, show_item),
    Page("GET", f"{_ITEM}/part", show_part),
    Page("POST", f"{_ITEM}/approve", approve),
    Page("POST", f"{_ITEM}/reject", reject),
    Page("POST", f"{_ITEM}/answer", answer),
    Page("POST", f"{_ITEM}/delegate", delegate),
    Page("POST", f"{_ITEM}/settle", settle),
    Page("POST", f"{_ITEM}/check", check),
)
