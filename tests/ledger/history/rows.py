"""Writes ledger rows as the pipeline does, without one: a `Ledger` of rows in memory, a `Writer` for one call's rows.

`SCENARIOS` holds one function per way a call can end; each adds the rows of one call and gives its id.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from ferrule.ledger import chain
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.decision import Behavior, Decision, Requirement, Ruling
from ferrule.model.failure import ErrorClass, Stop, ToolError, tool_error
from ferrule.model.journal import (
    Entry,
    Header,
    HookRun,
    Kind,
    Mark,
    Mutation,
    News,
    NewsBody,
    Payload,
    ResultPayload,
    Segment,
    StoredEntry,
    encode,
)
from ferrule.model.lifecycle import PHASES, STATES, TERMINAL, Phase, State, check_transition

NOON = 1_767_268_800_000_000
"""2026-01-01T12:00:00Z."""
SECRET = "hunter2-never-to-be-seen"
MASK = "[REDACTED]"


class Ledger:
    """Rows in memory, chained like real ones."""

    def __init__(self, first: int = 1) -> None:
        self.rows: list[StoredEntry] = []
        self.entries: list[Entry] = []
        """The same rows as a store takes them."""
        self._next = first

    def add(self, entry: Entry) -> StoredEntry:
        """Write one row."""
        self.entries.append(entry)
        body, mark = encode(entry.body), b"" if entry.mark is None else encode(entry.mark)
        payload = None if entry.payload is None else encode(entry.payload)
        before = self.rows[-1].hash if self.rows else chain.START
        commitment = chain.NO_PAYLOAD if payload is None else chain.compute_commitment(bytes(16) + payload)
        number = chain.to_kind_number(entry.kind)
        digest = chain.compute_row_hash(
            before, self._next, number, entry.call, entry.at, entry.tool, entry.outcome, body, commitment, mark
        )
        row = StoredEntry(
            seq=self._next,
            kind=entry.kind,
            call=entry.call,
            at=entry.at,
            tool=entry.tool,
            outcome=entry.outcome,
            body=body,
            payload=payload,
            is_erased=False,
            mark=mark,
            hash=digest,
        )
        self.rows.append(row)
        self._next += 1
        return row

    def fact(self, kind: Kind, outcome: str = "", at: int = NOON, **facts: Any) -> StoredEntry:
        """Write a row that belongs to no call."""
        return self.add(Entry(kind=kind, call="", at=at, tool=facts.get("tool_id", ""), outcome=outcome, body=facts))

    def news(
        self, call: str, outcome: News, *data: dict[str, Any], at: int = NOON, payload: Payload | None = None,
        tool: str = "orders.refund-order",
    ) -> StoredEntry:  # fmt: skip
        """Write a row of news about a call: one thing for each of `data`, a second apart."""
        events = [
            {"at": at + number * 1_000_000, "event": f"tool.invocation.{outcome}", "data": one}
            for number, one in enumerate(data)
        ]
        last = next((one["sequence"] for one in reversed(data) if "sequence" in one), 0)
        return self.add(Entry("news", call, at, tool, outcome, NewsBody(events, last), payload))

    def of(self, call: str) -> list[StoredEntry]:
        """A call's rows."""
        return [row for row in self.rows if row.call == call]


