"""The inbox: calls that wait for a person, and the one way to answer them. Console, command line, HTTP and MCP all
use it.

An inbox belongs to one identity. It checks who that is, seals the answer and commits it under the condition that
nothing happened in between; then the call goes on. It does not run tools, write policy or talk to anybody.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from ferrule.contracts.store import CommitCondition, Store
from ferrule.errors import AccessError, FerruleError, InboxError, LedgerDamaged, UnfitAnswer
from ferrule.model.approval import ADMIN, APPROVE, Answer, ApprovalRequest, Delegation, Identity
from ferrule.model.failure import Stop
from ferrule.model.journal import WAITING_STATES, OpenCall, Payload
from ferrule.model.result import Pending, Result
from ferrule.model.story import Story
from ferrule.model.value import JsonObject
from ferrule.runtime.approval.answers import (
    add_delegates,
    make_answer,
    make_approval_row,
    make_delegation,
    make_delegation_row,
    make_input_row,
    make_rejection,
    make_settlement,
    read_delegations,
    why_unusable_name,
)
from ferrule.runtime.approval.check import ApprovalUnsatisfied, check_approval, compute_binding
from ferrule.runtime.approval.inbox_item import (
    InboxItem,
    count_missing_people,
    make_item,
    why_no_answer,
    why_no_approval,
    why_no_rejection,
    why_no_scope,
    why_no_settling,
)
from ferrule.runtime.approval.inputs import (
    WaitingInput,
    apply_edit,
    list_hidden_values,
    make_answer_payload,
    make_edit_payload,
)
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.approval.question import OpenQuestion, describe_outcome, read_question
from ferrule.schema.validation.validators import compile_schema, first_error

Resume: TypeAlias = Callable[[str], Awaitable[Result | Pending | None]]
"""Lets an approved call go on; gives how it ended, or that it waits again."""
OnRecorded: TypeAlias = Callable[[], None]
"""Runs once an answer is in the ledger, before the call goes on: from then on no other answer can count."""
Validate: TypeAlias = Callable[[str, bytes], Awaitable[str | None]]
"""Returns the problem with an edited input of a call; None when it fits."""
Accept: TypeAlias = Callable[[dict[str, object]], Awaitable[None]]
"""Takes a suggested rule into the policy."""
MaskInput: TypeAlias = Callable[[str, bytes], Awaitable[bytes]]
"""An input of a call with its sensitive members masked."""


class CloseCall(Protocol):
    """Ends a waiting call with an answer; None when something else has happened to it since the row of this number."""

    async def __call__(self, call: str, stop: Stop, answer: Answer, /, *, seq: int) -> Result | None: ...


RedactSecrets: TypeAlias = Callable[..., Any]
"""Redacts a text or JSON value; takes more values to redact."""
MaskAnswer: TypeAlias = Callable[[bytes, dict[str, Any]], bytes]
"""An answer as it may be stored and shown, by the schema a tool wants it to fit."""

TellDelegated: TypeAlias = Callable[[ApprovalRequest, Delegation], None]
"""Tells people that a task was handed on to them."""

WhyEnded: TypeAlias = Callable[[str, int], str | None]
"""Why nothing runs any more that came by a channel: its key has ended at this time (microseconds since 1970). None when it may
run. Raises AccessError when that is unknown."""

_log = logging.getLogger("ferrule.inbox")


class InboxAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an approval."""

    invocation_id: str
    state: str
    """`approved`, or `awaiting_approval` while more people are needed."""
    people_missing: int = 0
    result: Result | Pending | None = None
    """How the call ended, where it went on at once."""
    accepted: tuple[dict[str, object], ...] = ()
    """The suggested rules that are in force now."""
    problems: tuple[str, ...] = ()
    """Suggested rules that could not be taken; the approval stands all the same."""


class EditCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of an edit on a waiting call's input. Nothing was recorded."""

    problem: str | None
    """Why it cannot be approved like that; None when it can."""
    input: Any
    """The input before, as people may see it."""
    edited: Any
    """The input after; None when it cannot be read."""


class _SealedApproval(msgspec.Struct, frozen=True):
    """An approval ready to be written."""

    answer: Answer
    payload: Payload | None
    people_missing: int


