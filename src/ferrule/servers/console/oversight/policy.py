"""The policy page: rules in order of precedence, how often each decided, a trial call, and the effect of a shadow
policy.

The sentences are pure functions of the HTTP API's answers.
"""

from __future__ import annotations

import json
from urllib.parse import urlencode

from ferrule.model.value import JsonObject
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import HttpAnswer, HttpStream
from ferrule.servers.auth.callers import Refused
from ferrule.servers.console.view import ConsolePage, ConsoleView, for_whole_workspace

_MODES = {
    "default": "tools declared read-only or not destructive run; all others ask a person",
    "read_only": "only tools declared read-only run",
    "ask_all": "every call asks a person",
    "trusted": "everything runs",
    "locked": "nothing runs",
}
_REASONS = {
    "mode": "The mode",
    "policy": "A definition, a role or an agent's file",
    "classifier": "A classifier",
    "hook": "A hook",
    "safety_check": "An invalid policy",
    "other": "Something else",
}
VERBS = {"allow": "allows", "ask": "asks", "deny": "denies", "passthrough": "passes on"}
_RULE_WORDS = (("deny", "denies", "deny"), ("ask", "asks", "ask"), ("allow", "allows", "allow"))


def mode_in_words(mode: str | None) -> str:
    """Returns what applies where no rule decides."""
    if mode is None:
        return "nothing runs"
    return ", and ".join(_MODES.get(one, one) for one in mode.split("+"))


def write_sentence(overview: JsonObject) -> str:
    """Returns the policy in force, in one sentence or two."""
    if not overview["is_usable"]:
        return "The policy is invalid, so every call is denied until it is fixed."
    rules = overview["rules"]
    total = sum(rules.values())
    rest = f"Other calls follow the mode {overview['mode']}: {mode_in_words(overview['mode'])}."
    if total == 0:
        return f"There are no rules. {rest}"
    parts = [f"{rules[key]} {one if rules[key] == 1 else many}" for key, one, many in _RULE_WORDS if rules[key]]
    verb = "rule is" if total == 1 else "rules are"
    return f"{total} {verb} in force: {', '.join(parts)}. {rest}" if parts else f"{total} {verb} in force. {rest}"


def add_hits(rules: list[JsonObject], decisions: JsonObject) -> list[JsonObject]:
    """Returns the rules, each with how often it decided."""
    counted = {(one["source"], one["rule_id"]): one for one in decisions["items"] if one["reason"] == "rule"}
    return [{**rule, **_count_hits(rule, counted.get((rule["source"], rule["id"])))} for rule in rules]


def _count_hits(rule: JsonObject, counted: JsonObject | None) -> JsonObject:
    day, week = (counted["day"], counted["week"]) if counted else ({}, {})
    otherwise = {behavior: times for behavior, times in week.items() if behavior != rule["decision"]}
    return {"day": sum(day.values()), "week": sum(week.values()), "otherwise": otherwise}


def list_other_deciders(decisions: JsonObject, known: set[tuple[str, str]]) -> list[JsonObject]:
    """Returns what decided besides the current rules: the mode, definitions, and rules that were removed."""
    found = []
    for one in decisions["items"]:
        if one["reason"] == "rule":
            if (one["source"], one["rule_id"]) in known:
                continue
            what = f"Rule {one['rule_id']}, which is not in force now or has moved"
        else:
            what = _REASONS.get(one["reason"], one["reason"].replace("_", " ").capitalize())
            what = f"{what} {one['rule_id']}" if one["rule_id"] else what
        found.append({"what": what, "day": one["day"], "week": one["week"]})
    return sorted(found, key=lambda one: -sum(one["week"].values()))


def describe_shadow(overview: JsonObject, decisions: JsonObject) -> str:
    """Returns what the shadow policy would have decided differently, in one sentence."""
    times, total = decisions["differing_day"], sum(decisions["day"].values())
    name = str(overview["shadow"]).partition("@")[0]
    if overview["shadow_problem"]:
        return f"{name} is invalid, so it would deny every call: {overview['shadow_problem']}"
    if not times:
        return f"{name} would have decided every call of the last 24 hours the same way."
    return f"{name} would have decided {times} of {total} calls of the last 24 hours differently."


def toml_of(rule: JsonObject) -> str:
    """Returns a suggested rule as TOML."""
    lines = ["[[rules]]"]
    lines += [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in rule.items()]
    return "\n".join(lines)


