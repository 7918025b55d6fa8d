"""The pages of agents, roles and surfaces: what each may reach, why, and which keys call as it.

The words are pure functions of what the HTTP API says.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from ferrule.app.preview.preview import VERDICTS
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import Answer, Stream
from ferrule.servers.console.view import Page, View, for_whole_workspace

KINDS = {
    "agent": ("Agents", "agent", "agents"),
    "role": ("Roles", "role", "roles"),
    "surface": ("Surfaces", "surface", "surfaces"),
}
LOADINGS = ("loaded", "deferred", "hidden", "gone")
LOADING_WORDS = {
    "loaded": "shown with its schema",
    "deferred": "found by search, loaded when selected",
    "hidden": "answers to its name, shown to nobody",
    "gone": "not on this surface",
}


def address(kind: str, name: str) -> str:
    """Where an agent, a role or a surface has its page."""
    part = quote(name, safe="") or "-"
    return f"/console/agents/{part}" if kind == "agent" else f"/console/agents/{kind}/{part}"


def list_sentence(kind: str, total: int, problems: int) -> str:
    """How many there are."""
    _, one, many = KINDS[kind]
    if total == 0:
        return f"There are no {many}: every key may use what the policy allows."
    verb = f"is 1 {one}" if total == 1 else f"are {total:,} {many}"
    bad = f" {problems} on this page cannot be used as {'it is' if problems == 1 else 'they are'}." if problems else ""
    return f"There {verb}. Each line tells what it may reach and what the policy says to that.{bad}"


def reach_sentence(found: dict[str, Any]) -> str:
    """What somebody may reach, in one sentence or two."""
    subject, tools = found["subject"], found["subject"]["tools"]
    seen = tools["loaded"] + tools["deferred"] + tools["hidden"]
    name = subject["id"] or "A key without an agent"
    first = f"{name} has {_tools(seen)}"
    if tools["deferred"]:
        first += f", {tools['deferred']:,} of them by search"
    if tools["gone"]:
        first += f"; {tools['gone']:,} more {'is' if tools['gone'] == 1 else 'are'} kept from it"
    verdicts = subject["verdicts"]
    if verdicts is None:
        return f"{first}. There are too many to count what the policy says; the list below tells it page by page."
    parts = [f"{verdicts[key]:,} {one if verdicts[key] == 1 else many}" for key, one, many in _SAID if verdicts[key]]
    return f"{first}. {_and(parts)}." if parts else f"{first}."


_SAID = (
    ("allow", "is allowed", "are allowed"),
    ("ask", "asks a person", "ask a person"),
    ("depends", "depends on the call", "depend on the call"),
    ("deny", "is denied by the policy", "are denied by the policy"),
    ("blocked", "is blocked", "are blocked"),
)


def _tools(count: int) -> str:
    return "no tool" if count == 0 else "1 tool" if count == 1 else f"{count:,} tools"


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


_SUBJECTS, _TOOLS, _ROWS, _COLUMNS = 50, 50, 40, 8
_closed = for_whole_workspace("Agents", "Here is what each agent, role and surface may reach.")


@_closed
async def show(view: View) -> Answer | Stream:
    """`GET /console/agents`: agents, roles or surfaces; with `view=matrix` the table of agents and tools."""
    if view.query.get("view") == "matrix":
        return await _matrix(view)
    kind = view.query.get("kind", "agent")
    kind = kind if kind in KINDS else "agent"
    text, after = view.query.get("q", "").strip()[:300], view.query.get("after", "")
    found = await view.api.get("/reach/subjects", kind=kind, text=text, cursor=after, limit=_SUBJECTS)
    items = [{**one, "address": address(kind, one["id"])} for one in found["items"]]
    problems = sum(one["problem"] is not None for one in items)
    return await view.page(
        "agents.html",
        kind=kind,
        kinds=[(name, words[0]) for name, words in KINDS.items()],
        answer=list_sentence(kind, found["total"], problems),
        items=items,
        total=found["total"],
        text=text,
        start=after,
        after=_cursor(found["next"]),
    )


async def _matrix(view: View) -> Answer:
    said = view.query
    asked = {
        "text": said.get("q", "").strip()[:300],
        "agent": said.get("agent", "").strip()[:300],
        "cursor": said.get("after", ""),
        "after": said.get("agents_after", ""),
    }
    everything = said.get("everything") == "1"
    table = await view.api.get(
        "/reach/matrix", limit=_ROWS, agents=_COLUMNS, everything=True if everything else None, **asked
    )
    return await view.page(
        "agents_matrix.html",
        table=table,
        text=asked["text"],
        agent=asked["agent"],
        everything="1" if everything else "",
        start=asked["cursor"],
        agents_start=asked["after"],
        after=_cursor(table["next"]),
    )


@_closed
async def show_agent(view: View) -> Answer | Stream:
    """`GET /console/agents/{id}`"""
    return await _reach(view, "agent", view.parts["id"])


@_closed
async def show_other(view: View) -> Answer | Stream:
    """`GET /console/agents/role/{id}`, `surface/{id}`, `none/-`"""
    kind = view.parts["kind"]
    if kind not in ("role", "surface", "none"):
        raise Problem(404, "not_found", "There is no such page.")
    return await _reach(view, kind, "" if kind == "none" else view.parts["id"])


async def _reach(view: View, kind: str, name: str) -> Answer:
    said = view.query
    asked = {
        "text": said.get("q", "").strip()[:300],
        "principal": said.get("principal", "").strip()[:300],
        "verdict": said.get("verdict") if said.get("verdict") in VERDICTS else "",
        "loading": said.get("loading") if said.get("loading") in LOADINGS else "",
    }
    start = said.get("after", "")
    here = address(kind, name)
    try:
        found = await view.api.get("/reach", kind=kind, id=name, limit=_TOOLS, cursor=start, **asked)
    except Problem as problem:
        if problem.code != "no_surface":
            raise
        return await view.page("agents_broken.html", status=409, kind=kind, name=name, why=problem.detail)
    return await view.page(
        "agents_one.html",
        kind=kind,
        name=name,
        address=here,
        answer=reach_sentence(found),
        found=found,
        asked=asked,
        start=start,
        after=_cursor(found["next"]),
        loadings=LOADING_WORDS,
        keys=await _keys(view, kind, name),
        roles=[found["subject"]["role"]] if found["subject"]["role"] else [],
    )


async def _keys(view: View, kind: str, name: str) -> list[dict[str, Any]]:
    """The keys that call as it."""
    if kind == "none":
        listed: list[dict[str, Any]] = (await view.api.get("/keys"))["items"]
        return [key for key in listed if not (key["agent"] or key["role"] or key["surface"])]
    named: list[dict[str, Any]] = (await view.api.get("/keys", **{kind: name}))["items"]
    return named


def _cursor(link: str | None) -> str:
    """Where the next page begins; empty at the end."""
    return dict(parse_qsl(urlsplit(link).query)).get("cursor", "") if link else ""


PAGES = (
    Page("GET", "/agents", show),
    Page("GET", "/agents/{id}", show_agent),
    Page("GET", "/agents/{kind}/{id}", show_other),
)
