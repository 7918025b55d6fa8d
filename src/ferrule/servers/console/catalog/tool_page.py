"""The page of one tool: its schemas, facts and their reasons, access, history, findings and calls.

It is made of answers of the HTTP API alone; the sentences are pure functions of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from ferrule.model.approval import CALL
from ferrule.model.value import JsonObject
from ferrule.schema.tree import schema_tree
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.auth.callers import Refused
from ferrule.servers.console.catalog.catalog_findings import split_finding
from ferrule.servers.console.catalog.tool_words import (
    DIALECTS,
    RUNS_ON,
    STATES,
    address_of,
    effect_of,
    effect_words,
    one_line,
    oversees,
)
from ferrule.servers.console.rendering import count, took
from ferrule.servers.console.view import ConsoleView

_CALLS = 8
_FINDINGS = 20
_ACCESS_SHOWN = 12
_GUIDANCE = (("use_when", "Use it when"), ("avoid_when", "Avoid it when"), ("side_effects", "Side effects"))
_KINDS = {"agent": "agent", "role": "role", "surface": "surface", "anyone": ""}
_LONGEST_SCHEMA = 60_000


async def show_tool(view: ConsoleView) -> HttpAnswer:
    """`GET /console/catalog/{tool_id}`"""
    if oversees(view):
        return await _show_full(view)
    if not view.may(CALL):
        raise Problem(403, "forbidden", "Viewing tools requires a credential with the scope call or admin.")
    return await _show_own(view)


async def switch(view: ConsoleView) -> HttpAnswer:
    """`POST /console/catalog/{tool_id}`: turns the tool off or on."""
    tool_id, to = view.parts["tool_id"], view.field("to")
    if to not in ("on", "off"):
        raise Problem(400, "malformed_request", "Choose on or off.")
    done = await view.api.put(
        f"/switches/{tool_id}", {"is_on": to == "on", "reason": view.field("reason").strip()[:4000]}
    )
    ended = done["ended_calls"]
    return view.redirect(address_of(tool_id) + (f"?{urlencode({'ended': ended})}" if ended else ""))


async def _show_full(view: ConsoleView) -> HttpAnswer:
    tool_id = view.parts["tool_id"]
    found = await view.api.get(f"/catalog/tools/{tool_id}")
    wanted = view.query.get("version")
    tool = next((one for one in found["versions"] if one["version"] == wanted), found["versions"][0])
    access = await view.api.get(f"/catalog/access/{tool_id}")
    return await view.page(
        "tool.html",
        tool_id=tool_id,
        address=address_of(tool_id),
        is_on=found["is_on"],
        sentence=write_sentence(tool, access["items"], is_on=found["is_on"]),
        tool=_describe_tool(tool),
        versions=_list_versions(tool_id, found["versions"], tool),
        documentation=_list_documentation(tool),
        guidance=list_guidance(tool["definition"]),
        input=_describe_schema(tool["input_schema"]),
        output=_describe_schema(tool["output_schema"]),
        facts=list_facts(tool),
        access=_describe_access(access),
        size=_describe_size(tool),
        confirm=_find_confirmation(view, is_on=found["is_on"]),
        ended=_count_ended(view),
        changes=await _load_changes(view, tool_id),
        findings=await _load_findings(view, tool_id),
        calls=await _load_calls(view, tool_id),
    )


def _describe_tool(tool: Mapping[str, Any]) -> JsonObject:
    names = (
        "tool_id",
        "name",
        "title",
        "version",
        "description",
        "kind",
        "lifecycle",
        "digest",
        "risk",
        "owner",
        "lock",
    )
    return {
        **{name: tool[name] for name in names},
        "dialect": DIALECTS.get(tool["dialect"], tool["dialect"]),
        "says": one_line(tool["description"] or tool["title"] or "", 200),
        "short_digest": f"{tool['digest'][:4]} {tool['digest'][4:8]} … {tool['digest'][-4:]}",
    }


def write_sentence(tool: Mapping[str, Any], callers: Sequence[Mapping[str, Any]], *, is_on: bool) -> str:
    """Returns the effect of a tool, and who may use it."""
    effects = {
        "reads": "It only reads",
        "writes": "It changes something",
        "destroys": "Its effects cannot be undone",
        "depends": "Its effect depends on its input",
    }
    if not is_on:
        return "The tool is turned off: every call is refused."
    found = Counter(caller["access"] for caller in callers)
    usable = found["allow"] + found["ask"] + found["depends"]
    if not usable:
        return f"{effects[tool['effect']]}, and nobody may use it."
    if len(found) == 1:
        return f"{effects[tool['effect']]}; {_FOR_ALL[next(iter(found))]}."
    parts = [
        f"{count(found[word])} {few if found[word] == 1 else many}" for word, few, many in _ACCESS_WORDS if found[word]
    ]
    return f"{effects[tool['effect']]}. Of {count(len(callers))} callers, {', '.join(parts[:-1])} and {parts[-1]}."


_FOR_ALL = {
    "allow": "everybody may use it",
    "ask": "a person is asked each time",
    "depends": "whether it runs depends on the call",
}
_ACCESS_WORDS = (
    ("allow", "may use it", "may use it"),
    ("ask", "asks a person first", "ask a person first"),
    ("depends", "may use it, depending on the call", "may use it, depending on the call"),
    ("deny", "is denied it", "are denied it"),
    ("blocked", "is blocked", "are blocked"),
)


def _list_versions(
    tool_id: str, versions: Sequence[Mapping[str, object]], shown: Mapping[str, object]
) -> list[JsonObject]:
    return [
        {
            "version": one["version"] or "no version",
            "lifecycle": one["lifecycle"],
            "is_shown": one is shown,
            "address": f"{address_of(tool_id)}?{urlencode({'version': one['version'] or ''})}",
        }
        for one in versions
    ]


def _list_documentation(tool: Mapping[str, Any]) -> list[dict[str, str]]:
    return [
        {"heading": heading.replace("_", " ").strip().capitalize(), "text": text}
        for heading, text in tool["documentation"].items()
    ]


def list_guidance(definition: object) -> list[JsonObject]:
    """Returns the definition's advice to the model about when to use the tool."""
    advice = definition.get("use_guidance") if isinstance(definition, dict) else None
    found = []
    for key, heading in _GUIDANCE:
        lines = advice.get(key) if isinstance(advice, dict) else None
        lines = lines if isinstance(lines, list) else [lines] if isinstance(lines, str) and lines else []
        if lines:
            found.append({"heading": heading, "lines": [str(line)[:1000] for line in lines[:20]]})
    return found