def cases_sentence(cases: JsonObject) -> str:
    """Returns the results of the table of cases."""
    total = cases["passed"] + cases["failed"]
    if cases["problem"]:
        return "The table of cases cannot be run."
    if not cases["failed"]:
        return f"{total} of {total} cases pass."
    return f"{cases['failed']} of {total} cases {'fails' if cases['failed'] == 1 else 'fail'}."


_RULES, _OTHERS = 50, 40
_ASKED = ("tool", "arguments", "principal", "agent", "role", "unattended")
_for_operators = for_whole_workspace(
    "Policy", "It shows the rules of this workspace, and how often each of them decided."
)


@_for_operators
async def show(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/policy`"""
    overview = await view.api.get("/policy")
    decisions = await view.api.get("/policy/decisions")
    cases = await view.api.get("/policy/cases")
    listed = await _load_rules(view, overview, decisions)
    everything = await view.api.get("/policy/rules", limit=500) if listed["is_filtered"] else listed
    known = {(rule["source"], rule["id"]) for rule in everything["items"]}
    return await view.page(
        "policy.html",
        overview=overview,
        answer=write_sentence(overview),
        mode_says=mode_in_words(overview["mode"]),
        rules=listed,
        decisions=decisions,
        others=list_other_deciders(decisions, known),
        cases=cases,
        cases_say=cases_sentence(cases),
        differing=describe_shadow(overview, decisions) if overview["shadow"] else "",
        suggestions=[
            {**one, "toml": toml_of(one["rule"])} for one in decisions["suggestions"] if not one["is_in_force"]
        ],
        trial=await _try_call(view),
    )


async def _load_rules(view: ConsoleView, overview: JsonObject, decisions: JsonObject) -> JsonObject:
    """Returns the rules that the address filters, with their hits."""
    decision, text = view.query.get("decision", ""), view.query.get("text", "").strip()
    decision = decision if decision in VERBS else ""
    cursor = view.query.get("after", "")
    listed = await view.api.get(
        "/policy/rules", limit=_RULES, decision=decision, text=text[:300], cursor=cursor if cursor.isdecimal() else None
    )
    items = add_hits(listed["items"], decisions)
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


@_for_operators
async def show_rules(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/policy/rules`: the table of rules with current hits."""
    overview = await view.api.get("/policy")
    decisions = await view.api.get("/policy/decisions")
    return view.fragment("policy_rules.html", rules=await _load_rules(view, overview, decisions), decisions=decisions)


@_for_operators
async def show_case(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/policy/case`: the policy's decision about a trial call."""
    trial = await _try_call(view)
    address = f"/console/policy?{urlencode({name: view.query[name] for name in _ASKED if view.query.get(name)})}"
    return view.fragment(
        "policy_case.html", trial=trial, headers=((b"hx-push-url", address.encode("ascii", "replace")),)
    )


async def _try_call(view: ConsoleView) -> JsonObject:
    """Returns the trial call in the address, and its decision."""
    asked = {name: view.query.get(name, "").strip() for name in _ASKED}
    trial: JsonObject = {"asked": asked, "said": None, "wrong": "", "wrong_arguments": "", "unlisted": 0}
    if not asked["tool"]:
        return trial
    try:
        arguments = json.loads(asked["arguments"] or "{}")
    except ValueError as error:
        return {**trial, "wrong_arguments": f"This is not JSON: {error}."}
    if not isinstance(arguments, dict):
        return {**trial, "wrong_arguments": "Enter a JSON object: the arguments by name."}
    body = {
        "tool": asked["tool"],
        "arguments": arguments,
        "is_interactive": not asked["unattended"],
        **{name: asked[name] for name in ("principal", "agent", "role") if asked[name]},
    }
    try:
        verdict = await view.api.post("/policy/explain", body)
    except (Problem, Refused) as problem:
        detail = problem.detail if isinstance(problem, Problem) else problem.reason
        return {**trial, "wrong": detail}
    matched = [rule for rule in verdict["rules"] if rule["is_matched"]]
    others = [rule for rule in verdict["rules"] if not rule["is_matched"]]
    return {
        **trial,
        "said": {**verdict, "rules": matched + others[:_OTHERS]},
        "unlisted": max(0, len(others) - _OTHERS),
    }


PAGES = (
    ConsolePage("GET", "/policy", show),
    ConsolePage("GET", "/policy/rules", show_rules),
    ConsolePage("GET", "/policy/case", show_case),
)
