"""Audit: whether the ledger is what was written, what was done to it, and copies of it that prove themselves."""

from __future__ import annotations

from typing import Any

from ferrule.servers.api.problems import Problem
from ferrule.servers.asgi import Answer, Stream
from ferrule.servers.console.oversight.audit_words import findings, percent, sentence, sidebar, size
from ferrule.servers.console.page import Page
from ferrule.servers.console.view import View
from ferrule.servers.console.whole_workspace import for_whole_workspace

_FINDINGS = 50
_AROUND = 2
_EXPORTED = ("from", "to", "what", "payloads", "since", "until", "tool", "principal")
_closed = for_whole_workspace("Audit", "Here the ledger of the workspace is checked and exported.")


@_closed
async def show(view: View) -> Answer | Stream:
    """`GET /console/audit`"""
    try:
        values = await _values(view)
    except Problem as problem:
        if problem.status != 409:
            raise
        return await view.page("audit_none.html", why=problem.detail)
    return await view.page("audit.html", **values)


@_closed
async def show_state(view: View) -> Answer | Stream:
    """`GET /console/audit/state`: the part that a check changes."""
    return view.fragment("audit_state.html", **await _values(view))


async def _values(view: View) -> dict[str, Any]:
    state = await view.api.get("/audit")
    check = state["check"]
    told = sidebar(check)
    if told is not None:
        view.shared["audit"] = told
    wrong = findings(check["result"], _FINDINGS)
    return {
        "ledger": state,
        "answer": sentence(state),
        "percent": percent(check),
        "findings": wrong,
        "finding_count": check["result"]["finding_count"] if check["result"] else 0,
        "chain": await _links(view, wrong),
        "size": size(state["size_bytes"]),
    }


async def _links(view: View, wrong: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The rows around the one that is asked for, else around the first that is wrong."""
    given = view.query.get("row", "")
    rows = [int(given)] if given.isdecimal() and 0 < int(given) < 10**15 else []
    rows += [one["seq"] for one in wrong if one["seq"] is not None]
    if not rows:
        return None
    found = await view.api.get("/audit/links", around=max(1, rows[0]), count=_AROUND)
    return {"row": rows[0], "items": found["items"], "is_asked": bool(given)}


@_closed
async def verify(view: View) -> Answer | Stream:
    """`POST /console/audit/verify`: begin a check."""
    await view.api.post("/audit/check")
    if view.is_fragment:
        return await show_state(view)
    return view.redirect("/console/audit")


@_closed
async def export(view: View) -> Answer | Stream:
    """`GET /console/audit/export`: the ledger, or a part of it, as a file."""
    asked = {name: view.query[name].strip() for name in _EXPORTED if view.query.get(name, "").strip()}
    if asked.get("what") != "calls":
        asked.pop("tool", None)
        asked.pop("principal", None)
    else:
        asked.pop("payloads", None)
    answer = await view.api.answer("/audit/export", **asked)
    name = b"calls" if asked.get("what") == "calls" else b"ledger"
    answer.headers += ((b"content-disposition", b'attachment; filename="%s.jsonl"' % name),)
    return answer


PAGES = (
    Page("GET", "/audit", show),
    Page("GET", "/audit/state", show_state),
    Page("POST", "/audit/verify", verify),
    Page("GET", "/audit/export", export),
)
