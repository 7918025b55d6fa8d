"""One tool: what it does and takes, what is known about it and why, who may use it, what became of it, and its calls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from ferrule.model.approval import CALL
from ferrule.schema.tree import schema_tree
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import Answer
from ferrule.servers.auth.callers import Refused
from ferrule.servers.console.catalog.catalog_findings import finding
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
from ferrule.servers.console.view import View

_CALLS = 8
_FINDINGS = 20
_ACCESS_SHOWN = 12
_GUIDANCE = (("use_when", "Use it when"), ("avoid_when", "Avoid it when"), ("side_effects", "Side effects"))
_KINDS = {"agent": "agent", "role": "role", "surface": "surface", "anyone": ""}
_LONGEST_SCHEMA = 60_000


async def show_tool(view: View) -> Answer:
    """`GET /console/catalog/{tool_id}`"""
    if oversees(view):
        return await _whole(view)
    if not view.may(CALL):
        raise Problem(403, "forbidden", "Looking at tools takes a credential with the scope call or admin.")
    return await _own(view)


async def switch(view: View) -> Answer:
    """`POST /console/catalog/{tool_id}`: turn it off or on."""
    tool_id, to = view.parts["tool_id"], view.said("to")
    if to not in ("on", "off"):
        raise Problem(400, "malformed_request", "Say whether it is to be turned on or off.")
    done = await view.api.put(
        f"/switches/{tool_id}", {"is_on": to == "on", "reason": view.said("reason").strip()[:4000]}
    )
    ended = done["ended_calls"]
    return view.redirect(address_of(tool_id) + (f"?{urlencode({'ended': ended})}" if ended else ""))


async def _whole(view: View) -> Answer:
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
        sentence=sentence(tool, access["items"], is_on=found["is_on"]),
        tool=_told(tool),
        versions=_versions(tool_id, found["versions"], tool),
        documentation=_documentation(tool),
        guidance=guidance(tool["definition"]),
        input=_schema(tool["input_schema"]),
        output=_schema(tool["output_schema"]),
        facts=facts(tool),
        access=_access(access),
        size=_size(tool),
        confirm=_confirm(view, is_on=found["is_on"]),
        ended=_ended(view),
        changes=await _changes(view, tool_id),
        findings=await _findings(view, tool_id),
        calls=await _calls(view, tool_id),
    )


def _told(tool: Mapping[str, Any]) -> dict[str, Any]:
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


def sentence(tool: Mapping[str, Any], callers: Sequence[Mapping[str, Any]], *, is_on: bool) -> str:
    """What matters most about a tool: what it does, and who may."""
    effects = {
        "reads": "It only reads",
        "writes": "It changes something",
        "destroys": "What it does cannot be undone",
        "depends": "What it does depends on its input",
    }
    if not is_on:
        return "It is turned off: every call is refused."
    found = Counter(caller["access"] for caller in callers)
    usable = found["allow"] + found["ask"] + found["depends"]
    if not usable:
        return f"{effects[tool['effect']]}, and nobody may use it."
    if len(found) == 1:
        return f"{effects[tool['effect']]}; {_FOR_ALL[next(iter(found))]}."
    told = [f"{count(found[word])} {few if found[word] == 1 else many}" for word, few, many in _ANSWERED if found[word]]
    return f"{effects[tool['effect']]}. Of {count(len(callers))} callers, {', '.join(told[:-1])} and {told[-1]}."


_FOR_ALL = {
    "allow": "everybody may use it",
    "ask": "a person is asked each time",
    "depends": "whether it runs depends on the call",
}
_ANSWERED = (
    ("allow", "may use it", "may use it"),
    ("ask", "asks a person first", "ask a person first"),
    ("depends", "may use it, depending on the call", "may use it, depending on the call"),
    ("deny", "is denied it", "are denied it"),
    ("blocked", "is blocked", "are blocked"),
)


def _versions(tool_id: str, versions: Sequence[Mapping[str, Any]], shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "version": one["version"] or "without a number",
            "lifecycle": one["lifecycle"],
            "is_shown": one is shown,
            "address": f"{address_of(tool_id)}?{urlencode({'version': one['version'] or ''})}",
        }
        for one in versions
    ]


def _documentation(tool: Mapping[str, Any]) -> list[dict[str, str]]:
    return [
        {"heading": heading.replace("_", " ").strip().capitalize(), "text": text}
        for heading, text in tool["documentation"].items()
    ]


def guidance(definition: Any) -> list[dict[str, Any]]:
    """What the definition tells the model about when to use it."""
    said = definition.get("use_guidance") if isinstance(definition, dict) else None
    found = []
    for key, heading in _GUIDANCE:
        lines = said.get(key) if isinstance(said, dict) else None
        lines = lines if isinstance(lines, list) else [lines] if isinstance(lines, str) and lines else []
        if lines:
            found.append({"heading": heading, "lines": [str(line)[:1000] for line in lines[:20]]})
    return found


def _schema(schema: Any) -> dict[str, Any]:
    raw = schema
    if schema is not None and len(json.dumps(schema)) > _LONGEST_SCHEMA:
        raw = "The schema is too large to be shown here; the API gives all of it."
    return {"tree": schema_tree(schema), "raw": raw, "is_stated": schema is not None}


def facts(tool: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is known about a tool, in words, each with where it comes from."""
    by_name = {fact["name"]: fact for fact in tool["facts"]}
    effect = by_name["is_read_only" if tool["effect"] == "reads" else "is_destructive"]
    rows = [
        _fact("Effect", effect_words(tool["effect"], is_inferred=effect["is_inferred"]), effect),
        _fact("Runs beside others", _answer(by_name["is_concurrency_safe"]), by_name["is_concurrency_safe"]),
        _fact("Reaches outside", _answer(by_name["is_open_world"]), by_name["is_open_world"]),
        _fact("Asks a person", _answer(by_name["requires_user_interaction"]), by_name["requires_user_interaction"]),
        _fact("Extra arguments", "refused" if by_name["strict"]["value"] else "taken", by_name["strict"]),
        _fact("When interrupted", _interrupted(by_name["interrupt_behavior"]), by_name["interrupt_behavior"]),
        _fact(
            "Approval", "required by its definition" if tool["approval_required"] else "not required by its definition"
        ),
        _fact("Calls in one run", count(tool["max_calls_per_run"]) if tool["max_calls_per_run"] else "no limit"),
        _fact("Time limit", took(tool["timeout_seconds"] * 1e6) if tool["timeout_seconds"] else "the workspace's"),
        _fact("Runs on", RUNS_ON.get(tool["runs_on"] or "", tool["runs_on"])),
    ]
    rows += [_fact("Owner", tool["owner"] or "nobody named"), _fact("Kind", tool["kind"].replace("_", " "))]
    rows += [_fact("Tags", ", ".join(tool["tags"]))] if tool["tags"] else []
    rows += [_fact("Also called", ", ".join(tool["aliases"]))] if tool["aliases"] else []
    rows += [_fact("Secrets", secret_names(tool["credentials"]))] if tool["credentials"] else []
    return rows


