"""Cedar policies in place of a table of rules. Loaded only when `[policy] engine = "cedar"`; needs the extra `cedar`.

permit allows, forbid denies, and `@decision("ask")` or `@ask("why")` on a permit makes it ask. No policy that holds means that
nothing was decided, as with rules: requirements and modes are weighed by `runtime/policy/ruling.py` all the same.

principal  User::"ada" (in Group::"finance")      action  Action::"call"      resource  Tool::"shop.refund"
context    arguments, facts, agent, channel, tenant, model, risk, tool (name, namespace, tool_kind, dialect, lifecycle)
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from msgspec.structs import replace

from ferrule.contracts.policy import JudgedCall
from ferrule.errors import PolicyError
from ferrule.infra.drivers import load_extra
from ferrule.model.decision import Behavior
from ferrule.model.surface import SurfaceRequest
from ferrule.model.value import JsonObject
from ferrule.runtime.policy.compiled import CompiledRule, is_possibly_destructive
from ferrule.runtime.policy.facts import FLAGS
from ferrule.runtime.policy.program import HitFinder
from ferrule.runtime.policy.records import Demand, PolicyRule, PolicySet
from ferrule.runtime.policy.ruling import parse_duration
from ferrule.runtime.policy.view import ToolView

_ID = re.compile(r"policy\d+")
_NO_CODE = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*')
_HEAD = re.compile(r"\b(?:permit|forbid)\s*\(")
_LARGEST = 2**63 - 1
_FAILED = "cedar-failed"


class CedarTable:
    """The Cedar policies of a workspace, parsed once."""

    def __init__(self, policy: PolicySet) -> None:
        text = policy.cedar or ""
        self._cedar = load_extra("cedarpy")
        self._file = policy.cedar_file
        try:
            written: JsonObject = json.loads(self._cedar.policies_to_json_str(text))["staticPolicies"]
            self._policies = self._cedar.PolicySet.from_str(text)
        except ValueError as error:
            raise PolicyError(f"{self._file} is not Cedar: {error}; no call is allowed until it is") from None
        self._members = policy.groups
        lines = _find_lines(text)
        self._rules = {name: self._make_rule(name, each, lines.get(name, 0)) for name, each in written.items()}
        self._named = {name: _find_named_tool(each) for name, each in written.items()}
        self.ref = f"{self._file}@{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def bind(self, view: ToolView, request: SurfaceRequest) -> HitFinder:
        """Binds the policies to a tool and a caller; the result finds those that hold for a call."""
        entities = self._cedar.Entities.from_json_str(json.dumps(self._make_entities(request.principal, view)))
        fixed = _make_context(view, request)
        tool = {"type": "Tool", "id": view.tool.tool_id}
        user = {"type": "User", "id": request.principal}

        def hits(judged: JudgedCall) -> tuple[CompiledRule, ...]:
            context = {**fixed, "arguments": _to_cedar(judged.arguments), "facts": _make_facts(view, judged)}
            asked = {
                "principal": user,
                "action": {"type": "Action", "id": "call"},
                "resource": tool,
                "context": context,
            }
            answer = self._cedar.is_authorized(asked, self._policies, entities)
            return self._find_hits(answer, view)

        return hits

    def _find_hits(self, answer: Any, view: ToolView) -> tuple[CompiledRule, ...]:
        # Cedar gives them in any order.
        reasons = sorted(answer.diagnostics.reasons, key=lambda name: (self._rules[name].line, name))
        found = [self._compile(name, view) for name in reasons]
        for error in answer.diagnostics.errors:
            # Only the text of the error names the policy.
            named = _ID.search(str(error))
            rule = self._rules.get(named[0]) if named is not None else None
            # A permit that fails does not permit. What would have asked or forbidden might have done so.
            if rule is None or rule.decision != "allow":
                found.append(CompiledRule(self._make_failed_rule(rule, str(error)), (), False, lambda judged: None))
        return tuple(found)

    def _compile(self, name: str, view: ToolView) -> CompiledRule:
        return CompiledRule(self._rules[name], (), self._named[name] == view.tool.tool_id, lambda judged: None)

    def _make_rule(self, name: str, written: JsonObject, line: int) -> PolicyRule:
        notes: JsonObject = {key: value or "" for key, value in (written.get("annotations") or {}).items()}
        return PolicyRule(
            rule_id=notes.get("id") or f"{self._file}#{name}",
            decision=self._read_decision(name, written["effect"], notes),
            source="policy_settings",
            file=self._file,
            line=line,
            reason=notes.get("reason") or notes.get("ask") or "",
            demand=self._read_demand(name, notes),
        )

    def _read_decision(self, name: str, effect: str, notes: JsonObject) -> Behavior:
        if effect == "forbid":
            return "deny"
        said = notes.get("decision", "ask" if "ask" in notes else "allow")
        if said not in ("allow", "ask"):
            raise PolicyError(f'{self._file}: {name} has @decision("{said}"); a permit may say "ask" or "allow"')
        return "ask" if said == "ask" or "ask" in notes else "allow"

    def _read_demand(self, name: str, notes: JsonObject) -> Demand:
        people, expires = notes.get("people", "1"), notes.get("expires", "")
        seconds = parse_duration(expires) if expires else None
        if not people.isdecimal() or int(people) < 1 or (expires and seconds is None):
            usual = '@people("2") @expires("4h")'
            raise PolicyError(f"{self._file}: {name} has @people or @expires that cannot be used; write {usual}")
        return Demand(
            approvers=_split_words(notes.get("approvers", "")),
            people=int(people),
            not_requester="not_requester" in notes,
            channels=_split_words(notes.get("channels", "")),
            expires_seconds=seconds,
        )

    def _make_failed_rule(self, rule: PolicyRule | None, why: str) -> PolicyRule:
        reason = f"it could not be worked out for this call ({why})"
        if rule is not None:
            return replace(rule, reason=reason)
        return PolicyRule(rule_id=_FAILED, decision="deny", source="policy_settings", file=self._file, reason=reason)

    def _make_entities(self, principal: str, view: ToolView) -> list[JsonObject]:
        groups = [name for name, members in self._members.items() if principal in members]
        parents = [{"type": "Group", "id": name} for name in groups]
        namespace = {"type": "Namespace", "id": view.tool.namespace}
        return [
            {"uid": {"type": "User", "id": principal}, "attrs": {}, "parents": parents},
            *({"uid": parent, "attrs": {}, "parents": []} for parent in parents),
            {"uid": {"type": "Tool", "id": view.tool.tool_id}, "attrs": _describe_tool(view), "parents": [namespace]},
            {"uid": namespace, "attrs": {}, "parents": []},
        ]


def _find_lines(text: str) -> dict[str, int]:
    """Finds the line of each policy, by the name Cedar gives it: names count up in the order of the text."""
    # Strings and comments become blanks of the same length, so that offsets still count lines.
    plain = _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    starts = [found.start() for found in _HEAD.finditer(plain)]
    return {f"policy{number}": text.count("\n", 0, start) + 1 for number, start in enumerate(starts)}


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _find_named_tool(written: JsonObject) -> str | None:
    """Finds the one tool a policy is about; None when it is about several."""
    scope = written.get("resource") or {}
    entity = scope.get("entity") or {}
    return entity.get("id") if scope.get("op") == "==" and entity.get("type") == "Tool" else None


def _describe_tool(view: ToolView) -> JsonObject:
    tool = view.tool
    return {
        "name": tool.name,
        "namespace": tool.namespace,
        "tool_kind": tool.tool_kind,
        "dialect": tool.dialect,
        "lifecycle": tool.lifecycle,
        "risk": view.risk,
    }


def _make_context(view: ToolView, request: SurfaceRequest) -> JsonObject:
    known = {"agent": request.agent, "channel": request.channel, "tenant": request.tenant, "model": request.model}
    return {
        **{key: value for key, value in known.items() if value is not None},
        "risk": view.risk,
        "tool": _describe_tool(view),
    }


def _make_facts(view: ToolView, judged: JudgedCall) -> dict[str, bool]:
    """Makes plain facts; an uncertain one has the dangerous value (AT-49)."""
    facts = {name: getattr(judged.facts, name) is True for name in FLAGS}
    facts["is_destructive"] = is_possibly_destructive(judged.facts, view.tool.inferred_facts)
    facts["is_open_world"] = judged.facts.is_open_world is not False
    return facts


def _to_cedar(value: object) -> object:
    """Converts an argument for Cedar: no nulls, integers of 64 bits, other numbers as decimals or texts."""
    match value:
        case dict():
            return {key: _to_cedar(member) for key, member in value.items() if member is not None}
        case list():
            return [_to_cedar(member) for member in value if member is not None]
        case bool() | str():
            return value
        case int():
            return value if abs(value) <= _LARGEST else str(value)
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case float():
            return {"__extn": {"fn": "decimal", "arg": f"{value:.4f}"}}
        case _:
            return str(value)
