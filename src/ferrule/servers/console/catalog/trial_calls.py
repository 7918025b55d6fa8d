"""The page Try it: choose a tool, fill in its input as a form or JSON, and call it like any agent.

`forms` makes the form of a schema, `calls/runs` the panel of a run, `calls/snippets` the call as text to paste
elsewhere. The call goes through the HTTP API, with all checks.
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
from ferrule.model.value import JsonObject
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import EVENTS, JSON, NO_CACHE, HttpAnswer, HttpStream
from ferrule.servers.console.calls.call_words import display_name
from ferrule.servers.console.calls.runs import load_run
from ferrule.servers.console.calls.snippets import write_curl, write_mcp, write_python
from ferrule.servers.console.catalog.forms import form_of
from ferrule.servers.console.rendering import part
from ferrule.servers.console.view import NO_STORE, ConsolePage, ConsoleView

_PAGE, _MOST_FOUND, _MOST_RECENT, _MOST_RUNS, _FORMS_KEPT, _PRESSES_KEPT = 50, 20, 6, 8, 64, 256
_LONGEST_SNIPPET = 100_000
_ANY_TOKEN = "ferrule.token"
"""Stands for the file in which the reader keeps a key."""


# Choosing a tool


async def choose(view: ConsoleView) -> HttpAnswer:
    """`GET /console/try`: the reader's tools, found by what they do."""
    if not view.may(CALL):
        return await view.page("trying_shut.html", tools=[])
    text = view.query.get("q", "").strip()
    values = {"text": text, "next": "", **(await _search_tools(view, text) if text else await _list_tools(view))}
    if view.is_fragment:
        return view.fragment("trying_tools.html", **values)
    surface = await view.api.get("/surface")
    return await view.page(
        "trying_choose.html", recent=await _list_recent(view), count=surface["loaded"] + surface["deferred"], **values
    )


async def _list_tools(view: ConsoleView) -> JsonObject:
    page = await view.api.get("/tools", limit=_PAGE, cursor=view.query.get("cursor"))
    more = page["items"][-1]["tool_id"] if page["next"] else ""
    return {"tools": [_describe(tool) for tool in page["items"]], "next": more}


async def _search_tools(view: ConsoleView, text: str) -> JsonObject:
    found = await view.api.post("/search", {"query": text[:2000], "limit": _MOST_FOUND})
    tools = []
    for tool_id in found["matches"]:
        try:
            tools.append(_describe(await view.api.get(f"/tools/{tool_id}")))
        except Problem:  # removed since the search
            continue
    return {"tools": tools}


async def _list_recent(view: ConsoleView) -> list[str]:
    """Returns the tools that this person called last."""
    page = await view.api.get("/invocations", principal=view.caller.identity.principal, limit=_PAGE)
    called = [one["tool_name"] for one in page["items"] if not one["tool_id"].startswith("unknown:")]
    return list(dict.fromkeys(called))[:_MOST_RECENT]


def _describe(tool: Mapping[str, Any]) -> JsonObject:
    words = ("name", "title", "description", "standing", "needs_approval", "asks")
    name = display_name({"tool_id": tool["tool_id"], "tool_name": tool["name"]})
    return {**{word: tool[word] for word in words}, "known_as": name, "does": describe_effect(tool["facts"])}


def describe_effect(facts: Mapping[str, Any]) -> str:
    """Returns the effect of a tool in a few words."""
    if facts["is_read_only"] is True:
        return "reads only"
    return "changes things" if facts["is_destructive"] is False else "may destroy something"


# One tool


async def show(view: ConsoleView) -> HttpAnswer:
    """`GET /console/try/{tool}`: its form. `run`: calls to show, repeatable. `from`: a call whose input to start with."""
    if not view.may(CALL):
        return await view.page("trying_shut.html", tools=[])
    tool = await view.api.get(f"/tools/{view.parts['tool']}")
    runs = _runs_in(view)
    taken = [view.query["from"]] if _is_call(view.query.get("from", "")) else runs
    written = await _load_input(view, taken[:1])
    return await _show_form(view, tool, written, runs=runs)


async def _show_form(
    view: ConsoleView, tool: JsonObject, written: str | None, *, runs: list[str], is_asked: bool = False
) -> HttpAnswer:
    """Returns the page of a tool. `is_asked`: the reader pressed Check, so errors are shown."""
    if tool["standing"] == "deferred":
        return await view.page("trying_deferred.html", tool=_describe(tool))
    form = await _load_form(view, tool)
    text = form["start"] if written is None else written
    return await view.page(
        "trying.html",
        tool={**_describe(tool), "tool_id": tool["tool_id"], "version": tool["version"], "digest": tool["digest"]},
        form=form,
        written=text,
        checked=await _check(view, tool["name"], text),
        is_asked=is_asked,
        snippets=_write_snippets(view, tool["name"], text),
        runs=[await load_run(view, run, len(runs) - place) for place, run in enumerate(runs)],
        nonce=secrets.token_hex(8),
    )