class Writer:
    """Writes the rows of one call, one step after the other; each step takes `tick` nanoseconds."""

    def __init__(
        self,
        ledger: Ledger,
        call: str,
        *,
        tool: str = "orders.refund-order",
        principal: str = "alice",
        agent: str | None = "support-agent",
        read_only: bool = False,
        version: str = "1.2.0",
        tick: int = 1_000,
        created_at: int = NOON,
    ) -> None:
        self.ledger, self.call, self.tool, self.tick, self.created_at = ledger, call, tool, tick, created_at
        self.principal, self.agent = principal, agent
        self.header = Header(
            tool_id=tool,
            tool_name=tool.rpartition(".")[2],
            tool_version=version,
            tool_digest="sha256:" + "a1" * 32,
            namespace=tool.rpartition(".")[0],
            surface_id="srf_1",
            catalog_digest="sha256:" + "c0" * 32,
            policy_digest="sha256:" + "d0" * 32,
            principal=principal,
            agent=agent,
            channel="token:agents",
            tenant="default",
            run_id="run_1",
            dialect="aml",
            is_read_only=read_only,
        )
        self.now = 0
        self.state: State | None = None
        self.decided = 0
        self.has_run = False
        self._begin()

    def _begin(self) -> None:
        self.phases: list[int] = []
        self.states: list[int] = []
        self.decisions: list[Decision] = []
        self.mutations: list[Mutation] = []
        self.hooks: list[HookRun] = []
        self.first_decision = self.decided

    def enter(self, *states: State) -> Writer:
        """Go on to states, each a tick later. Illegal moves raise."""
        for state in states:
            check_transition(self.state, state)
            self.has_run |= state == "running"
            self.states.append(self.now << 5 | STATES.index(state))
            self.state = state
            self.now += self.tick
        return self

    def through(self, last: Phase, first: Phase = "resolve_tool") -> Writer:
        """Run the phases from `first` to `last`."""
        for number in range(PHASES.index(first), PHASES.index(last) + 1):
            self.now += self.tick
            self.phases.append(self.now << 4 | number)
        return self

    def decide(self, behavior: Behavior, *, by: str | None = None, edited: bool = False, **ruling: Any) -> Writer:
        """Record a decision."""
        words: dict[str, Any] = {
            "message": f"rule 'refunds' says {behavior}",
            "source": "policy_settings",
            "rule_refs": ("refunds",),
            "policy_refs": ("workspace@d0d0",),
        }
        found = Ruling(behavior, **(words | ruling))
        self.decisions.append(Decision(found, self.micros(), by=by, user_modified=edited))
        self.decided += 1
        self.now += self.tick
        return self

    def mutate(self, source: Any, *fields: str, ref: str = "lenient_decoding", reason: str = "") -> Writer:
        """Change the input."""
        self.mutations.append(Mutation(source, ref, fields, self.now, reason))
        self.now += self.tick
        return self

    def hook(self, event: str, hook_id: str = "audit-hook", *outputs: dict[str, Any]) -> Writer:
        """Run a hook."""
        self.hooks.append(HookRun(hook_id, event, self.now, self.now + self.tick, outputs))
        self.now += 2 * self.tick
        return self

    def wait(self, seconds: float) -> Writer:
        """Let time pass."""
        self.now += int(seconds * 1e9)
        return self

    def micros(self) -> int:
        """Now, as microseconds since 1970."""
        return self.created_at + self.now // 1000

    def row(self, kind: Kind, *, inputs: Any = None, **fields: Any) -> StoredEntry:
        """Write down what happened since the last row. `inputs`: a Payload, or the arguments."""
        notes = dict(fields.pop("notes", {}))
        if self.first_decision:
            notes["offsets"] = {"decisions": self.first_decision}
        segment = Segment(
            header=msgspec.Raw(encode(self.header)),
            created_at=self.created_at,
            phases=self.phases,
            states=self.states,
            decisions=tuple(self.decisions),
            mutations=tuple(self.mutations),
            hooks=tuple(self.hooks),
            notes=notes,
            **fields,
        )
        payload = inputs if inputs is None or isinstance(inputs, Payload) else Payload(model_input=as_json(inputs))
        state = self.state or "planned"
        mark = Mark() if state in TERMINAL else Mark(state=state, tool_id=self.tool, principal=self.principal)
        entry = Entry(
            kind=kind,
            call=self.call,
            at=self.micros(),
            tool=self.tool,
            outcome=state,
            body=segment,
            payload=payload,
            mark=mark,
        )
        self._begin()
        return self.ledger.add(entry)

    def error(self, kind: ErrorClass, message: str = "it did not work", **stop: Any) -> ToolError:
        """The error of a stopped call."""
        return tool_error(
            Stop(kind, message, **stop), has_run=self.has_run, is_repeatable=self.header.is_read_only
        )  # fmt: skip

    def request(self, purpose: Any = "approval", **requirement: Any) -> ApprovalRequest:
        """The question to a person."""
        return ApprovalRequest(
            invocation_id=self.call,
            tool_id=self.tool,
            tool_version=self.header.tool_version,
            tool_digest=self.header.tool_digest,
            tool_title="Refund an order",
            principal=self.principal,
            agent=self.agent,
            channel="token:agents",
            tenant="default",
            requested_at=self.micros(),
            expires_at=self.micros() + 86_400_000_000,
            binding=b"b" * 32,
            requirement=Requirement(**({"approvers": ("group:finance",)} | requirement)),
            message="refunds above 100 need a person",
            risk="high",
            rule_refs=("refunds",),
            purpose=purpose,
        )

    def answer(self, verdict: Any, by: str = "bob", reason: str | None = None) -> Answer:
        """A person's answer."""
        return Answer(
            invocation_id=self.call,
            verdict=verdict,
            by=by,
            channel="token:owner",
            answered_at=self.micros(),
            binding=b"b" * 32,
            reason=reason,
        )


