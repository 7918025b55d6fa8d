"""Search in the full catalog, for operators: by the words that agents search by, and by what tools are and do.

`app/views/browsing` finds and counts. Findings of `ferrule check` are shown when they are known in time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from ferrule.app.views.browsing import FACETS, Facet, ToolSummary, measure_tool
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.transports import transport_of
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.catalog.catalog import CatalogTool, describe_tool, list_switched_off
from ferrule.servers.api.catalog.catalog_cache import find_catalog_cache
from ferrule.servers.api.catalog.reach import load_default_surface
from ferrule.servers.api.catalog.surfaces import Asks, predict_surface_ask
from ferrule.servers.api.replies import AnyReply, JsonReply, link_header, next_link
from ferrule.servers.api.shapes import Limit, describe
from ferrule.workspace.check_cache import CheckOutcome

_PATIENCE_SECONDS = 0.15
Word = Annotated[str, msgspec.Meta(max_length=300)]
RiskWord = Literal["low", "medium", "high", "critical"]
EffectWord = Literal["reads", "writes", "destroys", "depends"]


class CatalogSearchQuery(msgspec.Struct, kw_only=True):
    """Search words and filters for tools."""

    q: Annotated[Annotated[str, msgspec.Meta(max_length=500)], describe("Words of names, descriptions and hints.")] = ""
    limit: Limit = 50
    cursor: Annotated[Annotated[int, msgspec.Meta(ge=0, le=10**9)] | None, describe("Go on after so many tools.")] = (
        None
    )
    namespace: Annotated[Word | None, describe("Only tools of this namespace.")] = None
    dialect: Annotated[Word | None, describe("Only tools written so: `aml`, `adl`, `oxp`, …")] = None
    effect: Annotated[EffectWord | None, describe("Only tools that do so; `depends`: on their input.")] = None
    risk: Annotated[RiskWord | None, describe("Only tools of this risk.")] = None
    owner: Annotated[Word | None, describe("Only tools of this owner; `-`: of nobody.")] = None
    lifecycle: Annotated[Word | None, describe("Only tools in this state.")] = None
    approval: Annotated[
        Literal["required", "none"] | None, describe("Whether the definition itself wants a person to agree.")
    ] = None
    switch: Annotated[Literal["on", "off"] | None, describe("Only tools that are turned on, or off.")] = None
    findings: Annotated[
        Literal["errors", "warnings"] | None, describe("Only tools with errors, or with warnings and no error.")
    ] = None


class FoundTool(CatalogTool, kw_only=True):
    """One tool of the search result, in the version that surfaces show."""

    risk: str
    effect: Annotated[str, describe("`reads`, `writes`, `destroys`, or `depends` on its input.")]
    is_effect_inferred: Annotated[bool, describe("True when nobody stated it and the cautious default holds.")]
    asks_person: Annotated[bool, describe("True when a person answers each call.")]
    approval_required: Annotated[bool, describe("True when the definition itself wants a person to agree.")]
    asks: Annotated[
        Asks | None,
        describe(
            "Whether calls with a key that names no agent wait for a person: `always`, `depends` (on the call) or `never`; "
            "null where they are refused."
        ),
    ]
    is_on: bool
    is_deferred: Annotated[
        bool, describe("True when its definition wants it found by search, not shown from the start.")
    ]
    runs_on: Annotated[str | None, describe("The transport its definition names.")]
    tokens: Annotated[int, describe("About how many tokens a model is shown of it: 4.5 characters each.")]
    errors: Annotated[
        int | None, describe("What `ferrule check` finds in its definition; null while that is not known.")
    ]
    warnings: int | None


class CatalogFound(msgspec.Struct, kw_only=True):
    """Tools by id; the best match first where there are words."""

    digest: Annotated[str, describe("Of the catalog.")]
    total: Annotated[int, describe("Tools in the catalog.")]
    matched: Annotated[int, describe("Tools that were found, on all pages.")]
    items: list[FoundTool]
    counts: Annotated[
        dict[str, dict[str, int]],
        describe("For each filter: how many tools there are for each of its values, the other filters as they are."),
    ]
    is_checked: Annotated[bool, describe("False while the definitions are still being checked.")]
    next: Annotated[str | None, describe("Where the next page is.")] = None


async def search_catalog(ask: Ask) -> AnyReply:
    """Searches the full catalog."""
    wanted, app = ask.query(CatalogSearchQuery), ask.edge.app
    cache = find_catalog_cache(app)
    shelf, off = await cache.load_index(app), await list_switched_off(ask)
    checked = await cache.checks.recall(_PATIENCE_SECONDS)
    skip = wanted.cursor or 0
    found = shelf.find(
        wanted.q,
        _filters(wanted),
        switched_off=off,
        findings=None if checked is None else checked.tools_by_word,
        skip=skip,
        count=wanted.limit,
    )
    asking = await _find_asks(ask, [shown.listed.tool.tool_id for shown in found.page])
    state = CatalogFound(
        digest=shelf.digest,
        total=len(shelf.tools),
        matched=found.matched,
        items=[_encode_tool(shown, off, checked, asking.get(shown.listed.tool.tool_id)) for shown in found.page],
        counts={facet: dict(counts) for facet, counts in found.counts.items()},
        is_checked=checked is not None,
    )
    if found.matched <= skip + wanted.limit:
        return JsonReply(state)
    state.next = next_link("/v1/catalog/search", ask.pairs, str(skip + wanted.limit))
    return JsonReply(state, headers=(link_header(state.next),))


async def _find_asks(ask: Ask, tool_ids: Iterable[str]) -> dict[str, Asks | None]:
    """Returns for each tool whether its calls wait for a person."""
    surface = await load_default_surface(ask)
    entries = {} if surface is None else surface.entries
    found = {tool_id: entries[tool_id] for tool_id in tool_ids if tool_id in entries}
    engine = ask.edge.app.policy
    return (
        {} if surface is None else {name: predict_surface_ask(surface, entry, engine) for name, entry in found.items()}
    )


def _filters(wanted: CatalogSearchQuery) -> dict[Facet, str]:
    return {facet: value for facet in FACETS if (value := getattr(wanted, facet)) is not None}


def _encode_tool(shown: ToolSummary, off: set[str], checked: CheckOutcome | None, asks: Asks | None) -> FoundTool:
    tool = shown.listed.tool
    return FoundTool(
        **describe_tool(shown.listed),
        risk=shown.risk,
        effect=shown.effect,
        is_effect_inferred=_is_inferred(shown),
        asks_person=tool.facts.requires_user_interaction,
        approval_required=tool.approval_required,
        asks=asks,
        is_on=tool.tool_id not in off,
        is_deferred=tool.lifecycle == "deferred",
        runs_on=transport_of(tool),
        tokens=measure_tool(tool).tokens,
        **_count_findings(tool.tool_id, checked),
    )


def _is_inferred(shown: ToolSummary) -> bool:
    name = "is_read_only" if shown.effect == "reads" else "is_destructive"
    return name in shown.listed.tool.inferred_facts


def _count_findings(tool_id: str, checked: CheckOutcome | None) -> JsonObject:
    if checked is None:
        return {"errors": None, "warnings": None}
    found = [each.severity for each in checked.by_tool.get(tool_id, ())]
    return {"errors": found.count(Severity.ERROR), "warnings": found.count(Severity.WARNING)}
