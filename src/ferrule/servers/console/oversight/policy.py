"""Policy: the rules as they win, how often each decided, what they would say to a call, and where a watched policy differs."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from ferrule.servers.api.problems import Problem
from ferrule.servers.asgi import Answer, Stream
from ferrule.servers.auth.callers import Refused
from ferrule.servers.console.oversight.policy_words import (
    VERBS,
    cases_sentence,
    differing,
    mode_in_words,
    other_deciders,
    sentence,
    toml_of,
    with_hits,
)
from ferrule.servers.console.page import Page
from ferrule.servers.console.view import View
from ferrule.servers.console.whole_workspace import for_whole_workspace

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