def as_json(value: Any) -> bytes:
    """Compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


def encode_result(value: Any) -> bytes:
    """A result's content as a payload has it."""
    return encode(ResultPayload(content=({"type": "text", "text": json.dumps(value)},), structured_content=value))


ARGUMENTS = {"order": "o-17", "amount": 120, "card": MASK}


def success(ledger: Ledger, call: str = "inv_success", tick: int = 1_000) -> str:
    """A read-only call: one row."""
    writer = Writer(ledger, call, tool="kb.search", read_only=True, tick=tick)
    writer.enter("planned", "selected", "arguments_ready").through("permission").decide("allow")
    writer.enter("running").through("emit_terminal", "schedule").enter("succeeded")
    payload = Payload(model_input=as_json({"query": "rotate keys"}), result=encode_result({"hits": 3}))
    writer.row("call", inputs=payload, status="succeeded", notes={"native_call_id": "toolu_1"})
    return call


def action(ledger: Ledger, call: str = "inv_action") -> str:
    """An action: a row before it ran, and one after."""
    writer = Writer(ledger, call).enter("planned", "selected").mutate("runtime", "amount").enter("arguments_ready")
    writer.through("permission").decide("allow").enter("queued", "running").row("started", inputs=ARGUMENTS)
    writer.through("emit_terminal", "execute").enter("succeeded")
    writer.row("ended", inputs=Payload(result=encode_result({"refund": "r-1"})), status="succeeded")
    return call


def hooked(ledger: Ledger, call: str = "inv_hooked") -> str:
    """A call with hooks on both sides; the first one changes the input."""
    writer = Writer(ledger, call).enter("planned", "selected", "arguments_ready").enter("pre_hooks_running")
    writer.through("pre_hooks").hook("pre_tool_use", "cents", {"type": "updated_input"})
    writer.mutate("hook", "amount", ref="cents", reason="cents to euros").decide("allow")
    writer.enter("approved", "running").through("map_result", "permission").enter("post_hooks_running")
    writer.hook("post_tool_use", "notify").through("emit_terminal", "post_hooks").enter("succeeded")
    payload = Payload(model_input=as_json(ARGUMENTS), call_input=as_json({**ARGUMENTS, "amount": 1.2}))
    writer.row("call", inputs=payload, status="succeeded")
    return call


def unknown_tool(ledger: Ledger, call: str = "inv_unknown_tool") -> str:
    """No tool of that name."""
    writer = Writer(ledger, call, tool="unknown:refund-oder").enter("planned").through("resolve_tool")
    return _ended(writer, "failed", "failed", "unknown_tool", code="tool_not_found")


def schema_failure(ledger: Ledger, call: str = "inv_schema_failure") -> str:
    """Arguments that do not fit the schema."""
    writer = Writer(ledger, call).enter("planned", "selected").through("parse_schema")
    return _ended(writer, "schema_parse_failed", "failed", "schema_validation_failed")