def _fact(label: str, said: Any, fact: Mapping[str, Any] | None = None) -> dict[str, Any]:
    is_inferred = fact is not None and bool(fact["is_inferred"])
    return {"label": label, "says": said, "is_inferred": is_inferred, "why": fact["why"] if fact is not None else ""}


def _answer(fact: Mapping[str, Any]) -> str:
    value = fact["value"]
    return f"depends on its input ({value[:60]})" if isinstance(value, str) else "yes" if value else "no"


def _interrupted(fact: Mapping[str, Any]) -> str:
    return "it is stopped" if fact["value"] == "cancel" else "it goes on to its end"


def secret_names(credentials: Any) -> str:
    """What a definition refers to for its secrets, in a few words; the names, never a value."""
    if isinstance(credentials, dict):
        said = [str(credentials[key]) for key in ("scheme", "provider") if isinstance(credentials.get(key), str)]
        names = said or [str(name) for name in credentials]
    elif isinstance(credentials, list):
        names = [str(one.get("name", "")) if isinstance(one, dict) else str(one) for one in credentials]
    else:
        names = [str(credentials)]
    return one_line(", ".join(name for name in names if name), 120) or "named in its definition"


def _access(access: Mapping[str, Any]) -> dict[str, Any]:
    rows = [_caller(caller) for caller in access["items"]]
    rows.sort(key=lambda row: row["kind"] == "")  # whoever else comes last
    return {
        "rows": rows[:_ACCESS_SHOWN],
        "more": rows[_ACCESS_SHOWN:],
        "is_cut": access["is_cut"],
        "conditions": conditions(access["items"]),
        "some": [_rule(rule) for rule in access["rules_about_some"]],
    }


def _caller(caller: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": _KINDS[caller["kind"]],
        "name": caller["name"] or "anyone else",
        "access": caller["access"],
        "state": STATES[caller["access"]],
        "why": one_line(caller["why"], 300),
        "rules": [rule["rule_id"] for rule in caller["rules"] if rule["is_always"]],
        "is_deferred": caller["is_deferred"],
    }


def conditions(callers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rules that hold for some calls only, each once."""
    found = {
        (rule["rule_id"], rule["place"]): _rule(rule)
        for caller in callers
        for rule in caller["rules"]
        if not rule["is_always"]
    }
    return list(found.values())


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {**rule, "says": rule["decision"]}


def _size(tool: Mapping[str, Any]) -> dict[str, Any]:
    size = tool["size"]
    share = round(100 * size["description_characters"] / size["characters"]) if size["characters"] else 0
    return {**size, "description_percent": min(share, 100)}


def _confirm(view: View, *, is_on: bool) -> str:
    """Which way the switch is about to be turned, if that was asked for and makes sense."""
    asked = view.query.get("confirm", "")
    return asked if asked == ("off" if is_on else "on") else ""


def _ended(view: View) -> int:
    said = view.query.get("ended", "")
    return int(said) if said.isdecimal() and len(said) < 9 else 0


async def _changes(view: View, tool_id: str) -> dict[str, Any]:
    try:
        found = await view.api.get(f"/catalog/changes/{tool_id}")
    except Problem as problem:
        return {"problem": problem.detail, "releases": 0, "items": []}
    return {"problem": "", "releases": found["releases"], "items": found["items"]}


async def _findings(view: View, tool_id: str) -> dict[str, Any]:
    try:
        found = await view.api.get("/catalog/diagnostics", tool_id=tool_id, limit=_FINDINGS)
    except Problem as problem:
        return {"problem": problem.detail, "matched": 0, "items": [], "definitions": []}
    items = [finding(item) for item in found["items"]]
    return {"problem": "", "matched": found["matched"], "items": items, "definitions": found["definitions"]}


async def _calls(view: View, tool_id: str) -> list[dict[str, Any]]:
    try:
        found = (await view.api.get("/invocations", tool=tool_id, limit=_CALLS))["items"]
    except (Problem, Refused):  # a call that is somebody else's is nobody's business
        return []
    names = ("invocation_id", "at", "status", "agent", "principal", "decision", "duration_ms", "error_code")
    return [{name: call[name] for name in names} for call in found]


async def _own(view: View) -> Answer:
    """A tool of whoever looks."""
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
        input=_schema(tool["input_schema"]),
        output=_schema(tool["output_schema"]),
        calls=await _calls(view, tool["tool_id"]),
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
