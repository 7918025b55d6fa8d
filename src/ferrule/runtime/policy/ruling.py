"""Joins rules, modes, requirements and classifier notes into one ruling. The only place that knows precedence.

deny beats ask beats allow, whatever the source; where nothing decides, a classifier that may approve counts, then the
mode, which also narrows calls whatever the rules say. Requirements of a definition, role or agent file are an ask;
only an allow of policy_settings that names the tool lifts it. Several asks are joined into one that satisfies each;
people write durations as `30m` or `1d 12h`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ferrule.model.decision import RULE_SOURCES, Behavior, ClassifierNote, ReasonType, Requirement, RuleSource, Ruling
from ferrule.model.value import JsonObject
from ferrule.runtime.policy.compiled import CompiledRule, Groups
from ferrule.runtime.policy.records import GROUP, Demand, Mode, PolicyFile, PolicyRule

_FREE: tuple[RuleSource, ...] = ("policy_settings", "project_settings")
"""Sources that may set any mode. The others only make it stricter."""
_NARROWING: tuple[Mode, ...] = ("read_only", "ask_all")


def collect_modes(files: Iterable[PolicyFile]) -> frozenset[Mode]:
    """Collects the modes that are set; `default` where the workspace sets none."""
    set_by = [(file.source, file.mode) for file in files if file.mode is not None]
    base = {mode for source, mode in set_by if source in _FREE} or {"default"}
    return combine_modes({*base, *(mode for _, mode in set_by)})


def combine_modes(modes: Iterable[Mode]) -> frozenset[Mode]:
    """Reduces modes to those that matter: several together are as strict as the strictest of them is for each call."""
    given = set(modes)
    if "locked" in given:
        return frozenset({"locked"})
    narrowing = given & set(_NARROWING)
    return frozenset(narrowing or ({"default"} if "default" in given else {"trusted"}))


def format_modes(modes: frozenset[Mode]) -> str:
    """Formats modes as decisions record them."""
    return "+".join(sorted(modes))


def decide_by_mode(modes: frozenset[Mode], *, is_read_only: bool) -> Behavior:
    """Returns the mode's decision for every call, even an allowed one; `passthrough` leaves it to the rules."""
    if "locked" in modes or ("read_only" in modes and not is_read_only):
        return "deny"
    return "ask" if "ask_all" in modes else "passthrough"


def decide_by_default(modes: frozenset[Mode], *, is_read_only: bool, is_harmless: bool) -> Behavior:
    """Returns the mode's decision for a call that no rule decides."""
    gated = decide_by_mode(modes, is_read_only=is_read_only)
    if gated != "passthrough":
        return gated
    return "allow" if "trusted" in modes or is_read_only or is_harmless else "ask"


def join_demands(demands: Sequence[Demand], groups: Groups, expires_seconds: int) -> Requirement | None:
    """Joins demands into one requirement; None when no person could satisfy all of them.

    Approvers must be acceptable to every rule, the highest number of people counts, one rule that excludes the
    requester excludes them, a channel needs the word of every rule, and the shortest time counts.
    """
    lists = [demand.approvers for demand in demands if demand.approvers]
    approvers = lists[0] if lists else ()
    for other in lists[1:]:
        approvers = _intersect_approvers(approvers, other, groups)
        # Nobody is on every list, so an ask could never be satisfied; the caller turns it into a deny.
        if not approvers:
            return None
    stated = [demand.expires_seconds for demand in demands if demand.expires_seconds is not None]
    channels = [demand.channels for demand in demands]
    return Requirement(
        approvers=approvers,
        people=max((demand.people for demand in demands), default=1),
        not_requester=any(demand.not_requester for demand in demands),
        channels=tuple(name for name in channels[0] if all(name in each for each in channels)) if channels else (),
        expires_seconds=min(stated, default=expires_seconds),
    )


def _intersect_approvers(left: tuple[str, ...], right: tuple[str, ...], groups: Groups) -> tuple[str, ...]:
    """Returns the approvers on both lists: names and groups written on both, and members of one list's groups who are
    on the other."""
    if set(left) == set(right):
        return left
    shared = [name for name in left if name in right]
    on_right = set(_expand_groups(right, groups))
    people = [name for name in _expand_groups(left, groups) if name in on_right and name not in shared]
    covered = set(_expand_groups(tuple(shared), groups))
    return (*shared, *(name for name in dict.fromkeys(people) if name not in covered))