def validation_failure(ledger: Ledger, call: str = "inv_validation_failure") -> str:
    """Arguments that fit the schema and make no sense."""
    writer = Writer(ledger, call).enter("planned", "selected", "arguments_ready").through("validate_values")
    return _ended(writer, "validation_failed", "failed", "invalid_arguments")


def setup_missing(ledger: Ledger, call: str = "inv_setup_missing") -> str:
    """Blocked by a check: a `validation_failed` event although the state is `blocked`."""
    writer = Writer(ledger, call).enter("planned", "selected", "arguments_ready").through("validate_values")
    return _ended(writer, "blocked", "failed", "credential_missing")


def denied(ledger: Ledger, call: str = "inv_denied") -> str:
    """A rule says no."""
    writer = Writer(ledger, call).enter("planned", "selected", "arguments_ready").through("permission").decide("deny")
    return _ended(writer, "denied", "denied", "permission_denied", policy_refs=("workspace@d0d0",))


def blocked(ledger: Ledger, call: str = "inv_blocked") -> str:
    """A disabled tool."""
    writer = Writer(ledger, call).enter("planned").through("resolve_tool")
    return _ended(writer, "blocked", "denied", "policy_blocked", code="blocked_tool")


def parked(ledger: Ledger, call: str = "inv_parked") -> Writer:
    """Asked, and waiting; gives the writer, so that the story can go on."""
    writer = Writer(ledger, call).enter("planned", "selected", "arguments_ready").through("permission").decide("ask")
    request = writer.request()
    writer.enter("awaiting_approval").row("parked", inputs=ARGUMENTS, request=request)
    return writer


def approved_edited(ledger: Ledger, call: str = "inv_approved_edited") -> str:
    """Asked, edited and approved by Bob ten minutes later, then run."""
    writer = parked(ledger, call).wait(600)
    edited = {**ARGUMENTS, "amount": 90}
    answer = writer.answer("approve", reason="90 is enough")
    writer.enter("approved").row("answered", inputs=Payload(text=as_json(edited)), answer=answer)
    writer.through("resolve_tool").mutate("permission_prompt", "amount", ref="bob", reason="90 is enough")
    writer.through("permission", "permission").decide("allow", by="bob", edited=True, source=None)
    writer.through("schedule", "schedule").enter("running")
    writer.row("started", inputs=Payload(model_input=as_json(ARGUMENTS), call_input=as_json(edited)))
    writer.through("emit_terminal", "execute").enter("succeeded")
    writer.row("ended", inputs=Payload(result=encode_result({"refund": "r-2"})), status="succeeded")
    return call


def two_people(ledger: Ledger, call: str = "inv_two_people") -> str:
    """Approved by two people, one after the other."""
    writer = parked(ledger, call).wait(60)
    writer.row("answered", answer=writer.answer("approve"))
    answer = writer.wait(60).answer("approve", by="carol")
    writer.enter("approved").row("answered", answer=answer)
    writer.through("permission").decide("allow", by="carol").enter("running").row("started")
    writer.through("emit_terminal", "execute").enter("succeeded").row("ended", status="succeeded")
    return call


def rejected(ledger: Ledger, call: str = "inv_rejected") -> str:
    """Bob says no."""
    writer = parked(ledger, call).wait(60)
    answer = writer.answer("reject", reason="not this customer")
    writer.decide("deny", by="bob", source=None, reason_type="permission_prompt_tool").enter("denied")
    writer.row("ended", status="rejected", error=writer.error("approval_rejected"), answer=answer)
    return call


def expired(ledger: Ledger, call: str = "inv_expired") -> str:
    """Nobody answered."""
    writer = parked(ledger, call).wait(86_400)
    return _ended(writer, "timed_out", "timed_out", "timeout", kind="ended", code="approval_expired")