def _describe_schema(schema: object) -> JsonObject:
    raw = schema
    if schema is not None and len(json.dumps(schema)) > _LONGEST_SCHEMA:
        raw = "The schema is too large to show here; the API returns it in full."
    return {"tree": schema_tree(schema), "raw": raw, "is_stated": schema is not None}


def list_facts(tool: Mapping[str, Any]) -> list[JsonObject]:
    """Returns the facts of a tool in words, each with where it comes from."""
    by_name = {fact["name"]: fact for fact in tool["facts"]}
    effect = by_name["is_read_only" if tool["effect"] == "reads" else "is_destructive"]
    rows = [
        _make_fact("Effect", effect_words(tool["effect"], is_inferred=effect["is_inferred"]), effect),
        _make_fact(
            "Runs in parallel", _describe_answer(by_name["is_concurrency_safe"]), by_name["is_concurrency_safe"]
        ),
        _make_fact("Open world", _describe_answer(by_name["is_open_world"]), by_name["is_open_world"]),
        _make_fact(
            "Asks a person",
            _describe_answer(by_name["requires_user_interaction"]),
            by_name["requires_user_interaction"],
        ),
        _make_fact("Extra arguments", "refused" if by_name["strict"]["value"] else "accepted", by_name["strict"]),
        _make_fact(
            "When interrupted", _describe_interrupt(by_name["interrupt_behavior"]), by_name["interrupt_behavior"]
        ),
        _make_fact(
            "Approval", "required by its definition" if tool["approval_required"] else "not required by its definition"
        ),
        _make_fact("Calls in one run", count(tool["max_calls_per_run"]) if tool["max_calls_per_run"] else "no limit"),
        _make_fact(
            "Time limit", took(tool["timeout_seconds"] * 1e6) if tool["timeout_seconds"] else "the workspace's default"
        ),
        _make_fact("Runs on", RUNS_ON.get(tool["runs_on"] or "", tool["runs_on"])),
    ]
    rows += [_make_fact("Owner", tool["owner"] or "none"), _make_fact("Kind", tool["kind"].replace("_", " "))]
    rows += [_make_fact("Tags", ", ".join(tool["tags"]))] if tool["tags"] else []
    rows += [_make_fact("Also called", ", ".join(tool["aliases"]))] if tool["aliases"] else []
    rows += [_make_fact("Secrets", name_secrets(tool["credentials"]))] if tool["credentials"] else []
    return rows


def _make_fact(label: str, text: object, fact: Mapping[str, object] | None = None) -> JsonObject:
    is_inferred = fact is not None and bool(fact["is_inferred"])
    return {"label": label, "says": text, "is_inferred": is_inferred, "why": fact["why"] if fact is not None else ""}


def _describe_answer(fact: Mapping[str, object]) -> str:
    value = fact["value"]
    return f"depends on its input ({value[:60]})" if isinstance(value, str) else "yes" if value else "no"


def _describe_interrupt(fact: Mapping[str, object]) -> str:
    return "it stops" if fact["value"] == "cancel" else "it runs to its end"


