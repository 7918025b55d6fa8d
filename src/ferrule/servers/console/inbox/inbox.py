"""The inbox: the calls that wait for a person, one item in full, and the forms that answer it.

The inbox behind the API decides who may answer what. The page adds two checks: a form answers only the version that its
page showed, and approving what cannot be undone takes typing its target.
"""

from __future__ import annotations

import hmac
import time

import msgspec

from ferrule.errors import FerruleError
from ferrule.model.lifecycle import TERMINAL
from ferrule.model.value import JsonObject
from ferrule.servers.api.replies import Problem, problem_of
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.auth.callers import Refused
from ferrule.servers.console.calls.call_words import display_name
from ferrule.servers.console.inbox import inbox_words as words
from ferrule.servers.console.inbox.inbox_answers import PREFIX, InvalidAnswer, answer_form, read_answer
from ferrule.servers.console.view import NO_STORE, ConsolePage, ConsoleView

_MODES = ("edit", "reject", "delegate")
_YES = ("approve", "edit", "answer")
"""The answers that let a call go on."""
_MOST_ROWS = 100
_TEXTS = (
    ("reason", "Reason or comment"),
    ("typed", "Typed to approve"),
    ("input", "Edited input"),
    ("to", "Delegate to"),
    ("answer", "Answer"),
)
_WAIT = "wait=1"
"""How long a form waits for the end of the call that it resumes; the page then follows it."""


class _FormProblem:
    """Why a submitted form was not carried out, and the status to answer with."""

    def __init__(self, status: int, problem: str) -> None:
        self.status = status
        self.problem = problem


async def show(view: ConsoleView) -> HttpAnswer:
    """`GET /console/inbox`: the queue, and its first item."""
    queue = await _load_queue(view)
    first = next((row["id"] for row in queue["need"]), None)
    item = None if first is None else await _load_item(view, first, _find_mode(view))
    return await view.page("inbox.html", queue=queue, item=item, current=first)


async def show_item(view: ConsoleView) -> HttpAnswer:
    """`GET /console/inbox/{invocation_id}`"""
    call = view.parts["invocation_id"]
    item = await _load_item(view, call, _find_mode(view))
    return await view.page("inbox.html", queue=await _load_queue(view), item=item, current=call)


async def show_part(view: ConsoleView) -> HttpAnswer:
    """`GET /console/inbox/{invocation_id}/part`: the item alone; nothing when the page already shows its current state."""
    item = await _load_item(view, view.parts["invocation_id"], _find_mode(view))
    if view.query.get("stamp") == item["stamp"]:
        return HttpAnswer(204, b"", [NO_STORE])
    return view.fragment("inbox_item.html", item=item)


async def show_queue(view: ConsoleView) -> HttpAnswer:
    """`GET /console/inbox/queue`: the queue alone."""
    return view.fragment("inbox_queue.html", queue=await _load_queue(view), current=view.query.get("item"))


async def approve(view: ConsoleView) -> HttpAnswer:
    """`POST /console/inbox/{invocation_id}/approve`: as it is, or with the edited input."""
    body: JsonObject = {"seen": view.field("seen"), "reason": view.field("reason").strip() or None}
    places = [int(place) for place in view.form.get("rule", []) if place.isdecimal() and len(place) < 4]
    if places:
        body["accept_rules"] = places
    try:
        review = await _require_current(view)
        if "input" in view.form:
            body["input"] = _parse_object(view.field("input"))
            checked = await view.api.post(f"/approvals/{view.parts['invocation_id']}/check", {"input": body["input"]})
            if checked["problem"] is not None:
                raise Problem(409, "unfit_edit", f"The edited input is invalid: {checked['problem']}")
            _require_typed(view, checked["to_type"])
            if not checked["differences"]:  # an edit without a difference is a plain approval
                del body["input"]
        else:
            _require_typed(view, review["to_type"])
        if not review["is_definition_current"]:
            raise Problem(409, "stale", "The definition of the tool has changed, so an approval would be void.")
    except (Problem, Refused, FerruleError) as error:
        return await _show_problem(view, error, "edit" if "input" in view.form else "")
    return await _submit(view, "approve", body, mode="edit" if "input" in view.form else "")


