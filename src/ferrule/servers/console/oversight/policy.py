"""The policy page: the rules as they win, how often each decided, their answer to a call, and what a watched policy changes.

The words are pure functions of what the HTTP API says.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import Answer, Stream
from ferrule.servers.auth.callers import Refused
from ferrule.servers.console.view import Page, View, for_whole_workspace

_MODES = {
    "default": "a tool that declares that it only reads, or that it destroys nothing, runs; everything else asks a person",
    "read_only": "only tools that declare that they only read run",
    "ask_all": "every call asks a person",
    "trusted": "everything runs",
    "locked": "nothing runs",
}
_REASONS = {
    "mode": "The mode",
    "policy": "A definition, a role or an agent's file",
    "classifier": "A classifier",
    "hook": "A hook",
    "safety_check": "The policy could not be used",
    "other": "Something else",
}
VERBS = {"allow": "allows", "ask": "asks", "deny": "denies", "passthrough": "passes on"}
_COUNTED = (("deny", "denies", "deny"), ("ask", "asks", "ask"), ("allow", "allows", "allow"))


def mode_in_words(mode: str | None) -> str:
    """What holds where no rule decides."""
    if mode is None:
        return "nothing runs"
    return ", and ".join(_MODES.get(one, one) for one in mode.split("+"))


def sentence(overview: dict[str, Any]) -> str:
    """What is in force, in one sentence or two."""
    if not overview["is_usable"]:
        return "The policy cannot be used, so every call is refused until it is mended."
    rules = overview["rules"]
    total = sum(rules.values())
    rest = f"What no rule decides goes by the mode {overview['mode']}: {mode_in_words(overview['mode'])}."
    if total == 0:
        return f"There are no rules. {rest}"
    parts = [f"{rules[key]} {one if rules[key] == 1 else many}" for key, one, many in _COUNTED if rules[key]]
    verb = "rule is" if total == 1 else "rules are"
    return f"{total} {verb} in force: {', '.join(parts)}. {rest}" if parts else f"{total} {verb} in force. {rest}"


def with_hits(rules: list[dict[str, Any]], decisions: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules, each with how often it decided."""
    counted = {(one["source"], one["rule_id"]): one for one in decisions["items"] if one["reason"] == "rule"}
    return [{**rule, **_hits(rule, counted.get((rule["source"], rule["id"])))} for rule in rules]


def _hits(rule: dict[str, Any], counted: dict[str, Any] | None) -> dict[str, Any]:
    day, week = (counted["day"], counted["week"]) if counted else ({}, {})
    otherwise = {said: times for said, times in week.items() if said != rule["decision"]}
    return {"day": sum(day.values()), "week": sum(week.values()), "otherwise": otherwise}


def other_deciders(decisions: dict[str, Any], known: set[tuple[str, str]]) -> list[dict[str, Any]]:
    """What decided besides the rules that are in force now: the mode, definitions, and rules that are gone."""
    found = []
    for one in decisions["items"]:
        if one["reason"] == "rule":
            if (one["source"], one["rule_id"]) in known:
                continue
            what = f"Rule {one['rule_id']}, which is not in force now or stands elsewhere"
        else:
            what = _REASONS.get(one["reason"], one["reason"].replace("_", " ").capitalize())
            what = f"{what} {one['rule_id']}" if one["rule_id"] else what
        found.append({"what": what, "day": one["day"], "week": one["week"]})
    return sorted(found, key=lambda one: -sum(one["week"].values()))


def differing(overview: dict[str, Any], decisions: dict[str, Any]) -> str:
    """What a watched policy would have done, in one sentence."""
    times, total = decisions["differing_day"], sum(decisions["day"].values())
    name = str(overview["shadow"]).partition("@")[0]
    if overview["shadow_problem"]:
        return f"{name} cannot be used, so it would refuse every call: {overview['shadow_problem']}"
    if not times:
        return f"{name} would have decided every call of the last 24 hours as it was decided."
    return f"{name} would have decided {times} of {total} calls of the last 24 hours otherwise."


def toml_of(rule: dict[str, Any]) -> str:
    """A suggested rule as it would stand in a file."""
    lines = ["[[rules]]"]
    lines += [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in rule.items()]
    return "\n".join(lines)


def cases_sentence(cases: dict[str, Any]) -> str:
    """How the table of cases stands."""
    total = cases["passed"] + cases["failed"]
    if cases["problem"]:
        return "The table of cases cannot be run."
    if not cases["failed"]:
        return f"{total} of {total} cases hold."
    return f"{cases['failed']} of {total} cases {'does' if cases['failed'] == 1 else 'do'} not hold."