async def _load_form(view: ConsoleView, tool: Mapping[str, Any]) -> JsonObject:
    """Returns the form of a tool, made once for each version."""
    cache: dict[str, JsonObject] = view.shared.setdefault("forms", {})
    form = cache.get(tool["digest"])
    if form is None:
        form = cache[tool["digest"]] = await asyncio.to_thread(form_of, _decode_schema(tool["input_schema"]))
        while len(cache) > _FORMS_KEPT:
            del cache[next(iter(cache))]
    return form


def _decode_schema(schema: Any) -> Any:
    """Decodes a schema: in-process answers hold it as JSON text."""
    return msgspec.json.decode(schema) if isinstance(schema, bytes | memoryview | msgspec.Raw) else schema


def _runs_in(view: ConsoleView) -> list[str]:
    """Returns the calls in the address, the newest first."""
    pairs = parse_qsl(view.request.query.decode("utf-8", "replace"), max_num_fields=100)
    return list(dict.fromkeys(value for name, value in pairs if name == "run" and _is_call(value)))[:_MOST_RUNS]


def _is_call(text: str) -> bool:
    """Returns True for a possible invocation id."""
    return re.fullmatch(r"inv_[0-9A-Za-z]{1,60}", text) is not None


async def _load_input(view: ConsoleView, runs: list[str]) -> str | None:
    """Returns the recorded input of a call."""
    for run in runs:
        try:
            story = await view.api.get(f"/invocations/{run}/explain")
        except Problem:  # not on record yet, or not the reader's
            return None
        value = story["inputs"][0]["value"] if story["inputs"] else None
        return _pretty(value) if isinstance(value, dict) else None
    return None


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


async def send(view: ConsoleView) -> HttpAnswer:
    """`POST /console/try/{tool}`: checks the input, runs it, or loads a deferred tool. A script gets JSON."""
    name, written, wish = view.parts["tool"], view.field("arguments"), view.field("do", "run")
    if wish == "load":
        await view.api.post("/selection", {"tools": [name]})
        return view.redirect(f"/console/try/{part(name)}")
    if wish == "check":
        if view.wants_json:
            state = {**await _check(view, name, written), "snippets": _write_snippets(view, name, written)}
            return HttpAnswer(200, msgspec.json.encode(state), [JSON, NO_STORE])
        return await _show_form(view, await view.api.get(f"/tools/{name}"), written, runs=[], is_asked=True)
    if find_json_error(written):
        if view.wants_json:
            return HttpAnswer(422, msgspec.json.encode({"problem": find_json_error(written)}), [JSON, NO_STORE])
        return await _show_form(view, await view.api.get(f"/tools/{name}"), written, runs=[], is_asked=True)
    try:
        run = await _call_once(view, name, written)
    except Problem as problem:
        if not view.wants_json:
            raise
        return HttpAnswer(problem.status, msgspec.json.encode({"problem": problem.detail}), [JSON, NO_STORE])
    if view.wants_json:
        return HttpAnswer(200, msgspec.json.encode({"run": run}), [JSON, NO_STORE])
    kept = [one for one in view.form.get("run", []) if one != run and _is_call(one)]
    return view.redirect(_address(name, [run, *kept][:_MOST_RUNS]))


async def _call_once(view: ConsoleView, name: str, written: str) -> str:
    """Makes the call once for each page and input, however often the form is sent; returns its id. Raises Problem.

    The idempotency key also prevents a second effect, but two parallel reads would both start: here the second waits
    for the first.
    """
    identity = f"{view.field('nonce')}\0{name}\0{written}".encode()
    key = f"console-{hashlib.sha256(identity).hexdigest()[:32]}"
    pressed: dict[tuple[Any, ...], asyncio.Future[str]] = view.shared.setdefault("pressed", {})
    who = (*view.caller.key, key)
    run = pressed.get(who)
    if run is None or (run.done() and (run.cancelled() or run.exception() is not None)):
        run = pressed[who] = asyncio.ensure_future(_call(view, name, written, key))
        while len(pressed) > _PRESSES_KEPT:
            del pressed[next(iter(pressed))]
    # Shielded: several presses wait for one call, and none of them may cancel it by leaving.
    return await asyncio.shield(run)