def name_secrets(credentials: object) -> str:
    """Returns the names of the secrets that a definition refers to, never a value."""
    if isinstance(credentials, dict):
        stated = [str(credentials[key]) for key in ("scheme", "provider") if isinstance(credentials.get(key), str)]
        names = stated or [str(name) for name in credentials]
    elif isinstance(credentials, list):
        names = [str(one.get("name", "")) if isinstance(one, dict) else str(one) for one in credentials]
    else:
        names = [str(credentials)]
    return one_line(", ".join(name for name in names if name), 120) or "named in its definition"


def _describe_access(access: Mapping[str, Any]) -> JsonObject:
    rows = [_describe_caller(caller) for caller in access["items"]]
    rows.sort(key=lambda row: row["kind"] == "")  # "anyone else" comes last
    return {
        "rows": rows[:_ACCESS_SHOWN],
        "more": rows[_ACCESS_SHOWN:],
        "is_cut": access["is_cut"],
        "conditions": list_conditions(access["items"]),
        "some": [_describe_rule(rule) for rule in access["rules_about_some"]],
    }


def _describe_caller(caller: Mapping[str, Any]) -> JsonObject:
    return {
        "kind": _KINDS[caller["kind"]],
        "name": caller["name"] or "anyone else",
        "access": caller["access"],
        "state": STATES[caller["access"]],
        "why": one_line(caller["why"], 300),
        "rules": [rule["rule_id"] for rule in caller["rules"] if rule["is_always"]],
        "is_deferred": caller["is_deferred"],
    }


def list_conditions(callers: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    """Returns the rules that apply to some calls only, each once."""
    found = {
        (rule["rule_id"], rule["place"]): _describe_rule(rule)
        for caller in callers
        for rule in caller["rules"]
        if not rule["is_always"]
    }
    return list(found.values())


def _describe_rule(rule: Mapping[str, object]) -> JsonObject:
    return {**rule, "says": rule["decision"]}


def _describe_size(tool: Mapping[str, Any]) -> JsonObject:
    size = tool["size"]
    share = round(100 * size["description_characters"] / size["characters"]) if size["characters"] else 0
    return {**size, "description_percent": min(share, 100)}


def _find_confirmation(view: ConsoleView, *, is_on: bool) -> str:
    """Returns the new position of the switch that the page asks to confirm; empty where there is none."""
    wanted = view.query.get("confirm", "")
    return wanted if wanted == ("off" if is_on else "on") else ""


def _count_ended(view: ConsoleView) -> int:
    return view.number("ended") or 0


async def _load_changes(view: ConsoleView, tool_id: str) -> JsonObject:
    try:
        found = await view.api.get(f"/catalog/changes/{tool_id}")
    except Problem as problem:
        return {"problem": problem.detail, "releases": 0, "items": []}
    return {"problem": "", "releases": found["releases"], "items": found["items"]}


async def _load_findings(view: ConsoleView, tool_id: str) -> JsonObject:
    try:
        found = await view.api.get("/catalog/diagnostics", tool_id=tool_id, limit=_FINDINGS)
    except Problem as problem:
        return {"problem": problem.detail, "matched": 0, "items": [], "definitions": []}
    items = [split_finding(item) for item in found["items"]]
    return {"problem": "", "matched": found["matched"], "items": items, "definitions": found["definitions"]}


async def _load_calls(view: ConsoleView, tool_id: str) -> list[JsonObject]:
    try:
        found = (await view.api.get("/invocations", tool=tool_id, limit=_CALLS))["items"]
    except (Problem, Refused):  # readers who may see no calls get an empty list
        return []
    names = ("invocation_id", "at", "status", "agent", "principal", "decision", "duration_ms", "error_code")
    return [{name: call[name] for name in names} for call in found]


async def _show_own(view: ConsoleView) -> HttpAnswer:
    """Returns the page of a tool on the reader's own surface."""
    tool_id = view.parts["tool_id"]
    tool = await view.api.get(f"/tools/{tool_id}")
    return await view.page(
        "tool_own.html",
        tool_id=tool["tool_id"],
        address=address_of(tool["tool_id"]),
        sentence=_own_sentence(tool),
        tool={name: tool[name] for name in ("name", "title", "version", "description", "standing", "tags", "aliases")},
        says=one_line(tool["description"], 200),
        effect=effect_of(tool["facts"]),
        needs_approval=tool["needs_approval"],
        max_calls_per_run=tool["max_calls_per_run"],
        input=_describe_schema(tool["input_schema"]),
        output=_describe_schema(tool["output_schema"]),
        calls=await _load_calls(view, tool["tool_id"]),
    )


def _own_sentence(tool: Mapping[str, Any]) -> str:
    if tool["standing"] == "deferred":
        return "You can find it by search; its schema is shown once it is selected."
    return _OWN[tool["asks"]]


_OWN = {
    "always": "You may use it, and a person is asked first.",
    "depends": "You may use it; whether a person is asked first depends on the call.",
    "never": "You may use it.",
}
