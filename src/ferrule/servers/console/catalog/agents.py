"""The pages of agents, roles and surfaces: their tools, the policy's verdict on each, and the keys that call as them.

The sentences are pure functions of the HTTP API's answers.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlsplit

from ferrule.app.preview.preview import VERDICTS
from ferrule.model.value import JsonObject
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import HttpAnswer, HttpStream
from ferrule.servers.console.view import ConsolePage, ConsoleView, for_whole_workspace

KINDS = {
    "agent": ("Agents", "agent", "agents"),
    "role": ("Roles", "role", "roles"),
    "surface": ("Surfaces", "surface", "surfaces"),
}
LOADINGS = ("loaded", "deferred", "hidden", "gone")
LOADING_WORDS = {
    "loaded": "listed with its schema",
    "deferred": "found by search, loaded when selected",
    "hidden": "callable by name, not listed",
    "gone": "not on this surface",
}


def address(kind: str, name: str) -> str:
    """Returns the address of an agent's, a role's or a surface's page."""
    part = quote(name, safe="") or "-"
    return f"/console/agents/{part}" if kind == "agent" else f"/console/agents/{kind}/{part}"


def list_sentence(kind: str, total: int, problems: int) -> str:
    """Returns how many there are, in a sentence."""
    _, one, many = KINDS[kind]
    if total == 0:
        return f"There are no {many}: every key may use all tools that the policy allows."
    verb = f"is 1 {one}" if total == 1 else f"are {total:,} {many}"
    bad = f" {problems} on this page {'is' if problems == 1 else 'are'} invalid." if problems else ""
    return f"There {verb}. Each row shows its tools and the policy's verdicts.{bad}"


def reach_sentence(found: JsonObject) -> str:
    """Returns the tools of an agent, a role or a surface in one sentence or two."""
    subject, tools = found["subject"], found["subject"]["tools"]
    seen = tools["loaded"] + tools["deferred"] + tools["hidden"]
    name = subject["id"] or "A key without an agent"
    first = f"{name} has {_tools(seen)}"
    if tools["deferred"]:
        first += f", {tools['deferred']:,} of them by search"
    if tools["gone"]:
        first += f"; {tools['gone']:,} more {'is' if tools['gone'] == 1 else 'are'} not available to it"
    verdicts = subject["verdicts"]
    if verdicts is None:
        return f"{first}. There are too many to count verdicts; the list below shows them page by page."
    parts = [
        f"{verdicts[key]:,} {one if verdicts[key] == 1 else many}" for key, one, many in _VERDICT_WORDS if verdicts[key]
    ]
    return f"{first}. {_and(parts)}." if parts else f"{first}."


_VERDICT_WORDS = (
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
_for_operators = for_whole_workspace("Agents", "It shows the tools of each agent, role and surface.")


@_for_operators
async def show(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/agents`: agents, roles or surfaces; with `view=matrix` the table of agents and tools."""
    if view.query.get("view") == "matrix":
        return await _show_matrix(view)
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


async def _show_matrix(view: ConsoleView) -> HttpAnswer:
    fields = view.query
    asked = {
        "text": fields.get("q", "").strip()[:300],
        "agent": fields.get("agent", "").strip()[:300],
        "cursor": fields.get("after", ""),
        "after": fields.get("agents_after", ""),
    }
    everything = fields.get("everything") == "1"
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


@_for_operators
async def show_agent(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/agents/{id}`"""
    return await _show_reach(view, "agent", view.parts["id"])


@_for_operators
async def show_other(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/agents/role/{id}`, `surface/{id}`, `none/-`"""
    kind = view.parts["kind"]
    if kind not in ("role", "surface", "none"):
        raise Problem(404, "not_found", "There is no such page.")
    return await _show_reach(view, kind, "" if kind == "none" else view.parts["id"])


async def _show_reach(view: ConsoleView, kind: str, name: str) -> HttpAnswer:
    fields = view.query
    asked = {
        "text": fields.get("q", "").strip()[:300],
        "principal": fields.get("principal", "").strip()[:300],
        "verdict": fields.get("verdict") if fields.get("verdict") in VERDICTS else "",
        "loading": fields.get("loading") if fields.get("loading") in LOADINGS else "",
    }
    start = fields.get("after", "")
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
        keys=await _list_keys(view, kind, name),
        roles=[found["subject"]["role"]] if found["subject"]["role"] else [],
    )


async def _list_keys(view: ConsoleView, kind: str, name: str) -> list[JsonObject]:
    """Returns the keys that call as this agent, role or surface."""
    if kind == "none":
        listed: list[JsonObject] = (await view.api.get("/keys"))["items"]
        return [key for key in listed if not (key["agent"] or key["role"] or key["surface"])]
    named: list[JsonObject] = (await view.api.get("/keys", **{kind: name}))["items"]
    return named


def _cursor(link: str | None) -> str:
    """Returns the cursor of the next page; empty at the end."""
    return dict(parse_qsl(urlsplit(link).query)).get("cursor", "") if link else ""


PAGES = (
    ConsolePage("GET", "/agents", show),
    ConsolePage("GET", "/agents/{id}", show_agent),
    ConsolePage("GET", "/agents/{kind}/{id}", show_other),
)
