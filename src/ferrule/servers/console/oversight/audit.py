"""The audit page: whether the ledger is intact, what was done to it, and exports that can be verified offline.

The sentences are pure functions of the HTTP API's answers.
"""

from __future__ import annotations

from ferrule.model.value import JsonObject
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import HttpAnswer, HttpStream
from ferrule.servers.console.view import ConsolePage, ConsoleView, for_whole_workspace

TOPICS = {
    "file": "The file is damaged",
    "schema": "The file is not a ledger",
    "sequence": "Rows are missing, added or out of order",
    "hash": "A row was changed",
    "time": "A row is earlier than the row before",
    "head": "The signed head does not match the rows",
    "table": "A table does not match the rows",
    "erasure": "A payload was removed without a record, or is present despite one",
    "pruning": "Rows at the start were removed without a record",
    "history": "The rows of a call are inconsistent",
    "approval": "A call ran without its required approval",
    "witness": "The witness disagrees",
}


def write_sentence(state: JsonObject) -> dict[str, str]:
    """Returns the state of the ledger: its sentence, and how it looks (`ok`, `bad`, `warn` or nothing)."""
    check, rows = state["check"], f"{state['rows']:,} {'row' if state['rows'] == 1 else 'rows'}"
    result = check["result"]
    if check["problem"]:
        return {"kind": "bad", "text": f"The ledger could not be checked: {check['problem']}."}
    if len(state["heads"]) != 1:
        return {"kind": "bad", "text": f"The ledger has {len(state['heads'])} heads instead of one. Check it now."}
    if result is None:
        return {"kind": "", "text": f"The ledger has {rows}. It has not been checked since this server started."}
    if not result["is_clean"]:
        return {"kind": "bad", "text": describe_break(result)}
    newer = state["last_seq"] - result["last_seq"]
    more = f" {newer:,} {'row was' if newer == 1 else 'rows were'} added since." if newer > 0 else ""
    checked = f"{result['rows']:,} {'row' if result['rows'] == 1 else 'rows'}"
    return {"kind": "ok", "text": f"The ledger is intact: all {checked} were checked.{more}"}


def describe_break(result: JsonObject) -> str:
    """Returns what is wrong, with the first row at fault."""
    count, first = result["finding_count"], next((one for one in result["findings"] if one["seq"] is not None), None)
    where = f" The first is row {first['seq']:,}: it {first['message']}." if first is not None else ""
    if first is None and result["findings"]:
        where = f" {result['findings'][0]['message'][:1].upper()}{result['findings'][0]['message'][1:]}."
    return f"The ledger is broken: {count:,} {'finding' if count == 1 else 'findings'}.{where}"


def list_findings(result: JsonObject | None, most: int) -> list[JsonObject]:
    """Returns the findings in words, as many as fit on a page."""
    listed = result["findings"][:most] if result is not None else []
    return [{**one, "what": TOPICS.get(one["topic"], one["topic"])} for one in listed]


def percent(check: JsonObject) -> int | None:
    """Returns the progress of a check; None while it is unknown."""
    total = check["rows_total"]
    return min(99, 100 * check["rows_done"] // total) if total else None


def summarize_check(state: JsonObject) -> JsonObject | None:
    """Returns the last check for the frame; None when there was none."""
    result = state["result"]
    if result is None:
        return None
    return {"is_intact": result["is_clean"], "rows": result["rows"], "at": state["checked_at"]}


def format_size(number: int) -> str:
    """Returns a number of bytes in words."""
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= least:
            return f"{number / least:.1f} {unit}"
    return f"{number} bytes"


_FINDINGS = 50
_AROUND = 2
_EXPORTED = ("from", "to", "what", "payloads", "since", "until", "tool", "principal")
_for_operators = for_whole_workspace("Audit", "It verifies and exports the ledger of the workspace.")


@_for_operators
async def show(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/audit`"""
    try:
        values = await _load_values(view)
    except Problem as problem:
        if problem.status != 409:
            raise
        return await view.page("audit_none.html", why=problem.detail)
    return await view.page("audit.html", **values)


@_for_operators
async def show_state(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/audit/state`: the part that changes during a check."""
    return view.fragment("audit_state.html", **await _load_values(view))


async def _load_values(view: ConsoleView) -> JsonObject:
    state = await view.api.get("/audit")
    check = state["check"]
    summary = summarize_check(check)
    if summary is not None:
        view.shared["audit"] = summary
    wrong = list_findings(check["result"], _FINDINGS)
    return {
        "ledger": state,
        "answer": write_sentence(state),
        "percent": percent(check),
        "findings": wrong,
        "finding_count": check["result"]["finding_count"] if check["result"] else 0,
        "chain": await _load_links(view, wrong),
        "size": format_size(state["size_bytes"]),
    }


async def _load_links(view: ConsoleView, wrong: list[JsonObject]) -> JsonObject | None:
    """Returns the rows around the requested one, or around the first broken one."""
    given = view.query.get("row", "")
    rows = [row] if (row := view.number("row")) else []
    rows += [one["seq"] for one in wrong if one["seq"] is not None]
    if not rows:
        return None
    found = await view.api.get("/audit/links", around=max(1, rows[0]), count=_AROUND)
    return {"row": rows[0], "items": found["items"], "is_asked": bool(given)}


@_for_operators
async def verify(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`POST /console/audit/verify`: starts a check."""
    await view.api.post("/audit/check")
    if view.is_fragment:
        return await show_state(view)
    return view.redirect("/console/audit")


@_for_operators
async def export(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/audit/export`: downloads the ledger, or a part of it."""
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
    ConsolePage("GET", "/audit", show),
    ConsolePage("GET", "/audit/state", show_state),
    ConsolePage("POST", "/audit/verify", verify),
    ConsolePage("GET", "/audit/export", export),
)
