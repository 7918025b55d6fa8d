"""Reads a call's open question from its story: the request, the answers since, the current input.

For a call without an open question it says why in one sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from ferrule.model.approval import Answer, ApprovalRequest, Delegation, is_sealed
from ferrule.model.decision import Requirement
from ferrule.model.journal import LAST_KINDS, Header, OpenCall, Payload, StoredEntry, header_of
from ferrule.model.story import Story
from ferrule.model.timestamps import iso
from ferrule.runtime.approval.check import compute_binding, find_current_answers
from ferrule.runtime.approval.inputs import WaitingInput, open_edited_inputs, open_parked_inputs
from ferrule.runtime.approval.key import ApprovalKey

_FAR = 2**62
"""The expiry of a question that never lapses."""


class OpenQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The question that one open call asks."""

    open: OpenCall
    request: ApprovalRequest
    answers: tuple[Answer, ...]
    """All since the request, oldest first."""
    payload: Payload
    """The inputs of the row that asked."""
    edits: tuple[Payload, ...]
    """The edited inputs since, oldest first."""
    is_erased: bool
    """True when its input was destroyed meanwhile."""
    header: msgspec.Raw
    answer_schema: dict[str, Any] = {}
    """The schema of the answer that a tool waits for."""
    delegations: tuple[Delegation, ...] = ()
    """By whom it was handed on, and to whom; only those that count."""
    audit_level: str = ""
    created_at: int
    entered: int
    """When it came to its present state: nanoseconds since it was planned."""
    tool: str
    tool_name: str = ""
    """The name it was called by."""

    @property
    def fingerprint(self) -> bytes:
        """The digest of the exact question: the binding, or the request's digest where nothing is bound to it."""
        return self.binding or hashlib.sha256(msgspec.json.encode(self.request)).digest()

    @property
    def binding(self) -> bytes:
        """The binding that the next answer refers to."""
        return self.answers[-1].binding if self.answers else self.request.binding

    @property
    def approvals(self) -> tuple[Answer, ...]:
        """The answers that still count."""
        return find_current_answers(self.answers)

    def open_inputs(self, key: ApprovalKey) -> WaitingInput:
        """Opens the current input. Raises ValueError when it cannot be opened."""
        inputs = open_parked_inputs(key, self.request.invocation_id, self.payload)
        for edit in self.edits:
            inputs = open_edited_inputs(key, self.request.invocation_id, inputs, edit)
        return inputs

    def find_damage(self, key: ApprovalKey) -> str | None:
        """Finds damage to the stored question, after a change of the ledger from outside. None when it is intact."""
        # Such a request is made when the row is read, so no seal of it was stored.
        if self.request.purpose == "outcome":
            return None
        if self.request.purpose == "input":
            is_whole = is_sealed(key.secret, self.request)
            return None if is_whole else "its request was changed after it was made"
        if self.is_erased:
            return "its input was erased"
        try:
            inputs = self.open_inputs(key)
            is_true = inputs.is_shown_faithfully
        except (ValueError, msgspec.MsgspecError):
            return "its input cannot be opened"
        if not is_sealed(key.secret, self.request):
            return "its request was changed after it was made"
        if any(not is_sealed(key.secret, answer) for answer in self.answers):
            return "one of its answers was changed after it was given"
        if compute_binding(key.secret, self.request, inputs.call) != self.binding or not is_true:
            return "its input is not the one the request was made for"
        return None


def read_question(opened: OpenCall, story: Story) -> OpenQuestion | None:
    """Reads the question that a call leaves open; None when there is none."""
    asking, rows = story.asking, story.rows
    if asking is None:
        return None
    row, segment = rows[asking], story.segments[asking]
    later = zip(rows[asking + 1 :], story.segments[asking + 1 :], strict=True)
    answers = (after.answer for answer_row, after in later if answer_row.kind == "answered")
    header = header_of(segment)  # of this row: the tool may be another one than when the call began
    asked_about = _find_input_row(rows, asking)
    is_task = segment.request is not None and segment.request.purpose == "input"
    until = asking if is_task else len(rows)  # what is answered to a tool changes nothing of its input
    edits = (later.inputs() for later in rows[asked_about + 1 : until] if later.kind == "answered")
    return OpenQuestion(
        # The row that was read, and not the table's: the commit has to fail when a later one came.
        open=msgspec.structs.replace(opened, seq=rows[-1].seq),
        request=segment.request or _make_outcome_request(row, header),
        answers=tuple(answer for answer in answers if answer is not None),
        payload=rows[asked_about].inputs() or Payload(),
        edits=tuple(edit for edit in edits if edit is not None and edit.text is not None),
        is_erased=any(later.is_erased for later in rows[asking:]),
        header=segment.header,
        answer_schema=segment.notes.get("answer_schema", {}),
        audit_level=header.audit_level,
        created_at=segment.created_at,
        entered=max((at for _, at in story.states), default=0),
        tool=row.tool,
        tool_name=header.tool_name,
    )


def _find_input_row(rows: Sequence[StoredEntry], asking: int) -> int:
    """Finds the row with the input a tool was running with: a row after the one that says it began has none itself."""
    for number in reversed(range(asking + 1)):
        payload = rows[number].inputs()
        if payload is not None and payload.model_input is not None:
            return number
    return asking


def _make_outcome_request(row: StoredEntry, header: Header) -> ApprovalRequest:
    return ApprovalRequest(
        invocation_id=row.call,
        tool_id=header.tool_id,
        tool_version=header.tool_version,
        tool_digest=header.tool_digest,
        tool_title=header.tool_name,
        principal=header.principal,
        agent=header.agent,
        channel=header.channel,
        tenant=header.tenant,
        requested_at=row.at,
        expires_at=_FAR,
        binding=b"",
        requirement=Requirement(),
        message="the process that ran it is gone, and nobody knows whether the tool acted",
        risk="high",
        purpose="outcome",
    )


def describe_outcome(call: str, story: Story | None) -> str:
    """Describes why a call cannot be answered any more, in one sentence. `story`: None for an unknown call."""
    if story is None:
        return f"there is no call {call} that waits; 'ferrule pending' lists those that do, 'ferrule log' all"
    last, people = story.rows[-1], _list_approvers(story)
    at = iso(last.at)
    if last.kind in LAST_KINDS:
        return f"{call} has ended: {_describe_ending(story, people)} at {at}"
    if people:
        return (
            f"{call} was approved by {people} already, at {_format_answer_time(story.rows)}; it is {last.outcome} now"
        )
    return f"{call} does not wait for an approval; it is {last.outcome} since {at}"


def _describe_ending(story: Story, people: str) -> str:
    last, answer = story.rows[-1], story.segments[-1].answer
    if answer is not None and answer.verdict == "reject":
        return f"{answer.by} rejected it"
    if last.outcome == "timed_out" and not people:
        return "nobody answered in time, so it expired"
    if last.outcome == "canceled":
        return "it was canceled"
    return f"{people} approved it, and it ended as {last.outcome}" if people else f"it ended as {last.outcome}"


def _list_approvers(story: Story) -> str:
    given = [segment.answer for row, segment in zip(story.rows, story.segments, strict=True) if row.kind == "answered"]
    names = {answer.by: None for answer in given if answer is not None and answer.verdict == "approve"}
    return " and ".join(names)


def _format_answer_time(rows: Sequence[StoredEntry]) -> str:
    return iso(max(row.at for row in rows if row.kind == "answered"))
