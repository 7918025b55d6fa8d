"""The catalog page: every tool for operators of the full workspace, and for others the tools of their own surface.

It is made of answers of the HTTP API alone, which decides what the reader may see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ferrule.model.approval import CALL
from ferrule.model.value import JsonObject
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.console.catalog.catalog_findings import show_diagnostics
from ferrule.servers.console.catalog.tool_page import show_tool, switch
from ferrule.servers.console.catalog.tool_words import (
    ASKS,
    CATALOG,
    DIALECTS,
    RUNS_ON,
    address_of,
    effect_of,
    effect_words,
    first_sentence,
    oversees,
)
from ferrule.servers.console.rendering import count, query
from ferrule.servers.console.view import ConsolePage, ConsoleView

PAGE_SIZE = 50
_CHIPS: tuple[tuple[str, str, str], ...] = (
    ("effect", "reads", "Reads"),
    ("effect", "writes", "Writes"),
    ("effect", "destroys", "Cannot be undone"),
    ("effect", "depends", "Depends on input"),
    ("risk", "critical", "Critical risk"),
    ("risk", "high", "High risk"),
    ("risk", "medium", "Medium risk"),
    ("risk", "low", "Low risk"),
    ("approval", "required", "Approval by definition"),
    ("switch", "off", "Turned off"),
    ("findings", "errors", "With errors"),
    ("findings", "warnings", "With warnings"),
)
_CHOICES = (("dialect", "Dialect"), ("owner", "Owner"), ("lifecycle", "Lifecycle"), ("namespace", "Namespace"))
_FILTERS = ("effect", "risk", "approval", "switch", "findings", *(name for name, _ in _CHOICES))
_MOST_CHOICES = 100


async def show(view: ConsoleView) -> HttpAnswer:
    """`GET /console/catalog`: tools, and with `?view=diagnostics` the findings in their definitions."""
    if oversees(view) and view.query.get("view") == "diagnostics":
        return await show_diagnostics(view)
    if oversees(view):
        values = await _list_all(view)
    elif view.may(CALL):
        values = await _list_own(view)
    else:
        return await view.page("catalog_shut.html")
    # To restore a page from its history htmx sends the header of a fragment, too, and needs the whole page.
    if view.is_fragment and view.request.header(b"hx-history-restore-request") != "true":
        address = values["address"].encode("ascii")
        return view.fragment("catalog_found.html", headers=((b"hx-replace-url", address),), is_part=True, **values)
    return await view.page("catalog.html", is_part=False, **values)


async def _list_all(view: ConsoleView) -> JsonObject:
    words = view.query.get("q", "").strip()[:500]
    wanted = {name: view.query[name] for name in _FILTERS if view.query.get(name)}
    skip = view.number("after") or 0
    found = await view.api.get("/catalog/search", q=words, cursor=skip or None, limit=PAGE_SIZE, **wanted)
    return {
        "is_whole": True,
        "q": words,
        "wanted": wanted,
        "address": CATALOG + query(q=words, **wanted, after=skip or None),
        "digest": found["digest"],
        "total": found["total"],
        "matched": found["matched"],
        "sentence": _write_sentence(found, words, wanted),
        "chips": list_chips(found["counts"], words, wanted),
        "choices": list_choices(found["counts"], wanted),
        "rows": [_describe_row(tool) for tool in found["items"]],
        "is_checked": found["is_checked"],
        "pages": _find_pages(found["matched"], skip, words, wanted),
    }


def _write_sentence(found: Mapping[str, Any], words: str, wanted: Mapping[str, str]) -> str:
    total, matched = found["total"], found["matched"]
    noun = "tool" if total == 1 else "tools"
    if not (words or wanted):
        harmful = found["counts"]["effect"].get("destroys", 0)
        off = found["counts"]["switch"].get("off", 0)
        notes = [f"{count(harmful)} of them cannot be undone"] if harmful else []
        notes += [f"{count(off)} turned off"] if off else []
        return f"{count(total)} {noun}{', ' if notes else ''}{' and '.join(notes)}."
    return f"{count(matched)} of {count(total)} {noun} {'matches' if matched == 1 else 'match'}."


def list_chips(counts: Mapping[str, Mapping[str, int]], words: str, wanted: Mapping[str, str]) -> list[JsonObject]:
    """Returns the one-word filters with how many tools each would show; a chosen one links to its removal."""
    found = []
    for facet, value, label in _CHIPS:
        number, is_chosen = counts.get(facet, {}).get(value, 0), wanted.get(facet) == value
        if not (number or is_chosen):
            continue
        others = {name: chosen for name, chosen in wanted.items() if name != facet}
        address = CATALOG + query(q=words, **others, **({} if is_chosen else {facet: value}))
        found.append({"label": label, "count": number, "is_chosen": is_chosen, "address": address})
    return found


def list_choices(counts: Mapping[str, Mapping[str, int]], wanted: Mapping[str, str]) -> list[JsonObject]:
    """Returns filters with many values, most used first; only those that distinguish tools."""
    found = []
    for facet, label in _CHOICES:
        values = counts.get(facet, {})
        if len(values) < 2 and facet not in wanted:
            continue
        options = [
            _describe_option(facet, value, number, wanted) for value, number in list(values.items())[:_MOST_CHOICES]
        ]
        if facet in wanted and not any(option["is_chosen"] for option in options):
            options.append({"value": wanted[facet], "label": wanted[facet], "count": 0, "is_chosen": True})
        found.append({"name": facet, "label": label, "options": options})
    return found


def _describe_option(facet: str, value: str, number: int, wanted: Mapping[str, str]) -> JsonObject:
    words = {"dialect": DIALECTS, "owner": {"-": "none"}}.get(facet, {})
    label = words.get(value, value.replace("_", " ") if facet == "lifecycle" else value)
    return {"value": value, "label": label, "count": number, "is_chosen": wanted.get(facet) == value}


def _describe_approval(tool: Mapping[str, Any]) -> str:
    if tool["asks"] is None:  # calls of a key without an agent are refused
        return "required" if tool["approval_required"] else "–"
    return ASKS[tool["asks"]]


def _describe_row(tool: Mapping[str, Any]) -> JsonObject:
    return {
        "tool_id": tool["tool_id"],
        "address": address_of(tool["tool_id"]),
        "name": tool["name"],
        "says": first_sentence(tool["description"] or tool["title"] or ""),
        "risk": tool["risk"],
        "effect": "asks a person"
        if tool["asks_person"]
        else effect_words(tool["effect"], is_inferred=tool["is_effect_inferred"]),
        "is_inferred": tool["is_effect_inferred"],
        "dialect": DIALECTS.get(tool["dialect"], tool["dialect"]),
        "runs_on": RUNS_ON.get(tool["runs_on"] or "", tool["runs_on"] or "this process"),
        "owner": tool["owner"],
        "version": tool["version"],
        "lifecycle": tool["lifecycle"],
        "approval": _describe_approval(tool),
        "is_on": tool["is_on"],
        "tokens": tool["tokens"],
        "errors": tool["errors"],
        "warnings": tool["warnings"],
    }


def _find_pages(matched: int, skip: int, words: str, wanted: Mapping[str, str]) -> JsonObject:
    def at(offset: int) -> str:
        return CATALOG + query(q=words, **wanted, after=offset or None)

    return {
        "first": skip + 1 if matched else 0,
        "last": min(matched, skip + PAGE_SIZE),
        "before": at(max(0, skip - PAGE_SIZE)) if skip else None,
        "after": at(skip + PAGE_SIZE) if skip + PAGE_SIZE < matched else None,
    }


async def _list_own(view: ConsoleView) -> JsonObject:
    """Returns the reader's own tools, and nothing about any other."""
    words = view.query.get("q", "").strip()[:500]
    after = "" if words else view.query.get("after", "")
    found = await view.api.get("/tools", q=words, cursor=after, limit=PAGE_SIZE)
    surface = await view.api.get("/surface")
    total = surface["loaded"] + surface["deferred"]
    rows = [_describe_own_row(tool) for tool in found["items"]]
    more = query(after=rows[-1]["tool_id"]) if found["next"] and rows else None
    return {
        "is_whole": False,
        "q": words,
        "wanted": {},
        "address": CATALOG + query(q=words, after=after),
        "digest": surface["catalog_digest"],
        "total": total,
        "matched": len(rows) if words else total,
        "sentence": _write_own_sentence(total, rows, words),
        "chips": [],
        "choices": [],
        "rows": rows,
        "is_checked": True,
        "pages": {
            "first": 1,
            "last": len(rows),
            "before": CATALOG if after else None,
            "after": more and CATALOG + more,
        },
    }