async def _call(view: ConsoleView, name: str, written: str, key: str) -> str:
    body = {"tool": name, "arguments": msgspec.Raw(written.encode()), "digest": view.field("digest") or None}
    headers = ((b"idempotency-key", key.encode()),)
    try:
        state = await view.api.post("/calls", body, prefer="respond-async", headers=headers)
    except Problem as problem:  # a refused call is on record and has its page
        if "invocation_id" in problem.more:
            return str(problem.more["invocation_id"])
        raise
    return str(state["invocation_id"])


def _address(name: str, runs: list[str]) -> str:
    return f"/console/try/{part(name)}?{urlencode([('run', run) for run in runs])}"


def find_json_error(written: str) -> str:
    """Returns why a text is not JSON; empty when it is.

    The caller may then put the text into a request as it is, because it is exactly one value.
    """
    try:
        msgspec.json.decode(written.encode())
    except RecursionError:
        return "The input is nested too deep."
    except msgspec.MsgspecError as error:
        return f"This is not JSON: {error}."
    return ""


async def _check(view: ConsoleView, name: str, written: str) -> JsonObject:
    """Returns the predicted fate of the call: `problem`, or the answer of `/v1/checks`."""
    problem = find_json_error(written)
    if problem:
        return {"problem": problem, "is_accepted": False, "errors": [], "decision": None, "message": problem}
    try:
        body = {"tool": name, "arguments": msgspec.Raw(written.encode())}
        state: JsonObject = await view.api.post("/checks", body)
    except Problem as refused:
        text = refused.detail[:1].upper() + refused.detail[1:]
        return {"problem": text, "is_accepted": False, "errors": [], "decision": None, "message": text}
    return {**state, "problem": "" if state["errors"] else state["message"]}


def _write_snippets(view: ConsoleView, name: str, written: str) -> dict[str, str]:
    if find_json_error(written) or len(written) > _LONGEST_SNIPPET:
        return {"curl": "", "python": "", "mcp": ""}
    public = view.edge.settings.public_url
    url = public.rstrip("/") if public else f"http://{view.request.header(b'host') or 'localhost:8787'}"
    file = _ANY_TOKEN if public else f"{KEYS_FOLDER}/{AGENT_FILE}"
    return {
        "curl": write_curl(url, file, name, written),
        "python": write_python(url, file, name, written),
        "mcp": write_mcp(name, written),
    }


# Runs


async def show_run(view: ConsoleView) -> HttpAnswer:
    """`GET /console/trying/{invocation_id}`: the panel of one call."""
    number = view.query.get("number", "")
    run = await load_run(
        view, view.parts["invocation_id"], int(number) if number.isdecimal() and len(number) < 4 else 1
    )
    return view.fragment("trying_run.html", run=run)


async def follow_run(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/trying/{invocation_id}/events`: its progress, from the last event that the browser received."""
    last = view.request.header(b"last-event-id") or ""
    source = await view.api.events(f"/calls/{view.parts['invocation_id']}/events", last)
    return HttpAnswer(204, b"", [NO_STORE]) if source is None else HttpStream(200, source, [EVENTS, NO_CACHE])


async def show_events(view: ConsoleView) -> HttpAnswer:
    """`GET /console/trying/{invocation_id}/record`: its events, from the ledger."""
    run = view.parts["invocation_id"]
    try:
        events = (await view.api.get(f"/invocations/{run}/events"))["items"]
    except Problem:
        events = []
    shown = [{"time": each["time"], "event_type": each["event_type"], "data": each.get("data")} for each in events]
    return view.fragment("trying_events.html", events=shown, run=run)


async def cancel_run(view: ConsoleView) -> HttpAnswer:
    """`POST /console/trying/{invocation_id}/cancel`: requests that it stops."""
    run = view.parts["invocation_id"]
    state = await view.api.post(f"/calls/{run}/cancel", {"reason": "canceled in the console"})
    if view.wants_json:
        return HttpAnswer(200, msgspec.json.encode(state), [JSON, NO_STORE])
    return view.redirect(_address(view.field("tool"), [run]) if view.field("tool") else f"/console/invocations/{run}")


async def get_payload(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/trying/{invocation_id}/payloads/{number}`: the bytes of a stored result, to be saved."""
    parts = view.parts
    return await view.api.answer(f"/calls/{parts['invocation_id']}/payloads/{parts['number']}")


PAGES = (
    ConsolePage("GET", "/try", choose),
    ConsolePage("GET", "/try/{tool}", show),
    ConsolePage("POST", "/try/{tool}", send),
    ConsolePage("GET", "/trying/{invocation_id}", show_run),
    ConsolePage("GET", "/trying/{invocation_id}/events", follow_run),
    ConsolePage("GET", "/trying/{invocation_id}/record", show_events),
    ConsolePage("POST", "/trying/{invocation_id}/cancel", cancel_run),
    ConsolePage("GET", "/trying/{invocation_id}/payloads/{number}", get_payload),
)