_RULES, _OTHERS = 50, 40
_ASKED = ("tool", "arguments", "principal", "agent", "role", "unattended")
_closed = for_whole_workspace("Policy", "Here are the rules of this workspace, and how often each of them decided.")


@_closed
async def show(view: View) -> Answer | Stream:
    """`GET /console/policy`"""
    overview = await view.api.get("/policy")
    decisions = await view.api.get("/policy/decisions")
    cases = await view.api.get("/policy/cases")
    listed = await _rules(view, overview, decisions)
    everything = await view.api.get("/policy/rules", limit=500) if listed["is_filtered"] else listed
    known = {(rule["source"], rule["id"]) for rule in everything["items"]}
    return await view.page(
        "policy.html",
        overview=overview,
        answer=sentence(overview),
        mode_says=mode_in_words(overview["mode"]),
        rules=listed,
        decisions=decisions,
        others=other_deciders(decisions, known),
        cases=cases,
        cases_say=cases_sentence(cases),
        differing=differing(overview, decisions) if overview["shadow"] else "",
        suggestions=[
            {**one, "toml": toml_of(one["rule"])} for one in decisions["suggestions"] if not one["is_in_force"]
        ],
        trial=await _trial(view),
    )


async def _rules(view: View, overview: dict[str, Any], decisions: dict[str, Any]) -> dict[str, Any]:
    """The rules of the address, with their hits."""
    decision, text = view.query.get("decision", ""), view.query.get("text", "").strip()
    decision = decision if decision in VERBS else ""
    cursor = view.query.get("after", "")
    listed = await view.api.get(
        "/policy/rules", limit=_RULES, decision=decision, text=text[:300], cursor=cursor if cursor.isdecimal() else None
    )
    items = with_hits(listed["items"], decisions)
    return {
        "items": items,
        "total": listed["total"],
        "after": items[-1]["place"] if listed["next"] else None,
        "is_usable": overview["is_usable"],
        "is_filtered": bool(decision or text or cursor),
        "decision": decision,
        "text": text,
        "start": cursor,
    }


@_closed
async def show_rules(view: View) -> Answer | Stream:
    """`GET /console/policy/rules`: the table, with the hits of this moment."""
    overview = await view.api.get("/policy")
    decisions = await view.api.get("/policy/decisions")
    return view.fragment("policy_rules.html", rules=await _rules(view, overview, decisions), decisions=decisions)


@_closed
async def show_case(view: View) -> Answer | Stream:
    """`GET /console/policy/case`: what the policy would say to a call."""
    trial = await _trial(view)
    address = f"/console/policy?{urlencode({name: view.query[name] for name in _ASKED if view.query.get(name)})}"
    return view.fragment(
        "policy_case.html", trial=trial, headers=((b"hx-push-url", address.encode("ascii", "replace")),)
    )


async def _trial(view: View) -> dict[str, Any]:
    """The case of the address, and what came of it."""
    asked = {name: view.query.get(name, "").strip() for name in _ASKED}
    trial: dict[str, Any] = {"asked": asked, "said": None, "wrong": "", "wrong_arguments": "", "unlisted": 0}
    if not asked["tool"]:
        return trial
    try:
        arguments = json.loads(asked["arguments"] or "{}")
    except ValueError as error:
        return {**trial, "wrong_arguments": f"This is not JSON: {error}."}
    if not isinstance(arguments, dict):
        return {**trial, "wrong_arguments": "Write an object: the arguments by name."}
    body = {
        "tool": asked["tool"],
        "arguments": arguments,
        "is_interactive": not asked["unattended"],
        **{name: asked[name] for name in ("principal", "agent", "role") if asked[name]},
    }
    try:
        said = await view.api.post("/policy/explain", body)
    except (Problem, Refused) as problem:
        detail = problem.detail if isinstance(problem, Problem) else problem.reason
        return {**trial, "wrong": detail}
    matched = [rule for rule in said["rules"] if rule["is_matched"]]
    others = [rule for rule in said["rules"] if not rule["is_matched"]]
    return {**trial, "said": {**said, "rules": matched + others[:_OTHERS]}, "unlisted": max(0, len(others) - _OTHERS)}


PAGES = (
    Page("GET", "/policy", show),
    Page("GET", "/policy/rules", show_rules),
    Page("GET", "/policy/case", show_case),
)