async def reject(view: ConsoleView) -> HttpAnswer:
    """`POST /console/inbox/{invocation_id}/reject`"""
    reason = view.field("reason").strip()
    if not reason:
        problem = Problem(422, "no_reason", "Enter a reason: the caller sees it.")
        return await _show_problem(view, problem, "reject")
    return await _submit(view, "reject", {"seen": view.field("seen"), "reason": reason}, mode="reject")


async def answer(view: ConsoleView) -> HttpAnswer:
    """`POST /console/inbox/{invocation_id}/answer`"""
    try:
        review = await _require_current(view)
        value = read_answer(review["item"]["answer_schema"], view.form)
    except InvalidAnswer as error:
        return await _show_problem(view, Problem(422, "unfit_answer", str(error)), "")
    except (Problem, Refused, FerruleError) as error:
        return await _show_problem(view, error, "")
    body = {"seen": view.field("seen"), "value": value, "reason": view.field("reason").strip() or None}
    return await _submit(view, "answer", body)


async def delegate(view: ConsoleView) -> HttpAnswer:
    """`POST /console/inbox/{invocation_id}/delegate`"""
    to = view.field("to").strip()
    if not to:
        return await _show_problem(view, Problem(422, "nobody", "Enter a person or group."), "delegate")
    body = {"seen": view.field("seen"), "to": to, "reason": view.field("reason").strip() or None}
    return await _submit(view, "delegate", body, mode="delegate")


async def settle(view: ConsoleView) -> HttpAnswer:
    """`POST /console/inbox/{invocation_id}/settle`"""
    reason, happened = view.field("reason").strip(), view.field("happened")
    if happened not in ("yes", "no") or not reason:
        problem = (
            "Choose whether it took effect, and enter how you know."
            if reason
            else "Enter how you know; it is kept with the record."
        )
        return await _show_problem(view, Problem(422, "unsaid", problem), "")
    body = {"seen": view.field("seen"), "happened": happened == "yes", "reason": reason}
    return await _submit(view, "settle", body)


async def check(view: ConsoleView) -> HttpAnswer:
    """`POST /console/inbox/{invocation_id}/check`: the effect of an edit, and its errors."""
    call = view.parts["invocation_id"]
    edit = await _check_edit(view, call, view.field("input"))
    if view.is_fragment:
        return view.fragment("inbox_edit.html", edit=edit)
    item = await _load_item(view, call, "edit", edit=edit)
    return await view.page("inbox.html", queue=await _load_queue(view), item=item, current=call)


# What pages are made of


async def _load_queue(view: ConsoleView) -> JsonObject:
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
        "median": words.median_answer_time(decided),
    }