class Inbox:
    """The inbox of one identity."""

    def __init__(
        self,
        store: Store,
        keys: ApprovalKey,
        identity: Identity,
        clock: Callable[[], int],
        resume: Resume,
        validate: Validate,
        close: CloseCall,
        accept: Accept | None = None,
        mask: MaskInput | None = None,
        describe: Callable[[str], str | None] = lambda tool_id: None,
        *,
        redact: RedactSecrets = lambda value, also=(): value,
        mask_answer: MaskAnswer = lambda given, schema: given,
        tell_delegated: TellDelegated = lambda request, delegation: None,
        why_ended: WhyEnded = lambda channel, now: None,
    ) -> None:
        self._store = store
        self._keys = keys
        self._identity = identity
        self._clock = clock
        self._resume = resume
        self._validate = validate
        self._close = close
        self._accept = accept
        self._mask = mask
        self._describe = describe
        self._redact = redact
        self._mask_answer = mask_answer
        self._tell_delegated = tell_delegated
        self._why_ended = why_ended

    async def pending(self) -> list[InboxItem]:
        """Lists calls that wait for a person, oldest first: of this identity's tenant, or of all. Without the approve
        or admin scope: one's own calls."""
        opened = [one for one in await self._store.open_calls(*WAITING_STATES) if self._may_see_tenant(one.tenant)]
        found = [await self._read_question(one) for one in opened]
        visible = [question for question in found if question is not None and self._may_see(question)]
        return sorted(map(self._make_item, visible), key=lambda waiting: waiting.request.requested_at)

    async def get(self, call: str) -> InboxItem:
        """Returns one item. Raises InboxError, which explains why a call does not wait."""
        return self._make_item(await self._find_question(call))

    async def resolve(self, prefix: str) -> str:
        """Resolves a prefix to the id of a waiting call, `last` to the newest; an unknown text stays as it is. Raises
        InboxError for several matches."""
        ids = [waiting.request.invocation_id for waiting in await self.pending()]
        if prefix == "last" and ids:
            return max(ids)  # they begin with their time
        found = [call for call in ids if prefix and call.startswith((prefix, f"inv_{prefix}"))]
        if prefix in ids or not found:
            return prefix
        if len(found) > 1:
            raise InboxError(f"{prefix!r} begins {len(found)} waiting calls: {', '.join(found)}; write more of the id")
        return found[0]

    async def approve(
        self,
        call: str,
        *,
        edited_input: bytes | None = None,
        reason: str | None = None,
        accept_rules: Sequence[int] = (),
        seen: bytes | None = None,
        resume: bool = True,
        on_recorded: OnRecorded = lambda: None,
    ) -> InboxAnswer:
        """Approves a call. Raises AccessError or InboxError, and then nothing was recorded.

        `seen` is the `binding` of the item that was looked at: an input that changed since is not approved.
        `accept_rules` are indexes into `suggested_updates`. With enough people the call goes on at once, unless
        `resume` is False.
        """
        self._require_approve_scope()
        question = await self._find_question(call)
        # Before anything is written: a wrong number must not leave an approval behind.
        updates = self._pick_updates(question, accept_rules)
        written = await self._commit_approval(question, edited_input, reason, seen)
        on_recorded()
        accepted, problems = await self._accept_updates(updates)
        result = None
        if not written.people_missing and resume:
            result = await self._resume(call)
        return InboxAnswer(
            invocation_id=call,
            state="awaiting_approval" if written.people_missing else "approved",
            people_missing=written.people_missing,
            result=result,
            accepted=accepted,
            problems=problems,
        )

    async def check_edit(self, call: str, edited_input: bytes) -> EditCheck:
        """Checks the effect of an edit, and its problems. Raises AccessError or InboxError when this identity may not
        approve any edit."""
        self._require_approve_scope()
        question = await self._find_question(call)
        self._require_may_approve(question, self._read_time(question), has_edit=True)
        before = self._read_inputs(question)
        shown = msgspec.json.decode(before.shown)
        try:
            after = await self._apply_edit(call, before, edited_input)
        except InboxError as error:
            return EditCheck(problem=str(error), input=shown, edited=None)
        problem = await self._validate(call, after.call) if after.call != before.call else None
        return EditCheck(problem=problem, input=shown, edited=msgspec.json.decode(after.shown))

    async def reject(self, call: str, *, reason: str, seen: bytes | None = None) -> Result:
        """Rejects a call, which ends as denied. `seen`: as for `approve`. Raises AccessError or InboxError, and then
        nothing was recorded."""
        self._require_approve_scope()
        for _ in range(2):  # after a concurrent answer it retries once, and only for the very same question
            question = await self._find_question(call)
            error = why_no_rejection(question, self._identity, self._read_time(question))
            if error is not None:
                raise error
            self._require_unchanged(question, seen)
            answer = self._make_answer(question, "reject", reason, question.binding)
            stop = make_rejection(answer.by, answer.reason or "")
            result = await self._close(call, stop, answer, seq=question.open.seq)
            if result is not None:
                return result
            seen = question.fingerprint
        raise InboxError(describe_outcome(call, await self._read_story(call)))

    async def answer(
        self,
        call: str,
        value: object,
        *,
        reason: str | None = None,
        seen: bytes | None = None,
        resume: bool = True,
        on_recorded: OnRecorded = lambda: None,
    ) -> InboxAnswer:
        """Answers a tool that waits. `seen`: as for `approve`. Raises AccessError or InboxError, and then nothing was
        recorded."""
        self._require_approve_scope()
        question = await self._find_question(call)
        if question.request.purpose != "input":
            raise InboxError(f"the tool of {call} asked for nothing; it is {question.open.state}")
        self._require_may_answer(question)
        self._require_unchanged(question, seen)
        given = self._encode_answer(value, question.answer_schema)
        payload = make_answer_payload(self._keys, call, given, self._mask_answer(given, question.answer_schema))
        binding = compute_binding(self._keys.secret, question.request, given)
        answer = self._make_answer(question, "approve", reason, binding)
        condition = CommitCondition(states=frozenset({question.open.state}), seq=question.open.seq)
        if (await self._store.commit(make_input_row(question, answer, payload), condition)).outcome != "written":
            raise InboxError(f"others are answering {call} at this very moment; look at it again")
        on_recorded()
        result = await self._resume(call) if resume else None
        return InboxAnswer(invocation_id=call, state=question.open.state, people_missing=0, result=result)

    async def delegate(self, call: str, to: str, *, reason: str | None = None, seen: bytes | None = None) -> Delegation:
        """Delegates a task: `to`, a person or `group:NAME`, may answer it from now on, beside everybody who could
        before.

        Only a person who may answer may delegate. Raises AccessError or InboxError, and then nothing was recorded.
        """
        self._require_approve_scope()
        question = await self._find_question(call)
        if question.request.purpose != "input":
            raise InboxError(
                f"{call} is no task that could be handed on: who may approve a call is for the policy to say"
            )
        self._require_may_answer(question)
        self._require_unchanged(question, seen)
        problem = why_unusable_name(to)
        if problem is not None:
            raise InboxError(f"{call} cannot be handed on: {problem}")
        reason, now = self._redact(reason, self._list_hidden_values(question)), self._read_time(question)
        delegation = make_delegation(self._identity, call, self._keys, to=to, reason=reason, now=now)
        condition = CommitCondition(states=frozenset({question.open.state}), seq=question.open.seq)
        row = make_delegation_row(delegation, question.tool, question.audit_level)
        if (await self._store.commit(row, condition)).outcome != "written":
            raise InboxError(describe_outcome(call, await self._read_story(call)))
        self._tell_delegated(add_delegates(question.request, (*question.delegations, delegation)), delegation)
        return delegation

    async def settle(self, call: str, *, happened: bool, note: str, seen: bytes | None = None) -> Result:
        """Records whether the tool acted in a call that a crash cut off. `seen`: as for `approve`. Raises AccessError
        or InboxError."""
        self._require_approve_scope()
        question = await self._find_question(call)
        error = why_no_settling(question, self._identity)
        if error is not None:
            raise error
        self._require_unchanged(question, seen)
        answer = self._make_answer(question, "approve" if happened else "reject", note, question.binding)
        stop = make_settlement(answer.by, answer.reason or "", happened=happened)
        result = await self._close(call, stop, answer, seq=question.open.seq)
        if result is None:
            raise InboxError(describe_outcome(call, await self._read_story(call)))
        return result

    async def _commit_approval(
        self, question: OpenQuestion, edited: bytes | None, reason: str | None, seen: bytes | None
    ) -> _SealedApproval:
        """Commits the approval. After a concurrent answer it retries once, and only for the very same input."""
        for _ in range(2):
            yes = await self._make_approval(question, edited, reason, seen)
            row = make_approval_row(question, yes.answer, is_enough=not yes.people_missing, payload=yes.payload)
            # The row number makes the commit fail when any other row came first.
            condition = CommitCondition(states=frozenset({"awaiting_approval"}), seq=question.open.seq)
            if (await self._store.commit(row, condition)).outcome == "written":
                return yes
            # The retry holds only for the input that was approved: an edit in between raises InboxError.
            seen = question.binding
            question = await self._find_question(question.open.call)
        raise InboxError(f"others are answering {question.open.call} at this very moment; look at it again")

    async def _make_approval(
        self, question: OpenQuestion, edited: bytes | None, reason: str | None, seen: bytes | None
    ) -> _SealedApproval:
        """Makes the approval this identity may give now. Raises AccessError or InboxError."""
        call, now = question.open.call, self._read_time(question)
        self._require_may_approve(question, now, has_edit=edited is not None)
        inputs = self._read_inputs(question)
        after = inputs if edited is None else await self._apply_edit(call, inputs, edited)
        has_edit = after.call != inputs.call
        # Again: an edit that changes nothing is none, and does not let a person approve twice.
        self._require_may_approve(question, now, has_edit=has_edit)
        self._require_unchanged(question, seen)
        if has_edit and (problem := await self._validate(call, after.call)) is not None:
            raise InboxError(f"the edited input of {call} does not fit: {problem}")
        binding = compute_binding(self._keys.secret, question.request, after.call)
        answer = self._make_answer(question, "approve", reason, binding)
        # The check that the pipeline makes before it runs the call: what could not count then is not recorded.
        verdict = check_approval(
            question.request, (*question.answers, answer), binding=binding, key=self._keys.secret, now=now
        )
        if isinstance(verdict, ApprovalUnsatisfied) and verdict.flaw != "too_few":
            raise InboxError(f"{call} cannot be approved: {verdict.message}")
        approvals = (answer,) if has_edit else (*question.approvals, answer)
        payload = make_edit_payload(self._keys, call, after) if has_edit else None
        return _SealedApproval(answer, payload, count_missing_people(question.request, approvals))

    def _read_inputs(self, question: OpenQuestion) -> WaitingInput:
        damage = question.find_damage(self._keys)
        if damage is not None:
            call = question.open.call
            raise InboxError(f"{call} cannot be approved: {damage}; 'ferrule audit verify' tells more")
        return question.open_inputs(self._keys)

    async def _apply_edit(self, call: str, before: WaitingInput, edited: bytes) -> WaitingInput:
        after = apply_edit(before, edited)
        if self._mask is None:
            return after
        shown = await self._mask(call, after.call)
        return msgspec.structs.replace(after, shown=shown, is_sealed=after.is_sealed or shown != after.call)

    def _make_answer(
        self, question: OpenQuestion, verdict: Literal["approve", "reject"], reason: str | None, binding: bytes
    ) -> Answer:
        return make_answer(
            self._identity,
            question,
            self._keys,
            verdict=verdict,
            binding=binding,
            reason=self._redact(reason, self._list_hidden_values(question)),
            now=self._read_time(question),
        )

    def _list_hidden_values(self, question: OpenQuestion) -> frozenset[str]:
        """Lists the sensitive values of a call's input, which no reason may repeat."""
        try:
            return list_hidden_values(question.open_inputs(self._keys))
        except (ValueError, msgspec.MsgspecError):  # what cannot be opened is not known here
            return frozenset()

    def _pick_updates(self, question: OpenQuestion, places: Sequence[int]) -> list[dict[str, object]]:
        """Picks the suggested rules at these indexes. Only the policy's owner accepts them (AT-136)."""
        if not places:
            return []
        if (problem := self.why_no_rules()) is not None:
            raise AccessError(problem)
        offered = question.request.suggested_updates
        for place in places:
            if not 0 <= place < len(offered):
                raise InboxError(f"{question.open.call} suggests {len(offered)} rules; there is no number {place}")
        return [offered[place] for place in dict.fromkeys(places)]

    def why_no_rules(self) -> str | None:
        """Returns why this identity cannot accept a suggested rule; None when it can."""
        if ADMIN not in self._identity.scopes or self._accept is None:
            return f"{self._identity.principal} may not change rules: that takes the admin scope"
        if self._identity.tenant is not None:
            return f"{self._identity.principal} may not change rules: they hold for other tenants too"
        return None

    async def _accept_updates(
        self, updates: list[dict[str, object]]
    ) -> tuple[tuple[dict[str, object], ...], tuple[str, ...]]:
        accepted: list[dict[str, object]] = []
        problems: list[str] = []
        for update in updates:
            try:
                assert self._accept is not None  # `_pick_updates` refuses updates where nothing accepts them
                # The approval is committed already; a rule that cannot be accepted is reported, not raised.
                await self._accept(update)
                accepted.append(update)
            except FerruleError as error:
                problems.append(str(error))
        return tuple(accepted), tuple(problems)

    async def _find_question(self, call: str) -> OpenQuestion:
        opened = await self._store.find_open(call)
        question = await self._read_question(opened) if opened is not None and opened.state in WAITING_STATES else None
        if question is None or not self._may_see(question):
            # Without these scopes a call that has ended looks like one that never was.
            story = await self._read_story(call) if {APPROVE, ADMIN} & self._identity.scopes else None
            is_known = story is not None and self._may_see_tenant(story.header.tenant)
            raise InboxError(describe_outcome(call, story if is_known else None))
        return question

    async def _read_story(self, call: str) -> Story | None:
        rows = await self._store.rows_of(call)
        return Story(rows) if rows else None

    async def _read_question(self, opened: OpenCall) -> OpenQuestion | None:
        """Reads the question of a call; None without one. Unreadable rows of one call must not hide all others."""
        try:
            story = await self._read_story(opened.call)
            question = None if story is None else read_question(opened, story)
            if question is None or question.request.purpose != "input":
                return question
            news = await self._store.news_of(opened.call)
            return msgspec.structs.replace(question, delegations=read_delegations(news, question.request, self._keys))
        except LedgerDamaged as error:
            _log.warning("%s is not in the inbox: %s", opened.call, error)
            return None

    def _may_see(self, question: OpenQuestion) -> bool:
        is_own = question.request.channel == self._identity.channel
        is_let = is_own or bool({APPROVE, ADMIN} & self._identity.scopes)
        return is_let and self._may_see_tenant(question.request.tenant)

    def _may_see_tenant(self, tenant: str) -> bool:
        """Returns True when the identity may see calls of a tenant: its own, or all without one."""
        return self._identity.tenant in (None, tenant)

    def _make_item(self, question: OpenQuestion) -> InboxItem:
        says = self._describe(question.request.tool_id) or question.request.tool_title
        now = self._read_time(question)
        will_not_run = self._why_not_resuming(question.request, now)
        return make_item(question, self._keys, self._identity, now=now, says=says, will_not_run=will_not_run)

    def _why_not_resuming(self, request: ApprovalRequest, now: int) -> str | None:
        """Returns why a call will not go on whatever is answered; None when nothing is known against it."""
        if request.purpose == "outcome":  # it has run
            return None
        try:
            return self._why_ended(request.channel, now)
        except AccessError as error:
            return f"whether the key it came with is still valid is unknown: {error}"

    def _read_time(self, question: OpenQuestion) -> int:
        """Returns the clock's time, or the ledger's latest where the clock was set back."""
        return max(self._clock(), self._store.high_water(), question.request.requested_at)

    def _require_approve_scope(self) -> None:
        error = why_no_scope(self._identity)
        if error is not None:
            raise error

    def _encode_answer(self, value: object, schema: JsonObject) -> bytes:
        """Encodes an answer as JSON, if it fits the tool's schema. Raises InboxError."""
        try:
            given = msgspec.json.encode(value)
        except (TypeError, ValueError, RecursionError, OverflowError):
            raise UnfitAnswer("an answer has to be JSON") from None
        if schema:
            validator = compile_schema(msgspec.json.encode(schema))
            wrong = first_error(validator, msgspec.json.decode(given))
            if wrong is not None:
                problem = wrong.message
                # The validator's message may quote the answer.
                if self._mask_answer(given, schema) != given:
                    problem = "it does not fit the schema; the answer is sensitive, so its details are hidden"
                raise UnfitAnswer(f"this is not what the tool asked for: {problem}")
        return given

    def _require_may_approve(self, question: OpenQuestion, now: int, *, has_edit: bool) -> None:
        error = why_no_approval(question, self._identity, now, has_edit=has_edit)
        if error is not None:
            raise type(error)(f"{self._identity.principal} cannot approve {question.open.call}: {error}")

    def _require_may_answer(self, question: OpenQuestion) -> None:
        """Raises AccessError or InboxError when this identity may not answer a tool's question, or nobody may any
        more."""
        call = question.open.call
        error = why_no_answer(question, self._identity, self._read_time(question))
        if error is not None:
            raise error
        if question.answers:
            raise InboxError(f"{call} was answered by {question.answers[-1].by} already")
        damage = question.find_damage(self._keys)
        if damage is not None:
            raise InboxError(f"{call} cannot be answered: {damage}; 'ferrule audit verify' tells more")

    def _require_unchanged(self, question: OpenQuestion, seen: bytes | None) -> None:
        """Raises InboxError when the question changed since it was looked at."""
        if seen is not None and not hmac.compare_digest(seen, question.fingerprint):
            what = "the input of" if question.binding else "what is asked by"
            raise InboxError(f"{what} {question.open.call} was changed since you looked at it; look again")