def _expand_groups(names: tuple[str, ...], groups: Groups) -> list[str]:
    return [
        person
        for name in names
        for person in (groups.get(name.removeprefix(GROUP), ()) if name.startswith(GROUP) else (name,))
    ]


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_PART = re.compile(r"(\d{1,9})\s*([smhdw])\s*")
LONGEST = 366 * 86400


def parse_duration(text: str) -> int | None:
    """Parses a duration to seconds; None when it is not one, is zero, or is longer than a year."""
    at = total = 0
    while at < len(text) and (part := _PART.match(text, at)):
        total += int(part[1]) * _UNITS[part[2]]
        at = part.end()
    return total if at == len(text) and 0 < total <= LONGEST else None


_VERBS: dict[Behavior, str] = {
    "allow": "allows it",
    "ask": "asks first",
    "deny": "denies it",
    "passthrough": "passes it on",
}
_WHO = {
    "tool": "the tool's definition",
    "role": "the role",
    "agent": "the agent's file",
    "policy": "the agent's policy for all tools",
    "confirmation": "the agent's list of tools to confirm",
}


class RulingContext(NamedTuple):
    """The inputs of a ruling that stay the same for every call of one tool by one caller."""

    tool_id: str
    requirements: tuple[str, ...]
    modes: frozenset[Mode]
    is_interactive: bool
    policy_refs: tuple[str, ...]
    groups: Groups
    expires_seconds: int
    authoritative_hooks: dict[str, str]
    """Hooks that policy_settings makes authoritative, each with the file that says so."""


class CallEvidence(NamedTuple):
    """The inputs of a ruling that differ between calls."""

    hits: tuple[CompiledRule, ...]
    is_read_only: bool
    is_harmless: bool
    """The tool states that it is not destructive."""
    notes: tuple[ClassifierNote, ...] = ()


class _Outcome(NamedTuple):
    behavior: Behavior
    message: str
    reason_type: ReasonType
    deciding: PolicyRule | None = None
    requirement: Requirement = Requirement()
    is_settled: bool = True
    """False when only the mode asks, so that a rule would settle it."""
    is_left_to_hooks: bool = False
    """True for an ask that neither policy_settings, a definition, a role, an agent file, a mode nor a classifier demands."""


def make_ruling(frame: RulingContext, heard: CallEvidence) -> Ruling:
    """Makes the ruling, without the parts that depend on argument values (a blocked path, a narrower suggestion)."""
    hits = sorted(heard.hits, key=lambda hit: RULE_SOURCES.index(hit.rule.source))
    outcome = _find_deny(frame, heard, hits) or _find_ask(frame, heard, hits) or _find_allow(frame, heard, hits)
    behavior, message = outcome.behavior, outcome.message
    if behavior == "ask" and not frame.is_interactive:
        behavior = "deny"
        message = f"{message}; nobody can be asked here, so it is refused"
    rule = outcome.deciding
    refs = [hit.rule.rule_id for hit in hits]
    return Ruling(
        behavior=behavior,
        message=message,
        reason_type=outcome.reason_type,
        source=rule.source if rule is not None else None,
        rule_refs=tuple(dict.fromkeys([rule.rule_id, *refs] if rule is not None else refs)),
        mode=format_modes(frame.modes),
        policy_refs=frame.policy_refs,
        requirement=outcome.requirement,
        suggested_updates=() if outcome.is_settled else (make_suggestion(frame.tool_id),),
        classifiers=heard.notes,
        authoritative_hooks=frame.authoritative_hooks if outcome.is_left_to_hooks else {},
    )


def _find_deny(frame: RulingContext, heard: CallEvidence, hits: list[CompiledRule]) -> _Outcome | None:
    for hit in hits:
        if hit.rule.decision == "deny":
            return _decide_by_rule(hit.rule)
    if decide_by_mode(frame.modes, is_read_only=heard.is_read_only) == "deny":
        what = "nothing runs" if "locked" in frame.modes else "only tools that declare to be read-only run"
        return _Outcome("deny", f"the mode is {format_modes(frame.modes)}: {what}", "mode")
    for note in heard.notes:
        if note.behavior == "deny" and note.authority in ("deny", "decide"):
            return _Outcome("deny", f"the classifier {note.classifier_ref!r} denies it: {note.reason}", "classifier")
    return None