async def _load_item(
    view: ConsoleView, call: str, mode: str, *, said: _FormProblem | None = None, edit: JsonObject | None = None
) -> JsonObject:
    """Returns everything that is shown of one item. `said`: a submitted form that was not carried out."""
    review = await view.api.get(f"/approvals/{call}/review")
    me, item = view.caller.identity.principal, review["item"]
    is_open = review["outcome"] == "waiting" and item is not None
    ways = _list_ways(review) if is_open else {}
    chosen = mode if is_open and ways.get(mode, "no such way") is None else ""
    left = words.seconds_left(item["expires_at"], time.time()) if item is not None else None
    text = view.field("input") if said is not None and "input" in view.form else None
    if chosen == "edit" and edit is None:
        edit = {"text": words.pretty(review["input"]), "problem": None, "rows": [], "to_type": review["to_type"]}
        edit = edit if text is None else await _check_edit(view, call, text)
    return {
        "id": call,
        "name": display_name(review),
        "stamp": words.stamp(review),
        "seen": item["seen"] if item is not None else "",
        "mode": chosen,
        "is_open": is_open,
        "is_running": review["outcome"] in ("approved", "answered") and review["state"] not in TERMINAL,
        "left": left,
        "clock": words.clock(left),
        "sentence": words.write_sentence(review, me),
        "hint": words.write_hint(review),
        "because": _make_sentence(review["message"]),
        "signing": words.list_signatures(review, me),
        "signing_title": words.signing_title(review),
        "changes": words.list_changes(review),
        "changed_by": words.describe_changers(review),
        "rows": words.diff(review["model_input"], review["input"]),
        "left_out": words.count_hidden_lines(review["input"]),
        "rules": words.list_rules(review),
        "ways": ways,
        "why_not": _why_closed(ways),
        "suggested": [each.get("rule", each) for each in item["suggested_updates"]] if is_open else [],
        "form": answer_form(item["answer_schema"]) if is_open and review["purpose"] == "input" else None,
        "delegations": item["delegations"] if item is not None else [],
        "edit": edit if chosen == "edit" else None,
        "problem": said.problem if said is not None else None,
        "typed": _restore_fields(view, said),
        "kept": _list_typed_texts(view) if said is not None and words.is_stale(review, view.field("seen")) else [],
        "why_no_rules": _make_sentence(review["why_no_rules"]) if review["why_no_rules"] else None,
        "has_rule": view.query.get("taken") == "rule",
        "review": review,
    }


def _list_ways(review: JsonObject) -> dict[str, str | None]:
    """Returns the ways to answer an item, each with why it is closed; None where it is open."""
    ways: dict[str, str | None] = dict(review["item"]["ways"])
    if not review["is_definition_current"]:
        gone = "the definition of the tool has changed, so an approval would be void"
        ways |= {way: ways[way] or gone for way in ("approve", "edit") if way in ways}
    ended = review["item"]["will_not_run"]
    if ended is not None:
        ways |= {way: ways[way] or f"{ended}, so the call will not run" for way in _YES if way in ways}
    return ways


def _why_closed(ways: dict[str, str | None]) -> str | None:
    """Returns why the item cannot be answered; None when it can."""
    return next((ways[way] for way in ("approve", "answer", "settle") if way in ways), None)


def _restore_fields(view: ConsoleView, said: _FormProblem | None) -> dict[str, str]:
    """Returns the fields of the submitted form, to fill in again."""
    if said is None:
        return {}
    return {name: values[0] for name, values in view.form.items() if name not in ("proof", "seen")}


def _list_typed_texts(view: ConsoleView) -> list[dict[str, str]]:
    """Returns the texts typed for an item that has changed since, to be shown below it."""
    found = [{"label": label, "text": view.field(name)} for name, label in _TEXTS]
    found += [{"label": name.removeprefix(PREFIX), "text": values[0]} for name, values in view.form.items()
              if name.startswith(PREFIX)]  # fmt: skip
    return [each for each in found if each["text"].strip()]


async def _check_edit(view: ConsoleView, call: str, text: str) -> JsonObject:
    """Returns an edited input with its errors and its changes."""
    made: JsonObject = {"text": text, "problem": None, "rows": [], "to_type": None}
    try:
        found = await view.api.post(f"/approvals/{call}/check", {"input": _parse_object(text)})
    except (Problem, Refused, FerruleError) as error:
        return {**made, "problem": _explain_error(error).problem}
    made |= {"problem": found["problem"], "to_type": found["to_type"]}
    if found["edited"] is not None:
        made["rows"] = words.diff(found["input"], found["edited"]) if found["differences"] else []
    return made


# What is sent


