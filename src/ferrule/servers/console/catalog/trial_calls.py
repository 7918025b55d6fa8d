"""The page Try it: choose a tool, fill in its input as a form or JSON, and call it through the pipeline of everybody.

`forms` makes the form of a schema, `calls/runs` the panel of a run, `calls/snippets` the call as a text to paste
elsewhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec

from ferrule.access.keys import AGENT_FILE, KEYS_FOLDER
from ferrule.model.approval import CALL
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import EVENTS, JSON, NO_CACHE, Answer, Stream
from ferrule.servers.console.calls.call_words import known_as
from ferrule.servers.console.calls.runs import run_of
from ferrule.servers.console.calls.snippets import as_curl, as_mcp, as_python
from ferrule.servers.console.catalog.forms import form_of
from ferrule.servers.console.rendering import part
from ferrule.servers.console.view import NO_STORE, Page, View

_PAGE, _MOST_FOUND, _MOST_RECENT, _MOST_RUNS, _FORMS_KEPT, _PRESSES_KEPT = 50, 20, 6, 8, 64, 256
_LONGEST_SNIPPET = 100_000
_ANY_TOKEN = "ferrule.token"
"""Stands for the file that somebody keeps a key in."""


# Choosing a tool


async def choose(view: View) -> Answer:
    """`GET /console/try`: the tools of whoever looks, found by what they do."""
    if not view.may(CALL):
        return await view.page("trying_shut.html", tools=[])
    text = view.query.get("q", "").strip()
    values = {"text": text, "next": "", **(await _found(view, text) if text else await _listed(view))}
    if view.is_fragment:
        return view.fragment("trying_tools.html", **values)
    surface = await view.api.get("/surface")
    return await view.page(
        "trying_choose.html", recent=await _recent(view), count=surface["loaded"] + surface["deferred"], **values
    )


async def _listed(view: View) -> dict[str, Any]:
    page = await view.api.get("/tools", limit=_PAGE, cursor=view.query.get("cursor"))
    more = page["items"][-1]["tool_id"] if page["next"] else ""
    return {"tools": [_brief(tool) for tool in page["items"]], "next": more}


async def _found(view: View, text: str) -> dict[str, Any]:
    found = await view.api.post("/search", {"query": text[:2000], "limit": _MOST_FOUND})
    tools = []
    for tool_id in found["matches"]:
        try:
            tools.append(_brief(await view.api.get(f"/tools/{tool_id}")))
        except Problem:  # gone meanwhile
            continue
    return {"tools": tools}


async def _recent(view: View) -> list[str]:
    """The tools that this person called last."""
    page = await view.api.get("/invocations", principal=view.caller.identity.principal, limit=_PAGE)
    called = [one["tool_name"] for one in page["items"] if not one["tool_id"].startswith("unknown:")]
    return list(dict.fromkeys(called))[:_MOST_RECENT]


def _brief(tool: Mapping[str, Any]) -> dict[str, Any]:
    words = ("name", "title", "description", "standing", "needs_approval", "asks")
    name = known_as({"tool_id": tool["tool_id"], "tool_name": tool["name"]})
    return {**{word: tool[word] for word in words}, "known_as": name, "does": does(tool["facts"])}


def does(facts: Mapping[str, Any]) -> str:
    """What a tool may do, in a few words."""
    if facts["is_read_only"] is True:
        return "reads only"
    return "changes things" if facts["is_destructive"] is False else "may destroy something"


# One tool


async def show(view: View) -> Answer:
    """`GET /console/try/{tool}`: its form. `run`: calls to show, again and again. `from`: a call to take the input of."""
    if not view.may(CALL):
        return await view.page("trying_shut.html", tools=[])
    tool = await view.api.get(f"/tools/{view.parts['tool']}")
    runs = _runs_in(view)
    taken = [view.query["from"]] if _is_call(view.query.get("from", "")) else runs
    written = await _recorded(view, taken[:1])
    return await _page(view, tool, written, runs=runs)


async def _page(
    view: View, tool: dict[str, Any], written: str | None, *, runs: list[str], is_asked: bool = False
) -> Answer:
    """The page of a tool. `is_asked`: somebody wants to know what is wrong."""
    if tool["standing"] == "deferred":
        return await view.page("trying_deferred.html", tool=_brief(tool))
    form = await _form(view, tool)
    text = form["start"] if written is None else written
    return await view.page(
        "trying.html",
        tool={**_brief(tool), "tool_id": tool["tool_id"], "version": tool["version"], "digest": tool["digest"]},
        form=form,
        written=text,
        checked=await _checked(view, tool["name"], text),
        is_asked=is_asked,
        snippets=_snippets(view, tool["name"], text),
        runs=[await run_of(view, run, len(runs) - place) for place, run in enumerate(runs)],
        nonce=secrets.token_hex(8),
    )


async def _form(view: View, tool: Mapping[str, Any]) -> dict[str, Any]:
    """The form of a tool, which is made once for each version."""
    kept: dict[str, dict[str, Any]] = view.shared.setdefault("forms", {})
    form = kept.get(tool["digest"])
    if form is None:
        form = kept[tool["digest"]] = await asyncio.to_thread(form_of, _plain(tool["input_schema"]))
        while len(kept) > _FORMS_KEPT:
            del kept[next(iter(kept))]
    return form


def _plain(schema: Any) -> Any:
    """A schema as a value: in process it comes as it is written."""
    return msgspec.json.decode(schema) if isinstance(schema, bytes | memoryview | msgspec.Raw) else schema


def _runs_in(view: View) -> list[str]:
    """The calls in the address, the newest first."""
    pairs = parse_qsl(view.request.query.decode("utf-8", "replace"), max_num_fields=100)
    return list(dict.fromkeys(value for name, value in pairs if name == "run" and _is_call(value)))[:_MOST_RUNS]


def _is_call(text: str) -> bool:
    """True for what can be the id of a call."""
    return re.fullmatch(r"inv_[0-9A-Za-z]{1,60}", text) is not None


async def _recorded(view: View, runs: list[str]) -> str | None:
    """The input of a call, as its record has it."""
    for run in runs:
        try:
            story = await view.api.get(f"/invocations/{run}/explain")
        except Problem:  # not on record yet, or not theirs
            return None
        value = story["inputs"][0]["value"] if story["inputs"] else None
        return _pretty(value) if isinstance(value, dict) else None
    return None


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


async def send(view: View) -> Answer:
    """`POST /console/try/{tool}`: check the input, run it, or load a tool that is deferred. A script is answered with JSON."""
    name, written, wish = view.parts["tool"], view.said("arguments"), view.said("do", "run")
    if wish == "load":
        await view.api.post("/selection", {"tools": [name]})
        return view.redirect(f"/console/try/{part(name)}")
    if wish == "check":
        if view.wants_json:
            told = {**await _checked(view, name, written), "snippets": _snippets(view, name, written)}
            return Answer(200, msgspec.json.encode(told), [JSON, NO_STORE])
        return await _page(view, await view.api.get(f"/tools/{name}"), written, runs=[], is_asked=True)
    if unreadable(written):
        if view.wants_json:
            return Answer(422, msgspec.json.encode({"problem": unreadable(written)}), [JSON, NO_STORE])
        return await _page(view, await view.api.get(f"/tools/{name}"), written, runs=[], is_asked=True)
    try:
        run = await _once(view, name, written)
    except Problem as problem:
        if not view.wants_json:
            raise
        return Answer(problem.status, msgspec.json.encode({"problem": problem.detail}), [JSON, NO_STORE])
    if view.wants_json:
        return Answer(200, msgspec.json.encode({"run": run}), [JSON, NO_STORE])
    kept = [one for one in view.form.get("run", []) if one != run and _is_call(one)]
    return view.redirect(_address(name, [run, *kept][:_MOST_RUNS]))


async def _once(view: View, name: str, written: str) -> str:
    """Make the call, once for each page and input however often that is sent; gives its id. Raises Problem.

    The idempotency key sees to it, too, but of two reads that come together both begin: here the second waits for the first.
    """
    said = f"{view.said('nonce')}\0{name}\0{written}".encode()
    key = f"console-{hashlib.sha256(said).hexdigest()[:32]}"
    pressed: dict[tuple[Any, ...], asyncio.Future[str]] = view.shared.setdefault("pressed", {})
    who = (*view.caller.key, key)
    run = pressed.get(who)
    if run is None or (run.done() and (run.cancelled() or run.exception() is not None)):
        run = pressed[who] = asyncio.ensure_future(_run(view, name, written, key))
        while len(pressed) > _PRESSES_KEPT:
            del pressed[next(iter(pressed))]
    return await asyncio.shield(run)


async def _run(view: View, name: str, written: str, key: str) -> str:
    body = {"tool": name, "arguments": msgspec.Raw(written.encode()), "digest": view.said("digest") or None}
    headers = ((b"idempotency-key", key.encode()),)
    try:
        state = await view.api.post("/calls", body, prefer="respond-async", headers=headers)
    except Problem as problem:  # a refused call is on record, too, and has its page
        if "invocation_id" in problem.more:
            return str(problem.more["invocation_id"])
        raise
    return str(state["invocation_id"])


def _address(name: str, runs: list[str]) -> str:
    return f"/console/try/{part(name)}?{urlencode([('run', run) for run in runs])}"


def unreadable(written: str) -> str:
    """Why a text is not JSON; empty when it is. What is one value can be put into a request as it stands."""
    try:
        msgspec.json.decode(written.encode())
    except RecursionError:
        return "It is nested too deep."
    except msgspec.MsgspecError as error:
        return f"This is not JSON: {error}."
    return ""


async def _checked(view: View, name: str, written: str) -> dict[str, Any]:
    """What would become of the call: `problem`, or what `/v1/checks` says."""
    problem = unreadable(written)
    if problem:
        return {"problem": problem, "is_accepted": False, "errors": [], "decision": None, "message": problem}
    try:
        body = {"tool": name, "arguments": msgspec.Raw(written.encode())}
        state: dict[str, Any] = await view.api.post("/checks", body)
    except Problem as refused:
        told = refused.detail[:1].upper() + refused.detail[1:]
        return {"problem": told, "is_accepted": False, "errors": [], "decision": None, "message": told}
    return {**state, "problem": "" if state["errors"] else state["message"]}


def _snippets(view: View, name: str, written: str) -> dict[str, str]:
    if unreadable(written) or len(written) > _LONGEST_SNIPPET:
        return {"curl": "", "python": "", "mcp": ""}
    public = view.edge.settings.public_url
    url = public.rstrip("/") if public else f"http://{view.request.header(b'host') or 'localhost:8787'}"
    file = _ANY_TOKEN if public else f"{KEYS_FOLDER}/{AGENT_FILE}"
    return {
        "curl": as_curl(url, file, name, written),
        "python": as_python(url, file, name, written),
        "mcp": as_mcp(name, written),
    }


# Runs


async def show_run(view: View) -> Answer:
    """`GET /console/trying/{invocation_id}`: one call, as its panel shows it."""
    number = view.query.get("number", "")
    run = await run_of(view, view.parts["invocation_id"], int(number) if number.isdecimal() and len(number) < 4 else 1)
    return view.fragment("trying_run.html", run=run)


async def follow_run(view: View) -> Answer | Stream:
    """`GET /console/trying/{invocation_id}/events`: its progress, from where a browser left off."""
    last = view.request.header(b"last-event-id") or ""
    source = await view.api.events(f"/calls/{view.parts['invocation_id']}/events", last)
    return Answer(204, b"", [NO_STORE]) if source is None else Stream(200, source, [EVENTS, NO_CACHE])


async def show_events(view: View) -> Answer:
    """`GET /console/trying/{invocation_id}/record`: its events, from the ledger."""
    run = view.parts["invocation_id"]
    try:
        events = (await view.api.get(f"/invocations/{run}/events"))["items"]
    except Problem:
        events = []
    told = [{"time": each["time"], "event_type": each["event_type"], "data": each.get("data")} for each in events]
    return view.fragment("trying_events.html", events=told, run=run)


async def cancel_run(view: View) -> Answer:
    """`POST /console/trying/{invocation_id}/cancel`: ask that it stops."""
    run = view.parts["invocation_id"]
    told = await view.api.post(f"/calls/{run}/cancel", {"reason": "canceled in the console"})
    if view.wants_json:
        return Answer(200, msgspec.json.encode(told), [JSON, NO_STORE])
    return view.redirect(_address(view.said("tool"), [run]) if view.said("tool") else f"/console/invocations/{run}")


async def get_payload(view: View) -> Answer | Stream:
    """`GET /console/trying/{invocation_id}/payloads/{number}`: the bytes of something stored, to be saved."""
    parts = view.parts
    return await view.api.answer(f"/calls/{parts['invocation_id']}/payloads/{parts['number']}")


PAGES = (
    Page("GET", "/try", choose),
    Page("GET", "/try/{tool}", show),
    Page("POST", "/try/{tool}", send),
    Page("GET", "/trying/{invocation_id}", show_run),
    Page("GET", "/trying/{invocation_id}/events", follow_run),
    Page("GET", "/trying/{invocation_id}/record", show_events),
    Page("POST", "/trying/{invocation_id}/cancel", cancel_run),
    Page("GET", "/trying/{invocation_id}/payloads/{number}", get_payload),
)