def _find_ask(frame: RulingContext, heard: CallEvidence, hits: list[CompiledRule]) -> _Outcome | None:
    asking = [hit.rule for hit in hits if hit.rule.decision == "ask"]
    lifting = next((hit.rule for hit in hits if _lifts(hit)), None)
    required = frame.requirements if lifting is None else ()
    by_mode = decide_by_mode(frame.modes, is_read_only=heard.is_read_only) == "ask"
    notes = [note for note in heard.notes if note.behavior == "ask" and note.authority in ("deny", "decide")]
    if not (asking or required or by_mode or notes):
        return None
    requirement = join_demands([rule.demand for rule in asking], frame.groups, frame.expires_seconds)
    if requirement is None:
        names = " and ".join(repr(rule.rule_id) for rule in asking if rule.demand.approvers)
        message = f"the rules {names} name approvers with nobody in common, so nobody could approve"
        return _Outcome("deny", message, "rule", asking[0])
    if asking:
        is_left = not (required or by_mode or notes) and all(rule.source != "policy_settings" for rule in asking)
        return _decide_by_rule(asking[0])._replace(requirement=requirement, is_left_to_hooks=is_left)
    if required:
        who = " and ".join(_WHO.get(each, each) for each in required)
        verb = "requires" if len(required) == 1 else "require"
        message = f"{who} {verb} an approval; only an allow rule in policy.toml that names the tool lifts it"
        return _Outcome("ask", message, "policy", None, requirement)
    if by_mode:
        return _Outcome("ask", f"the mode is {format_modes(frame.modes)}: every call asks", "mode", None, requirement)
    message = f"the classifier {notes[0].classifier_ref!r} asks first: {notes[0].reason}"
    return _Outcome("ask", message, "classifier", None, requirement)


def _find_allow(frame: RulingContext, heard: CallEvidence, hits: list[CompiledRule]) -> _Outcome:
    allowing = [hit.rule for hit in hits if hit.rule.decision == "allow"]
    lifting = [hit.rule for hit in hits if _lifts(hit)] if frame.requirements else []
    if allowing:
        # The rule that lifts a requirement is the one to name.
        return _decide_by_rule((lifting or allowing)[0])
    mode = format_modes(frame.modes)
    if decide_by_default(frame.modes, is_read_only=heard.is_read_only, is_harmless=heard.is_harmless) == "allow":
        why = "it declares to be read-only" if heard.is_read_only else "it states that it is not destructive"
        if "trusted" in frame.modes:
            why = "no rule asks or denies"
        return _Outcome("allow", f"the mode is {mode}: {why}", "mode")
    for note in heard.notes:
        if note.behavior == "allow" and note.authority in ("approve", "decide"):
            return _Outcome("allow", f"the classifier {note.classifier_ref!r} allows it: {note.reason}", "classifier")
    message = f"no rule decides about {frame.tool_id!r}, and in mode {mode} what is not declared harmless asks first"
    requirement = Requirement(expires_seconds=frame.expires_seconds)
    return _Outcome("ask", message, "mode", None, requirement, is_settled=False, is_left_to_hooks=True)


def _lifts(hit: CompiledRule) -> bool:
    return hit.rule.decision == "allow" and hit.rule.source == "policy_settings" and hit.is_naming


def _decide_by_rule(rule: PolicyRule) -> _Outcome:
    reason = f": {rule.reason}" if rule.reason else ""
    return _Outcome(
        rule.decision, f"rule {rule.rule_id!r} ({rule.place}) {_VERBS[rule.decision]}{reason}", "rule", rule
    )


def make_suggestion(tool_id: str, **narrower: object) -> JsonObject:
    """Suggests the rule that would settle such calls in future. It changes nothing until a person accepts it
    (AT-136)."""
    rule = {"id": f"allow-{tool_id}", "decision": "allow", "tool": tool_id, **narrower}
    destination: RuleSource = "local_settings"
    return {"kind": "add_rule", "destination": destination, "rule": rule}