async def _require_current(view: ConsoleView) -> JsonObject:
    """Returns the item of a form if it is still what the page showed. Raises Problem (409)."""
    review: JsonObject = await view.api.get(f"/approvals/{view.parts['invocation_id']}/review")
    if not view.field("seen") or words.is_stale(review, view.field("seen")):
        raise Problem(409, "stale", "The request has changed since you opened it, so nothing was done.")
    return review


def _require_typed(view: ConsoleView, thing: JsonObject | None) -> None:
    """Raises Problem (422) unless the target of an action that cannot be undone was typed."""
    # Compared as bytes: `compare_digest` refuses text that is not ASCII.
    if thing is None or hmac.compare_digest(view.field("typed").strip().encode(), thing["value"].encode()):
        return
    what = f"{thing['name']} {thing['value']}" if thing["name"] else f"the tool's name, {thing['value']}"
    raise Problem(422, "not_typed", f"This cannot be undone: type {what} to approve it.")


def _parse_object(text: str) -> msgspec.Raw:
    """Parses a typed JSON object. Raises Problem (422)."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise Problem(422, "not_json", f"This is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise Problem(422, "not_json", "The input must be a JSON object.")
    return msgspec.Raw(text.encode())


async def _submit(view: ConsoleView, way: str, body: JsonObject, *, mode: str = "") -> HttpAnswer:
    """Sends the answer and shows its effect, or why it was refused."""
    call = view.parts["invocation_id"]
    if not view.field("seen"):
        return await _show_problem(view, Problem(409, "stale", "This page has expired; reload it."), mode)
    try:
        done = await view.api.post(f"/approvals/{call}/{way}", body, prefer=_WAIT)
    except (Problem, Refused, FerruleError) as error:
        return await _show_problem(view, error, mode)
    if done is not None and done.get("problems"):
        problem = _FormProblem(200, f"The call was approved, but a rule was not added: {'; '.join(done['problems'])}")
        return await _show_again(view, "", problem)
    taken = "?taken=rule" if done is not None and done.get("accepted") else ""
    return view.redirect(f"/console/inbox/{call}{taken}")


async def _show_problem(view: ConsoleView, error: Exception, mode: str) -> HttpAnswer:
    return await _show_again(view, mode, _explain_error(error))


async def _show_again(view: ConsoleView, mode: str, said: _FormProblem) -> HttpAnswer:
    """Shows the item as it is now, with the typed texts and the problem."""
    call = view.parts["invocation_id"]
    item = await _load_item(view, call, mode, said=said)
    if item["kept"]:
        item["typed"] = {}
    return await view.page("inbox.html", status=said.status, queue=await _load_queue(view), item=item, current=call)


def _explain_error(error: Exception) -> _FormProblem:
    """Returns an error as people read it."""
    if isinstance(error, Refused):
        return _FormProblem(error.status, _make_sentence(error.reason))
    known = error if isinstance(error, Problem) else problem_of(error) if isinstance(error, FerruleError) else None
    if known is None:
        raise error
    return _FormProblem(known.status, _make_sentence(known.detail))


def _make_sentence(text: str) -> str:
    sentence = text[:1].upper() + text[1:]
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def _find_mode(view: ConsoleView) -> str:
    wanted = view.query.get("mode", "")
    return wanted if wanted in _MODES else ""


_ITEM = "/inbox/{invocation_id}"
PAGES = (
    ConsolePage("GET", "/inbox", show),
    ConsolePage("GET", "/inbox/queue", show_queue),
    ConsolePage("GET", _ITEM, show_item),
    ConsolePage("GET", f"{_ITEM}/part", show_part),
    ConsolePage("POST", f"{_ITEM}/approve", approve),
    ConsolePage("POST", f"{_ITEM}/reject", reject),
    ConsolePage("POST", f"{_ITEM}/answer", answer),
    ConsolePage("POST", f"{_ITEM}/delegate", delegate),
    ConsolePage("POST", f"{_ITEM}/settle", settle),
    ConsolePage("POST", f"{_ITEM}/check", check),
)
