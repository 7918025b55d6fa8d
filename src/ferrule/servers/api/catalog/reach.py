"""What agents, roles and surfaces may reach, and which keys call as them: for who administers the workspace."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Annotated
from weakref import WeakKeyDictionary

import msgspec

from ferrule.access.keys import Access
from ferrule.access.tokens import Limits, Token
from ferrule.app.preview.preview import VERDICTS, Verdict
from ferrule.app.preview.reach import (
    Kind,
    Loading,
    Reached,
    Subject,
    entries,
    loading_counts,
    reached,
    request_of,
    subject,
    subjects,
    token_estimate,
)
from ferrule.contracts.policy import PolicyEngine
from ferrule.errors import SurfaceError
from ferrule.model.surface import DEFAULT_TENANT, Surface, SurfaceEntry, request_key
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.replies import Problem, Replied, Reply, link_header, next_link, not_found
from ferrule.servers.api.shapes import Limit, says
from ferrule.servers.auth.callers import LOCAL, Refused, granted
from ferrule.servers.edge import Edge

_KEPT, _ENTRIES, _SECONDS, _SECONDS_IF_LARGE = 64, 100_000, 10.0, 60.0
"""Surfaces that are kept for the next look, their tools together, and for how long: pages are looked at part by part."""
_COUNTED = 1000
"""Of surfaces with more tools than that, what the policy says is told page by page and not counted."""

Word = Annotated[str, msgspec.Meta(max_length=300)]
Principal = Annotated[Word | None, says("On whose behalf; rules may go by it. Nobody in particular when not given.")]
Tenant = Annotated[Word | None, says("In which tenant; rules may go by it.")]


class SubjectState(msgspec.Struct, kw_only=True):
    """An agent, a role or a surface, and how many tools it has."""

    kind: str
    id: str
    title: str
    description: str
    version: str | None
    dialect: str
    role: str | None
    status: str
    problem: Annotated[str | None, says("Why it has no surface: it is disabled, or names what is not there.")]
    tools: Annotated[dict[str, int], says("How many are `loaded`, `deferred`, `hidden` and `gone`.")]
    verdicts: Annotated[
        dict[str, int] | None,
        says("How many there are of each verdict; null where there are too many."),
    ]
    max_tool_calls: Annotated[int | None, says("How many calls a run may make, all tools together.")]
    keys: Annotated[int, says("How many keys call as it.")]


class SubjectQuery(msgspec.Struct, kw_only=True):
    """Which of them."""

    kind: Annotated[Kind, says("Agents, roles or surfaces.")] = "agent"
    limit: Limit = 50
    cursor: Annotated[Word | None, says("Go on after this id.")] = None
    text: Annotated[Word | None, says("Only those with this in their id or title.")] = None


class SubjectPage(msgspec.Struct, kw_only=True):
    """Agents, roles or surfaces, by id."""

    items: list[SubjectState]
    total: int
    next: Annotated[str | None, says("Where the next page is.")] = None


class ReachQuery(msgspec.Struct, kw_only=True):
    """Whose tools, and which."""

    kind: Annotated[Kind, says("`none`: of keys that name no agent, role or surface.")] = "agent"
    id: Annotated[Word, says("The agent, role or surface.")] = ""
    principal: Principal = None
    tenant: Tenant = None
    limit: Limit = 50
    cursor: Annotated[Word | None, says("Go on after this tool id.")] = None
    text: Annotated[Word | None, says("Only tools with this in their id or title.")] = None
    loading: Annotated[Loading | None, says("Only tools that stand so.")] = None
    verdict: Annotated[Verdict | None, says("Only tools of which the policy says so.")] = None


class ToolReach(msgspec.Struct, kw_only=True):
    """One tool, as somebody has it."""

    tool_id: str
    title: str | None
    version: str | None
    loading: str
    verdict: str
    why: str
    approval_from: list[str]
    max_calls_per_run: int | None
    is_read_only: bool
    is_destructive: bool | None


class Reach(msgspec.Struct, kw_only=True):
    """What somebody may reach."""

    subject: SubjectState
    principal: Annotated[str | None, says("For whom it was worked out; null for nobody in particular.")]
    reason: Annotated[str, says("Why this surface is what it is.")]
    tool_choice: str
    audit_level: str
    is_confined: Annotated[bool, says("True when its calls may not leave the hosts that are allowed.")]
    tokens: Annotated[int, says("About how many tokens a model reads before it can use it: 4.5 characters each.")]
    items: list[ToolReach]
    total: Annotated[int | None, says("How many fit, on all pages; null when that is not counted.")]
    next: Annotated[str | None, says("Where the next page is.")] = None


class MatrixQuery(msgspec.Struct, kw_only=True):
    """Which part of the table of agents and tools."""

    limit: Annotated[int, says("How many tools.", ge=1, le=200)] = 40
    cursor: Annotated[Word | None, says("Go on after this tool id.")] = None
    text: Annotated[Word | None, says("Only tools with this in their id or title.")] = None
    agents: Annotated[int, says("How many agents.", ge=1, le=20)] = 8
    after: Annotated[Word | None, says("Begin after this agent.")] = None
    agent: Annotated[Word | None, says("Only agents with this in their id or title.")] = None
    everything: Annotated[bool, says("Also tools that none of these agents has.")] = False


class MatrixCell(msgspec.Struct, kw_only=True):
    """One tool of one agent."""

    verdict: str
    loading: str
    why: str


class MatrixRow(msgspec.Struct, kw_only=True):
    """One tool, and how each of the agents has it."""

    tool_id: str
    title: str | None
    cells: Annotated[list[MatrixCell | None], says("In the order of the agents; null where it does not have the tool.")]


class Matrix(msgspec.Struct, kw_only=True):
    """A part of the table of agents and tools."""

    agents: list[SubjectState]
    agents_total: int
    agents_next: Annotated[str | None, says("`after` for the agents that follow.")]
    items: list[MatrixRow]
    total: int
    next: Annotated[str | None, says("Where the next page of tools is.")] = None


class KeyQuery(msgspec.Struct, kw_only=True):
    """Whose keys."""

    agent: Word | None = None
    role: Word | None = None
    surface: Word | None = None


class KeyState(msgspec.Struct, kw_only=True):
    """A key, without its secret."""

    id: str
    person: str
    scopes: list[str]
    groups: list[str]
    tenant: str | None
    agent: str | None
    role: str | None
    surface: str | None
    is_granted: Annotated[bool, says("True when `[[serve.grants]]` binds it, and not the key itself.")]
    created: str
    expires: str | None
    used: Annotated[str | None, says("When it was used last, to ten minutes.")]


class KeyList(msgspec.Struct, kw_only=True):
    """Keys that count, oldest first."""

    items: list[KeyState]


class _Known:
    """A surface that was looked at a moment ago, and what was counted on it."""

    def __init__(self, surface: Surface, at: float) -> None:
        self.surface = surface
        self.at = at
        self.entries = entries(surface)
        self.tools = loading_counts(self.entries)
        self.seconds = _SECONDS if len(self.entries) <= _COUNTED else _SECONDS_IF_LARGE
        self.verdicts: dict[str, int] | None = None

    def count(self, engine: PolicyEngine) -> None:
        """What the policy says to its tools, unless there are too many."""
        if self.verdicts is None and len(self.entries) <= _COUNTED:
            counted = Counter(reached(self.surface, entry, engine).verdict for entry in self.entries)
            self.verdicts = {verdict: counted[verdict] for verdict in VERDICTS}


_NOTHING = loading_counts(())
_looked: WeakKeyDictionary[Edge, dict[tuple[str, ...], _Known]] = WeakKeyDictionary()


async def list_subjects(ask: Ask) -> Replied:
    """Agents, roles or surfaces, with how many tools each has."""
    wanted = ask.query(SubjectQuery)
    found = _matching(subjects(ask.edge.app.catalog, wanted.kind), wanted.text)
    rest = [one for one in found if one.id > (wanted.cursor or "")]
    keys = _key_counts(ask, wanted.kind)
    items = [await _state(ask, one, keys[one.id]) for one in rest[: wanted.limit]]
    if len(rest) <= wanted.limit:
        return Reply(SubjectPage(items=items, total=len(found)))
    address = next_link("/v1/reach/subjects", ask.pairs, items[-1].id)
    return Reply(SubjectPage(items=items, total=len(found), next=address), headers=(link_header(address),))


def _matching(found: list[Subject], text: str | None) -> list[Subject]:
    wanted = (text or "").lower()
    return [one for one in found if wanted in one.id.lower() or wanted in one.title.lower()]


async def _state(ask: Ask, one: Subject, keys: int) -> SubjectState:
    return _described(ask, one, *await _look(ask, one), keys)


async def _look(ask: Ask, one: Subject, principal: str = "", tenant: str = "") -> tuple[_Known | None, str | None]:
    """Its surface as it is now, or why it has none. Kept for a moment, as long as nothing it depends on changed."""
    app = ask.edge.app
    request = request_of(one.kind, one.id, principal=principal or "somebody", tenant=tenant or DEFAULT_TENANT)
    off = ",".join(switch.tool_id for switch in await app.store.list_disabled())
    key, now = (request_key(request), app.catalog.digest, app.policy.digest, off), time.monotonic()
    kept = _looked.setdefault(ask.edge, {})
    known = kept.pop(key, None)
    if known is None or now - known.at >= known.seconds:
        try:
            known = _Known(await app.preview(request), now)
        except SurfaceError as error:
            return None, str(error)
    kept[key] = known
    while len(kept) > 1 and (len(kept) > _KEPT or sum(len(one.entries) for one in kept.values()) > _ENTRIES):
        del kept[next(iter(kept))]
    return known, None


async def surface_of_anybody(ask: Ask) -> Surface | None:
    """What a key that names no agent, role or surface reaches now; None when that is nothing."""
    anybody = subject(ask.edge.app.catalog, "none", "")
    known = None if anybody is None else (await _look(ask, anybody))[0]
    return None if known is None else known.surface


def _described(ask: Ask, one: Subject, known: _Known | None, problem: str | None, keys: int) -> SubjectState:
    if known is not None:
        known.count(ask.edge.app.policy)
    return SubjectState(
        **msgspec.structs.asdict(one),
        problem=problem,
        tools=_NOTHING if known is None else known.tools,
        verdicts=None if known is None else known.verdicts,
        max_tool_calls=None if known is None else known.surface.max_tool_calls,
        keys=keys,
    )


async def get_reach(ask: Ask) -> Replied:
    """What an agent, a role or a surface may reach, tool by tool."""
    wanted, app = ask.query(ReachQuery), ask.edge.app
    one = subject(app.catalog, wanted.kind, wanted.id)
    if one is None:
        raise not_found(f"there is no {wanted.kind} {wanted.id[:200]!r} in the catalog")
    known, problem = await _look(ask, one, wanted.principal or "", wanted.tenant or "")
    if known is None:
        raise Problem(409, "no_surface", problem or "it has no surface")
    surface = known.surface
    found = [entry for entry in known.entries if _has(entry, wanted.text)]
    if wanted.loading is not None:
        found = [entry for entry in found if loading_counts((entry,))[wanted.loading]]
    page, total, is_more = _page(ask, surface, found, wanted)
    state = Reach(
        subject=_described(ask, one, known, None, _key_counts(ask, wanted.kind)[one.id]),
        principal=wanted.principal,
        reason=surface.reason,
        tool_choice=surface.tool_choice,
        audit_level=surface.audit_level,
        is_confined=surface.is_confined,
        tokens=token_estimate(surface, app.surface_settings),
        items=[_tool(each) for each in page],
        total=total,
    )
    if not is_more:
        return Reply(state)
    state.next = next_link("/v1/reach", ask.pairs, page[-1].entry.tool.tool_id)
    return Reply(state, headers=(link_header(state.next),))


def _page(
    ask: Ask, surface: Surface, found: list[SurfaceEntry], wanted: ReachQuery
) -> tuple[list[Reached], int | None, bool]:
    """The tools of one page, how many there are, and whether more follow. What the policy says is asked for these alone,
    unless it is filtered by."""
    engine, after = ask.edge.app.policy, wanted.cursor or ""
    rest = [entry for entry in found if entry.tool.tool_id > after]
    if wanted.verdict is None:
        page = [reached(surface, entry, engine) for entry in rest[: wanted.limit]]
        return page, len(found), len(rest) > wanted.limit
    fitting = (one for one in (reached(surface, entry, engine) for entry in rest) if one.verdict == wanted.verdict)
    page = _first(fitting, wanted.limit + 1)
    total = None
    if len(found) <= _COUNTED:
        total = sum(reached(surface, entry, engine).verdict == wanted.verdict for entry in found)
    return page[: wanted.limit], total, len(page) > wanted.limit


def _first(found: Iterator[Reached], count: int) -> list[Reached]:
    return [one for _, one in zip(range(count), found, strict=False)]


def _has(entry: SurfaceEntry, text: str | None) -> bool:
    wanted = (text or "").lower()
    return wanted in entry.tool.tool_id.lower() or wanted in (entry.tool.title or "").lower()


def _tool(one: Reached) -> ToolReach:
    tool, facts = one.entry.tool, one.entry.tool.facts
    return ToolReach(
        tool_id=tool.tool_id,
        title=tool.title,
        version=tool.version,
        loading=one.loading,
        verdict=one.verdict,
        why=one.why,
        approval_from=list(one.entry.approval_from),
        max_calls_per_run=one.entry.max_calls_per_run,
        is_read_only=facts.is_read_only is True,
        is_destructive=facts.is_destructive if isinstance(facts.is_destructive, bool) else None,
    )


async def get_reach_matrix(ask: Ask) -> Replied:
    """Agents and tools as a table, a part at a time."""
    wanted, app = ask.query(MatrixQuery), ask.edge.app
    found = _matching(subjects(app.catalog, "agent"), wanted.agent)
    rest = [one for one in found if one.id > (wanted.after or "")]
    shown, keys = rest[: wanted.agents], _key_counts(ask, "agent")
    looked = [await _look(ask, one) for one in shown]
    tools = _tools(ask, [known for known, _ in looked if known is not None], wanted)
    left = [tool_id for tool_id in tools if tool_id > (wanted.cursor or "")]
    page = left[: wanted.limit]
    table = Matrix(
        agents=[
            _described(ask, one, known, problem, keys[one.id])
            for one, (known, problem) in zip(shown, looked, strict=True)
        ],
        agents_total=len(found),
        agents_next=shown[-1].id if len(rest) > len(shown) else None,
        items=[
            MatrixRow(tool_id=tool_id, title=tools[tool_id], cells=[_cell(ask, known, tool_id) for known, _ in looked])
            for tool_id in page
        ],
        total=len(tools),
    )
    if len(left) <= wanted.limit:
        return Reply(table)
    table.next = next_link("/v1/reach/matrix", ask.pairs, page[-1])
    return Reply(table, headers=(link_header(table.next),))


def _tools(ask: Ask, looked: list[_Known], wanted: MatrixQuery) -> dict[str, str | None]:
    """The titles of the tools that have a row, by id, in order."""
    if wanted.everything:
        known = {listed.tool.tool_id: listed.tool for listed in ask.edge.app.catalog.list_preferred()}
    else:
        known = {entry.tool.tool_id: entry.tool for one in looked for entry in one.entries}
    text = (wanted.text or "").lower()
    fitting = [tool for tool in known.values() if text in tool.tool_id.lower() or text in (tool.title or "").lower()]
    return {tool.tool_id: tool.title for tool in sorted(fitting, key=lambda tool: tool.tool_id)}


def _cell(ask: Ask, known: _Known | None, tool_id: str) -> MatrixCell | None:
    entry = known.surface.entries.get(tool_id) if known is not None else None
    if known is None or entry is None:
        return None
    one = reached(known.surface, entry, ask.edge.app.policy)
    return MatrixCell(verdict=one.verdict, loading=one.loading, why=one.why)


async def list_keys(ask: Ask) -> Replied:
    """The keys that call as an agent, in a role or on a surface: names and scopes, never secrets."""
    wanted = ask.query(KeyQuery)
    access = Access(ask.edge.app.root)
    used = access.use.times()
    items = [
        _key(token, bound, used.get(token.id))
        for token, bound in _bound(ask, access)
        if wanted.agent in (None, bound.agent)
        and wanted.role in (None, bound.role)
        and wanted.surface in (None, bound.surface)
    ]
    return Reply(KeyList(items=items))


def _bound(ask: Ask, access: Access) -> list[tuple[Token, Limits]]:
    """Every key that still counts, and what it is bound to here."""
    found = []
    for token in access.tokens():
        if token.is_over(time.time()):
            continue
        said = Limits(tenant=token.tenant, agent=token.agent, role=token.role, surface=token.surface)
        try:
            grants = ask.edge.settings.grants
            found.append((token, granted(grants, token.person, frozenset(token.groups), said, (LOCAL,))))
        except Refused:  # it opens nothing here
            continue
    return found


def _key_counts(ask: Ask, kind: Kind) -> Counter[str]:
    bound = [limits for _, limits in _bound(ask, Access(ask.edge.app.root))]
    if kind == "none":
        return Counter({"": sum(not (one.agent or one.role or one.surface) for one in bound)})
    names = (getattr(one, kind) for one in bound)
    return Counter(name for name in names if name)


def _key(token: Token, bound: Limits, used: str | None) -> KeyState:
    said = (token.agent, token.role, token.surface)
    return KeyState(
        id=token.id,
        person=token.person,
        scopes=list(token.scopes),
        groups=list(token.groups),
        tenant=bound.tenant,
        agent=bound.agent,
        role=bound.role,
        surface=bound.surface,
        is_granted=said != (bound.agent, bound.role, bound.surface),
        created=token.created,
        expires=token.expires,
        used=used,
    )
