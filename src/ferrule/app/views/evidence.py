"""The evidence for an approval: what a person needs to judge a waiting call, and the outcome once it no longer waits.

Made from the call's rows, the catalog and the policy. It answers nothing and writes nothing; the inbox does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ferrule.contracts.policy import PolicyEngine
from ferrule.contracts.surface import CatalogEntry
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.journal import HookRun
from ferrule.model.lifecycle import TERMINAL
from ferrule.model.story import Story
from ferrule.model.story_parts import FieldDifference, differences
from ferrule.model.timestamps import MICROSECONDS, iso
from ferrule.model.tool import FACT_NAMES
from ferrule.runtime.approval.check import find_current_answers
from ferrule.runtime.approval.inbox_item import InboxItem, count_missing_people
from ferrule.runtime.policy.engine import RuleEngine

Outcome = Literal["waiting", "approved", "rejected", "expired", "canceled", "answered", "settled", "ended"]
"""The outcome of a question; `ended` when the call ended without an answer to it."""
_DESTRUCTIVE = FACT_NAMES.index("is_destructive")
_MASK = "[REDACTED]"
_LONGEST = 80


class Thing(msgspec.Struct, frozen=True):
    """The subject of a call. Before an irreversible call, approvers type it."""

    name: str
    """The member of the input that names it; empty when it is the tool's own name."""
    value: str


class InputRevision(msgspec.Struct, frozen=True):
    """A change of the model's input, and who made it."""

    kind: str
    """`hook`, `person`, `runtime`, `adapter` or `migration`."""
    by: str
    fields: tuple[str, ...]
    reason: str = ""


class AnswerSignature(msgspec.Struct, frozen=True):
    """The answer of one person."""

    by: str
    at: str
    verdict: str
    reason: str | None
    is_edit: bool
    """True when the person changed the input."""
    counts: bool
    """False when the input changed after it, so that the person has to answer again."""


class AskingRule(msgspec.Struct, frozen=True):
    """A rule that made the call wait."""

    rule_ref: str
    decision: str = ""
    """Empty when the policy in force no longer has a rule of that name."""
    place: str = ""
    """File and line."""
    source: str = ""
    reason: str = ""