def disabled_while_parked(ledger: Ledger, call: str = "inv_disabled") -> str:
    """The tool was turned off while a person was being asked."""
    writer = parked(ledger, call).wait(5)
    return _ended(writer, "blocked", "denied", "policy_blocked", kind="ended")


def failed_action(ledger: Ledger, call: str = "inv_failed") -> str:
    """The tool was run and did not succeed."""
    return _ended(_running(ledger, call), "failed", "failed", "execution_failed", kind="ended")


def timed_out(ledger: Ledger, call: str = "inv_timed_out") -> str:
    """The tool took too long."""
    return _ended(_running(ledger, call).wait(30), "timed_out", "timed_out", "timeout", kind="ended")


def canceled(ledger: Ledger, call: str = "inv_canceled") -> str:
    """Somebody asked to stop, and it stopped."""
    writer = _running(ledger, call).wait(1)
    asked = {"at": writer.now - 500_000, "event": "tool.invocation.cancel_requested", "data": {"by": "alice"}}
    heard = {"at": writer.now - 400_000, "event": "tool.invocation.cancel_acknowledged"}
    notes = {"happened": [asked, heard], "abort_reason": "user_interruption"}
    return _ended(writer, "canceled", "canceled", "canceled", kind="ended", notes=notes)


def streaming(ledger: Ledger, call: str = "inv_streaming") -> str:
    """Progress, partial results, a question, a large and partly redacted result, yielded before the end."""
    writer = _running(ledger, call)
    progress = {"at": writer.now, "event": "tool.invocation.progress", "data": {"sequence": 1, "percent": 40}}
    writer.enter("partial_result", "running", "needs_input").row("parked", request=writer.request("input"))
    writer.enter("running").row("answered", answer=writer.answer("approve"))
    writer.through("emit_terminal", "map_result").enter("yielded", "succeeded")
    part = {**progress, "event": "tool.invocation.partial_result"}
    notes = {"happened": [progress, part], "redaction_state": "partial", "persistence_refs": ("per_1",)}
    writer.row("ended", status="succeeded", notes=notes)
    return call


def unknown_outcome(ledger: Ledger, call: str = "inv_unknown_outcome") -> str:
    """The process died while the tool ran; a person found out that it had worked."""
    writer = crashed(ledger, call).wait(3_600)
    answer = writer.answer("approve", reason="the refund is in the books")
    error = writer.error("partial_failure", "the tool acted, says bob", code="outcome_settled")
    writer.enter("succeeded").row("ended", status="partial_succeeded", error=error, answer=answer)
    return call


def crashed(ledger: Ledger, call: str = "inv_crashed") -> Writer:
    """The process died while the tool ran; nobody has looked yet."""
    writer = _running(ledger, call).wait(10)
    writer.row("unknown", request=writer.request("outcome"), notes={"reason": "its process is gone"})
    return writer


def _running(ledger: Ledger, call: str) -> Writer:
    writer = Writer(ledger, call).enter("planned", "selected", "arguments_ready").through("permission").decide("allow")
    writer.through("schedule", "schedule").enter("running").row("started", inputs=ARGUMENTS)
    return writer.through("execute", "execute")


def _ended(writer: Writer, state: State, status: str, kind_of_error: ErrorClass, **options: Any) -> str:
    kind: Kind = options.pop("kind", "call")
    notes = options.pop("notes", {})
    message = f"the call ended as {state}; the card was {MASK}"
    writer.through("emit_terminal", "persist_result").enter(state)
    inputs = ARGUMENTS if kind == "call" else None
    error = writer.error(kind_of_error, message, **options)
    writer.row(kind, status=status, error=error, inputs=inputs, notes=notes)
    return writer.call


SCENARIOS: dict[str, Callable[[Ledger], str]] = {
    scenario.__name__: scenario
    for scenario in (
        success, action, hooked, unknown_tool, schema_failure, validation_failure, setup_missing, denied, blocked,
        approved_edited, two_people, rejected, expired, disabled_while_parked, failed_action, timed_out, canceled,
        streaming, unknown_outcome,
    )
}  # fmt: skip
"""Every way a call can end."""
