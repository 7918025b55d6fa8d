"""The tools that agents, roles and surfaces may use, and the keys that call as them; for operators.

`app/preview/reach` works out each tool; nothing is called. This module caches surfaces between the pages of one
listing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Annotated
from weakref import WeakKeyDictionary

import msgspec

from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits, Token
from ferrule.app.preview.preview import VERDICTS, Verdict
from ferrule.app.preview.reach import (
    Kind,
    Loading,
    ReachableTool,
    ToolUser,
    count_loading,
    estimate_surface_tokens,
    find_user,
    list_entries,
    list_users,
    make_surface_request,
    reach_tool,
)
from ferrule.contracts.policy import PolicyEngine
from ferrule.errors import SurfaceError
from ferrule.model.surface import DEFAULT_TENANT, Surface, SurfaceEntry, request_key
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.replies import AnyReply, JsonReply, Problem, link_header, next_link, not_found
from ferrule.servers.api.shapes import Limit, describe
from ferrule.servers.auth.callers import LOCAL, Refused, apply_grants
from ferrule.servers.edge import Edge

_KEPT, _ENTRIES, _SECONDS, _SECONDS_IF_LARGE = 64, 100_000, 10.0, 60.0
"""Limits of the cache, since pages are read one after the other: surfaces, their tools together, and seconds."""
_COUNTED = 1000
"""Surfaces with more tools than this have their verdicts worked out page by page, and not counted."""

Word = Annotated[str, msgspec.Meta(max_length=300)]
Principal = Annotated[
    Word | None, describe("On whose behalf; rules may go by it. Nobody in particular when not given.")
]
Tenant = Annotated[Word | None, describe("In which tenant; rules may go by it.")]


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
    problem: Annotated[str | None, describe("Why it has no surface: it is disabled, or names what is not there.")]
    tools: Annotated[dict[str, int], describe("How many are `loaded`, `deferred`, `hidden` and `gone`.")]
    verdicts: Annotated[
        dict[str, int] | None,
        describe("How many there are of each verdict; null where there are too many."),
    ]
    max_tool_calls: Annotated[int | None, describe("How many calls a run may make, all tools together.")]
    keys: Annotated[int, describe("How many keys call as it.")]


class SubjectQuery(msgspec.Struct, kw_only=True):
    """Filters for agents, roles or surfaces."""

    kind: Annotated[Kind, describe("Agents, roles or surfaces.")] = "agent"
    limit: Limit = 50
    cursor: Annotated[Word | None, describe("Go on after this id.")] = None
    text: Annotated[Word | None, describe("Only those with this in their id or title.")] = None


class SubjectPage(msgspec.Struct, kw_only=True):
    """Agents, roles or surfaces, by id."""

    items: list[SubjectState]
    total: int
    next: Annotated[str | None, describe("Where the next page is.")] = None


class ReachQuery(msgspec.Struct, kw_only=True):
    """The agent, role or surface, and filters for its tools."""

    kind: Annotated[Kind, describe("`none`: of keys that name no agent, role or surface.")] = "agent"
    id: Annotated[Word, describe("The agent, role or surface.")] = ""
    principal: Principal = None
    tenant: Tenant = None
    limit: Limit = 50
    cursor: Annotated[Word | None, describe("Go on after this tool id.")] = None
    text: Annotated[Word | None, describe("Only tools with this in their id or title.")] = None
    loading: Annotated[Loading | None, describe("Only tools that stand so.")] = None
    verdict: Annotated[Verdict | None, describe("Only tools of which the policy says so.")] = None


class ToolReach(msgspec.Struct, kw_only=True):
    """One tool as this agent, role or surface has it."""

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
    """The tools that an agent, a role or a surface may use."""

    subject: SubjectState
    principal: Annotated[str | None, describe("For whom it was worked out; null for nobody in particular.")]
    reason: Annotated[str, describe("Why this surface is what it is.")]
    tool_choice: str
    audit_level: str
    is_confined: Annotated[bool, describe("True when its calls may not leave the hosts that are allowed.")]
    tokens: Annotated[int, describe("About how many tokens a model reads before it can use it: 4.5 characters each.")]
    items: list[ToolReach]
    total: Annotated[int | None, describe("How many fit, on all pages; null when that is not counted.")]
    next: Annotated[str | None, describe("Where the next page is.")] = None


class MatrixQuery(msgspec.Struct, kw_only=True):
    """A part of the table of agents and tools."""

    limit: Annotated[int, describe("How many tools.", ge=1, le=200)] = 40
    cursor: Annotated[Word | None, describe("Go on after this tool id.")] = None
    text: Annotated[Word | None, describe("Only tools with this in their id or title.")] = None
    agents: Annotated[int, describe("How many agents.", ge=1, le=20)] = 8
    after: Annotated[Word | None, describe("Begin after this agent.")] = None
    agent: Annotated[Word | None, describe("Only agents with this in their id or title.")] = None
    everything: Annotated[bool, describe("Also tools that none of these agents has.")] = False


class MatrixCell(msgspec.Struct, kw_only=True):
    """One tool of one agent."""

    verdict: str
    loading: str
    why: str


class MatrixRow(msgspec.Struct, kw_only=True):
    """One tool, as each of the agents has it."""

    tool_id: str
    title: str | None
    cells: Annotated[
        list[MatrixCell | None], describe("In the order of the agents; null where it does not have the tool.")
    ]


class Matrix(msgspec.Struct, kw_only=True):
    """A part of the table of agents and tools."""

    agents: list[SubjectState]
    agents_total: int
    agents_next: Annotated[str | None, describe("`after` for the agents that follow.")]
    items: list[MatrixRow]
    total: int
    next: Annotated[str | None, describe("Where the next page of tools is.")] = None


class KeyQuery(msgspec.Struct, kw_only=True):
    """Filters for keys."""

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
    is_granted: Annotated[bool, describe("True when `[[serve.grants]]` binds it, and not the key itself.")]
    created: str
    expires: str | None
    used: Annotated[str | None, describe("When it was used last, to ten minutes.")]


class KeyList(msgspec.Struct, kw_only=True):
    """Valid keys, oldest first."""

    items: list[KeyState]


class _CachedSurface:
    """A cached surface with its counts."""

    def __init__(self, surface: Surface, at: float) -> None:
        self.surface = surface
        self.at = at
        self.entries = list_entries(surface)
        self.tools = count_loading(self.entries)
        self.seconds = _SECONDS if len(self.entries) <= _COUNTED else _SECONDS_IF_LARGE
        self.verdicts: dict[str, int] | None = None

    def count(self, engine: PolicyEngine) -> None:
        """Counts the verdicts of the policy, unless there are too many tools."""
        if self.verdicts is None and len(self.entries) <= _COUNTED:
            counted = Counter(reach_tool(self.surface, entry, engine).verdict for entry in self.entries)
            self.verdicts = {verdict: counted[verdict] for verdict in VERDICTS}


_NOTHING = count_loading(())
_surfaces: WeakKeyDictionary[Edge, dict[tuple[str, ...], _CachedSurface]] = WeakKeyDictionary()


async def list_subjects(ask: Ask) -> AnyReply:
    """Lists agents, roles or surfaces with their number of tools."""
    wanted = ask.query(SubjectQuery)
    found = _filter_subjects(list_users(ask.edge.app.catalog, wanted.kind), wanted.text)
    rest = [one for one in found if one.id > (wanted.cursor or "")]
    keys = _count_keys(ask, wanted.kind)
    items = [await _load_subject_state(ask, one, keys[one.id]) for one in rest[: wanted.limit]]
    if len(rest) <= wanted.limit:
        return JsonReply(SubjectPage(items=items, total=len(found)))
    address = next_link("/v1/reach/subjects", ask.pairs, items[-1].id)
    return JsonReply(SubjectPage(items=items, total=len(found), next=address), headers=(link_header(address),))


def _filter_subjects(found: list[ToolUser], text: str | None) -> list[ToolUser]:
    wanted = (text or "").lower()
    return [one for one in found if wanted in one.id.lower() or wanted in one.title.lower()]


async def _load_subject_state(ask: Ask, one: ToolUser, keys: int) -> SubjectState:
    return _describe_subject(ask, one, *await _load_surface(ask, one), keys)


async def _load_surface(
    ask: Ask, one: ToolUser, principal: str = "", tenant: str = ""
) -> tuple[_CachedSurface | None, str | None]:
    """Returns the current surface of a subject, or why it has none; cached for a moment while nothing it depends on
    changes.
    """
    app = ask.edge.app
    request = make_surface_request(one.kind, one.id, principal=principal or "somebody", tenant=tenant or DEFAULT_TENANT)
    off = ",".join(switch.tool_id for switch in await app.store.list_disabled())
    # With the tools that are switched off: a switch changes surfaces, and neither of the digests.
    key, now = (request_key(request), app.catalog.digest, app.policy.digest, off), time.monotonic()
    cache = _surfaces.setdefault(ask.edge, {})
    known = cache.pop(key, None)
    if known is None or now - known.at >= known.seconds:
        try:
            known = _CachedSurface(await app.preview(request), now)
        except SurfaceError as error:
            return None, str(error)
    # Taken out above and put back: the least recently used surface comes first.
    cache[key] = known
    while len(cache) > 1 and (len(cache) > _KEPT or sum(len(one.entries) for one in cache.values()) > _ENTRIES):
        del cache[next(iter(cache))]
    return known, None


async def load_default_surface(ask: Ask) -> Surface | None:
    """Returns the surface of a key that names no agent, role or surface; None when it has none."""
    anybody = find_user(ask.edge.app.catalog, "none", "")
    known = None if anybody is None else (await _load_surface(ask, anybody))[0]
    return None if known is None else known.surface


def _describe_subject(
    ask: Ask, one: ToolUser, known: _CachedSurface | None, problem: str | None, keys: int
) -> SubjectState:
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


async def get_reach(ask: Ask) -> AnyReply:
    """Returns the tools of an agent, a role or a surface."""
    wanted, app = ask.query(ReachQuery), ask.edge.app
    one = find_user(app.catalog, wanted.kind, wanted.id)
    if one is None:
        raise not_found(f"there is no {wanted.kind} {wanted.id[:200]!r} in the catalog")
    known, problem = await _load_surface(ask, one, wanted.principal or "", wanted.tenant or "")
    if known is None:
        raise Problem(409, "no_surface", problem or "it has no surface")
    surface = known.surface
    found = [entry for entry in known.entries if _contains_text(entry, wanted.text)]
    if wanted.loading is not None:
        found = [entry for entry in found if count_loading((entry,))[wanted.loading]]
    page, total, is_more = _select_page(ask, surface, found, wanted)
    state = Reach(
        subject=_describe_subject(ask, one, known, None, _count_keys(ask, wanted.kind)[one.id]),
        principal=wanted.principal,
        reason=surface.reason,
        tool_choice=surface.tool_choice,
        audit_level=surface.audit_level,
        is_confined=surface.is_confined,
        tokens=estimate_surface_tokens(surface, app.surface_settings),
        items=[_encode_tool(each) for each in page],
        total=total,
    )
    if not is_more:
        return JsonReply(state)
    state.next = next_link("/v1/reach", ask.pairs, page[-1].entry.tool.tool_id)
    return JsonReply(state, headers=(link_header(state.next),))


def _select_page(
    ask: Ask, surface: Surface, found: list[SurfaceEntry], wanted: ReachQuery
) -> tuple[list[ReachableTool], int | None, bool]:
    """Returns the tools of one page, how many there are, and whether more follow.

    The policy is asked only about the tools of the page, unless they are filtered by its verdict.
    """
    engine, after = ask.edge.app.policy, wanted.cursor or ""
    rest = [entry for entry in found if entry.tool.tool_id > after]
    if wanted.verdict is None:
        page = [reach_tool(surface, entry, engine) for entry in rest[: wanted.limit]]
        return page, len(found), len(rest) > wanted.limit
    fitting = (one for one in (reach_tool(surface, entry, engine) for entry in rest) if one.verdict == wanted.verdict)
    page = _take(fitting, wanted.limit + 1)
    total = None
    if len(found) <= _COUNTED:
        total = sum(reach_tool(surface, entry, engine).verdict == wanted.verdict for entry in found)
    return page[: wanted.limit], total, len(page) > wanted.limit


def _take(found: Iterator[ReachableTool], count: int) -> list[ReachableTool]:
    return [one for _, one in zip(range(count), found, strict=False)]


def _contains_text(entry: SurfaceEntry, text: str | None) -> bool:
    wanted = (text or "").lower()
    return wanted in entry.tool.tool_id.lower() or wanted in (entry.tool.title or "").lower()


def _encode_tool(one: ReachableTool) -> ToolReach:
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


async def get_reach_matrix(ask: Ask) -> AnyReply:
    """Returns a part of the table of agents and tools."""
    wanted, app = ask.query(MatrixQuery), ask.edge.app
    found = _filter_subjects(list_users(app.catalog, "agent"), wanted.agent)
    rest = [one for one in found if one.id > (wanted.after or "")]
    shown, keys = rest[: wanted.agents], _count_keys(ask, "agent")
    looked = [await _load_surface(ask, one) for one in shown]
    tools = _list_matrix_tools(ask, [known for known, _ in looked if known is not None], wanted)
    left = [tool_id for tool_id in tools if tool_id > (wanted.cursor or "")]
    page = left[: wanted.limit]
    table = Matrix(
        agents=[
            _describe_subject(ask, one, known, problem, keys[one.id])
            for one, (known, problem) in zip(shown, looked, strict=True)
        ],
        agents_total=len(found),
        agents_next=shown[-1].id if len(rest) > len(shown) else None,
        items=[
            MatrixRow(
                tool_id=tool_id, title=tools[tool_id], cells=[_encode_cell(ask, known, tool_id) for known, _ in looked]
            )
            for tool_id in page
        ],
        total=len(tools),
    )
    if len(left) <= wanted.limit:
        return JsonReply(table)
    table.next = next_link("/v1/reach/matrix", ask.pairs, page[-1])
    return JsonReply(table, headers=(link_header(table.next),))


def _list_matrix_tools(ask: Ask, looked: list[_CachedSurface], wanted: MatrixQuery) -> dict[str, str | None]:
    """Returns the titles of the tools that have a row, by id, in order."""
    if wanted.everything:
        known = {listed.tool.tool_id: listed.tool for listed in ask.edge.app.catalog.list_preferred()}
    else:
        known = {entry.tool.tool_id: entry.tool for one in looked for entry in one.entries}
    text = (wanted.text or "").lower()
    fitting = [tool for tool in known.values() if text in tool.tool_id.lower() or text in (tool.title or "").lower()]
    return {tool.tool_id: tool.title for tool in sorted(fitting, key=lambda tool: tool.tool_id)}


def _encode_cell(ask: Ask, known: _CachedSurface | None, tool_id: str) -> MatrixCell | None:
    entry = known.surface.entries.get(tool_id) if known is not None else None
    if known is None or entry is None:
        return None
    one = reach_tool(known.surface, entry, ask.edge.app.policy)
    return MatrixCell(verdict=one.verdict, loading=one.loading, why=one.why)


async def list_keys(ask: Ask) -> AnyReply:
    """Lists the keys that call as an agent, in a role or on a surface: names and scopes, never secrets."""
    wanted = ask.query(KeyQuery)
    access = Access(ask.edge.app.root)
    used = access.use.times()
    items = [
        _encode_key(token, bound, used.get(token.id))
        for token, bound in _list_limits(ask, access)
        if wanted.agent in (None, bound.agent)
        and wanted.role in (None, bound.role)
        and wanted.surface in (None, bound.surface)
    ]
    return JsonReply(KeyList(items=items))


def _list_limits(ask: Ask, access: Access) -> list[tuple[Token, KeyLimits]]:
    """Returns every valid key with the limits that it and the grants set."""
    found = []
    for token in access.list_tokens():
        if token.has_ended(time.time()):
            continue
        own = KeyLimits(tenant=token.tenant, agent=token.agent, role=token.role, surface=token.surface)
        try:
            grants = ask.edge.settings.grants
            found.append((token, apply_grants(grants, token.person, frozenset(token.groups), own, (LOCAL,))))
        except Refused:  # a grant refuses this key
            continue
    return found


def _count_keys(ask: Ask, kind: Kind) -> Counter[str]:
    bound = [limits for _, limits in _list_limits(ask, Access(ask.edge.app.root))]
    if kind == "none":
        return Counter({"": sum(not (one.agent or one.role or one.surface) for one in bound)})
    names = (getattr(one, kind) for one in bound)
    return Counter(name for name in names if name)


def _encode_key(token: Token, bound: KeyLimits, used: str | None) -> KeyState:
    own = (token.agent, token.role, token.surface)
    return KeyState(
        id=token.id,
        person=token.person,
        scopes=list(token.scopes),
        groups=list(token.groups),
        tenant=bound.tenant,
        agent=bound.agent,
        role=bound.role,
        surface=bound.surface,
        is_granted=own != (bound.agent, bound.role, bound.surface),
        created=token.created,
        expires=token.expires,
        used=used,
    )