class Fate(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of the last question of a call."""

    outcome: Outcome
    state: str
    """The call's own state in the lifecycle."""
    purpose: str
    risk: str
    requested_at: int
    decided_at: int | None
    """Microseconds since 1970; None while it waits."""
    signatures: tuple[AnswerSignature, ...]
    is_edited: bool

    @property
    def by(self) -> tuple[str, ...]:
        """The people who decided, in order."""
        return tuple(dict.fromkeys(each.by for each in self.signatures if each.counts))

    @property
    def reason(self) -> str | None:
        """The reason that the last of them gave."""
        return next((each.reason for each in reversed(self.signatures) if each.counts), None)

    @property
    def waited_seconds(self) -> float | None:
        """The time from the question to the answer."""
        return None if self.decided_at is None else max(0, self.decided_at - self.requested_at) / MICROSECONDS


class ApprovalReview(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one call with a question to a person."""

    story: Story
    fate: Fate
    waiting: InboxItem | None
    """The item in the inbox, while there is one."""
    request: ApprovalRequest | None
    """The question; None when it arose from a crash."""
    is_definition_current: bool
    """False when the tool's definition has changed: an approval of the old one would be void."""
    is_destructive: bool
    about: Thing
    """The subject of the call, by its input."""
    thing: Thing | None
    """The subject where approvers have to type it; None where they need not."""
    model_input: Any
    input: Any
    differences: tuple[FieldDifference, ...]
    """From what the model wrote to what would run."""
    changes: tuple[InputRevision, ...]
    rules: tuple[AskingRule, ...]


def make_review(
    story: Story,
    waiting: InboxItem | None,
    versions: Sequence[CatalogEntry],
    engine: PolicyEngine,
) -> ApprovalReview:
    """Makes the review of a call. `versions`: those of its tool in the present catalog."""
    fate = fate_of(story, waiting)
    request = waiting.request if waiting is not None else next(iter(reversed(story.requests)), None)
    # The earliest of the four inputs: the model's own, where that is on record.
    written = next(iter(story.input_values.values()), None)
    parked = story.final_input
    shown = waiting.input if waiting is not None else _find_edited_input(story)
    is_destructive, about = _is_destructive(story, versions), find_thing(shown, story.header.tool_name)
    is_judged = fate.purpose == "approval" and waiting is not None
    digest = request.tool_digest if request is not None else story.header.tool_digest
    return ApprovalReview(
        story=story,
        fate=fate,
        waiting=waiting,
        request=request,
        is_definition_current=any(one.digest == digest for one in versions),
        is_destructive=is_destructive,
        about=about,
        thing=about if is_destructive and is_judged else None,
        model_input=written,
        input=shown,
        differences=differences(written, shown),
        changes=_list_changes(story, parked, shown, fate),
        rules=_list_asking_rules(request, engine),
    )


def find_thing(value: object, tool_name: str) -> Thing:
    """Finds the subject of a call: a member of its input that looks like an id, else the tool."""
    members = value.items() if isinstance(value, dict) else ()
    found = [(_rank_name(name), name, str(one)) for name, one in members if _can_be_typed(one)]
    best = min((each for each in found if each[0] < len(_NAMING)), default=None, key=lambda each: each[0])
    return Thing("", tool_name) if best is None else Thing(best[1], best[2])


_NAMING = ("id", "number", "key", "code", "email", "path", "name", "ticket", "title")
"""Names of members that identify a thing, the best first."""


def _rank_name(name: str) -> int:
    last = name.lower().replace("-", "_").rpartition("_")[2]
    # `orderId` ends in the same word as `order_id`.
    camel = next((number for number, word in enumerate(_NAMING) if name.endswith(word.capitalize())), len(_NAMING))
    return _NAMING.index(last) if last in _NAMING else camel


def _can_be_typed(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    text = str(value)
    return bool(text) and len(text) <= _LONGEST and text.isprintable() and text == text.strip() and _MASK not in text


def fate_of(story: Story, waiting: InboxItem | None = None) -> Fate:
    """Returns the outcome of a call's last question. Raises ValueError for a call without one."""
    rows, asking = story.rows, story.asking
    if asking is None:
        raise ValueError(f"{story.invocation_id} never waited for a person")
    request, given = story.segments[asking].request, story.answers_since
    signatures = _list_signatures(given, request)
    outcome = _classify_outcome(story, given, request, waiting)
    is_open = outcome == "waiting"
    times = [answer.answered_at for answer in given]
    return Fate(
        outcome=outcome,
        state=rows[-1].outcome,
        purpose=request.purpose if request is not None else "outcome",
        risk=request.risk if request is not None else "high",
        requested_at=request.requested_at if request is not None else rows[asking].at,
        decided_at=None if is_open else times[-1] if outcome in _BY_PEOPLE and times else rows[-1].at,
        signatures=signatures,
        is_edited=any(each.is_edit for each in signatures),
    )


_BY_PEOPLE = frozenset({"approved", "rejected", "answered", "settled"})


def _classify_outcome(
    story: Story,
    given: tuple[Answer, ...],
    request: ApprovalRequest | None,
    waiting: InboxItem | None,
) -> Outcome:
    if waiting is not None:
        left = waiting.expires_in_seconds
        return "expired" if left is not None and left <= 0 else "waiting"
    last = given[-1] if given else None
    if request is None or request.purpose == "outcome":
        return "settled" if last is not None else _classify_unanswered(story)
    if last is not None and last.verdict == "reject":
        return "rejected"
    if last is not None and request.purpose == "input":
        return "answered"
    if last is not None and not count_missing_people(request, find_current_answers(given)):
        return "approved"
    return _classify_unanswered(story)


def _classify_unanswered(story: Story) -> Outcome:
    state = story.rows[-1].outcome
    if state == "timed_out":
        return "expired"
    return "canceled" if state == "canceled" else "ended" if state in TERMINAL else "waiting"


def _list_signatures(given: tuple[Answer, ...], request: ApprovalRequest | None) -> tuple[AnswerSignature, ...]:
    is_approval = request is not None and request.purpose == "approval"
    counted = (
        {id(answer) for answer in find_current_answers(given)} if is_approval else {id(answer) for answer in given}
    )
    before = request.binding if request is not None else b""
    found = []
    for answer in given:
        is_edit = is_approval and answer.binding != before
        before = answer.binding
        at, counts = iso(answer.answered_at), id(answer) in counted
        found.append(AnswerSignature(answer.by, at, answer.verdict, answer.reason, is_edit, counts))
    return tuple(found)


def _find_edited_input(story: Story) -> Any:
    """Returns the input of a call that does not wait. Until it resumes, an edited input is in the row of the answer."""
    rows = story.rows
    if rows[-1].kind == "answered" and rows[-1].outcome == "approved":
        for row in reversed(rows):
            payload = row.inputs()
            if row.kind == "parked":
                break
            if payload is not None and payload.text is not None:
                return msgspec.json.decode(payload.text)
    return story.final_input


def _is_destructive(story: Story, versions: Sequence[CatalogEntry]) -> bool:
    """True unless the tool is known to be harmless."""
    facts = story.header.facts
    if len(facts) > _DESTRUCTIVE:
        return facts[_DESTRUCTIVE] is not False
    return not versions or any(one.tool.facts.is_destructive is not False for one in versions)


def _list_changes(story: Story, parked: object, shown: object, fate: Fate) -> tuple[InputRevision, ...]:
    kinds = {"permission_prompt": "person"}
    said = {run.hook_id: _messages(run) for run in story.hooks}
    found = [
        InputRevision(
            kinds.get(each.source_type, each.source_type),
            each.source_ref,
            each.changed_fields,
            each.reason or said.get(each.source_ref, ""),
        )
        for each in story.mutations
    ]
    editor = next((each for each in reversed(fate.signatures) if each.is_edit), None)
    if editor is not None and not any(each.kind == "person" for each in found):
        fields = tuple(each.path for each in differences(parked, shown))
        found.append(InputRevision("person", editor.by, fields, editor.reason or ""))
    return tuple(found)


def _messages(run: HookRun) -> str:
    return "; ".join(str(output["message"]) for output in run.outputs if "message" in output)


def _list_asking_rules(request: ApprovalRequest | None, engine: PolicyEngine) -> tuple[AskingRule, ...]:
    refs = request.rule_refs if request is not None else ()
    known = {rule.rule_id: rule for rule in engine.rules} if isinstance(engine, RuleEngine) and refs else {}
    rules = [(ref, known.get(ref)) for ref in refs]
    return tuple(
        AskingRule(ref) if rule is None else AskingRule(ref, rule.decision, rule.place, rule.source, rule.reason)
        for ref, rule in rules
        if rule is None or rule.decision == "ask"
    )