def _write_own_sentence(total: int, rows: Sequence[Mapping[str, object]], words: str) -> str:
    if words:
        return f"{count(len(rows))} of your tools {'matches' if len(rows) == 1 else 'match'}."
    return f"{count(total)} {'tool' if total == 1 else 'tools'} that you can use."


def _describe_own_row(tool: Mapping[str, Any]) -> JsonObject:
    return {
        "tool_id": tool["tool_id"],
        "address": address_of(tool["tool_id"]),
        "name": tool["name"],
        "says": first_sentence(tool["description"]),
        "effect": effect_of(tool["facts"]),
        "version": tool["version"],
        "is_deferred": tool["standing"] == "deferred",
        "approval": ASKS[tool["asks"]],
    }


async def show_news(view: ConsoleView) -> HttpAnswer:
    """`GET /console/parts/catalog?digest=`: whether the page shows the current catalog."""
    state = await view.api.get("/catalog" if oversees(view) else "/surface")
    digest = state["digest"] if "digest" in state else state["catalog_digest"]
    return view.fragment("catalog_news.html", is_new=digest != view.query.get("digest"), digest=digest)


PAGES = (
    ConsolePage("GET", "/catalog", show),
    ConsolePage("GET", "/catalog/{tool_id}", show_tool),
    ConsolePage("POST", "/catalog/{tool_id}", switch),
    ConsolePage("GET", "/parts/catalog", show_news),
)
