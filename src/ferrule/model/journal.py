"""The ledger's rows: what is appended, what one row means, and the compact form of everything a call went through.

A row says what happened since the call's last row. A read-only call is one row; an action is two (before it ran,
after); a call that waited for a person has more. Events, records and explanations are derived from rows when somebody
reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, TypeVar, get_args

import msgspec

from ferrule.errors import LedgerDamaged
from ferrule.model.approval import Answer, ApprovalRequest
from ferrule.model.decision import Decision, Ruling
from ferrule.model.failure import ToolError
from ferrule.model.lifecycle import PHASES, STATES, Phase, State
from ferrule.model.surface import SurfaceRequest
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject

T = TypeVar("T")
Kind = Literal[
    "call",  # a whole call, terminal
    "parked",  # a call waits for a person
    "answered",  # a person answered
    "started",  # an action is about to run, or a call that takes long runs or waits for its turn
    "ended",  # a call that had rows before reached its end
    "unknown",  # a crash left the outcome unknown; a person has to say
    "catalog",  # another catalog was adopted
    "surface",  # a surface was made or changed, tools were found or loaded
    "policy",  # another policy came into force; its text is the payload
    "switch",  # a tool was disabled or enabled
    "erased",  # personal payloads were destroyed
    "pruned",  # old rows were removed; what was removed is anchored here
    "opened",  # the ledger was created, migrated or restored
    "news",  # of a call, without moving it: progress, a cancel request, a result that came too late
]
KINDS: tuple[Kind, ...] = get_args(Kind)
CALL_KINDS: frozenset[Kind] = frozenset({"call", "parked", "answered", "started", "ended", "unknown"})
LAST_KINDS: frozenset[Kind] = frozenset({"call", "ended"})
WAITING_STATES = ("awaiting_approval", "needs_input")
"""Of calls that a person has to answer."""

News = Literal[
    "progress", "cancel_requested", "cancel_acknowledged", "cancel_failed", "late_result", "delegated", "reminded",
    "input_given",
]  # fmt: skip
"""The subject of a `news` row; its `outcome`."""


# Rows hold these structs by position (`array_like`): a new field goes to the end and has a default.
class Header(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The facts shared by all calls of one tool through one surface; encoded once and copied into each row."""

    tool_id: str
    """`unknown:` and the requested name when there is no such tool (AT-91)."""
    tool_name: str
    tool_version: str | None
    tool_digest: str
    namespace: str
    surface_id: str
    catalog_digest: str
    policy_digest: str
    principal: str
    agent: str | None
    channel: str
    tenant: str
    run_id: str
    dialect: str = ""
    is_read_only: bool = False
    facts: tuple[Any, ...] = ()
    """The tool's first four safety facts, in the order of `FACT_NAMES`."""
    ruling: Ruling | None = None
    """The allow that holds for every call of the tool, whatever its arguments; a row then carries no decision of its own."""
    external_mappings: tuple[dict[str, Any], ...] = ()
    """What the tool is called where it really lives."""
    lifecycle: str = ""
    """The tool's, where it is not `available`: a call of a deprecated tool is flagged by it (AT-16)."""
    audit_level: str = ""
    """How much of the call may leave the ledger, where the agent's file limits it (AML-107)."""
    scheduling: tuple[Any, ...] = ()
    """The other facts that the scheduler goes by, where they are not the usual ones: whether the tool needs its context for
    itself, its policy for context modifiers, and its locks with True for shared ones (AT-159)."""


class Mutation(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One change of a call's input (AT-150)."""

    source_type: Literal["hook", "permission_prompt", "adapter", "migration", "runtime"]
    source_ref: str
    changed_fields: tuple[str, ...]
    at: int
    """Nanoseconds since the call was planned."""
    reason: str = ""
    from_input: str = "model_input"
    to_input: str = "call_input"


class HookRun(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One run of a hook: its name, event, times (nanoseconds since planned) and outputs."""

    hook_id: str
    hook_event: str
    started: int
    ended: int
    outputs: tuple[dict[str, Any], ...] = ()
    """In order, each under its kind: `message`, `progress`, `updated_input`, `permission_result`, `additional_context`,
    `stop`, `updated_output`, `outcome`; or `failed`, with what went wrong."""
    matcher: dict[str, Any] = {}
    """Which calls it wanted to see."""

    def to_record(self, invocation_id: str, tool_id: str, created_at: int) -> JsonObject:
        """Returns the standard's `tool_hook` record (AT-144, AT-148)."""
        record: dict[str, Any] = {
            "schema_version": "0.2.0",
            "hook_id": self.hook_id,
            "hook_event": self.hook_event,
            "invocation_id": invocation_id,
            "tool_id": tool_id,
            "matcher": self.matcher,
            "outputs": list(self.outputs),
            "started_at": iso(created_at + self.started // 1000),
            "ended_at": iso(created_at + self.ended // 1000),
        }
        for kind in ("permission_result", "stop"):
            record.update((kind, output[kind]) for output in self.outputs if kind in output)
        if context := [output["additional_context"] for output in self.outputs if "additional_context" in output]:
            record["additional_context"] = context
        return record


class Segment(msgspec.Struct, gc=False, array_like=True):
    """The progress of a call since its last row. Times are nanoseconds since it was planned."""

    header: msgspec.Raw
    """A `Header`, encoded."""
    created_at: int
    """When the call was planned: microseconds since 1970."""
    phases: list[int]
    """`end << 4 | phase`, in the order they ran."""
    states: list[int]
    """`entered << 5 | state`, in order."""
    decisions: tuple[Decision, ...] = ()
    mutations: tuple[Mutation, ...] = ()
    hooks: tuple[HookRun, ...] = ()
    status: str = ""
    """The result's status; empty while there is none."""
    error: ToolError | None = None
    request: ApprovalRequest | None = None
    answer: Answer | None = None
    """Without `edited_input`, which is personal and stands in the payload."""
    context: SurfaceRequest | None = None
    """In `parked` rows: how to make the caller's surface again."""
    notes: dict[str, Any] = {}
    """Rare facts: `native_call_id`, `retry_of`, `reason`, `instance`, `offsets` of a resumed call."""


class Payload(msgspec.Struct, gc=False, array_like=True):
    """The personal part of a row: inputs and result. It can be destroyed without breaking the chain.

    Inputs are JSON; None means "as the one before". Sensitive members are masked; a parked call keeps them sealed.
    """

    model_input: bytes | None = None
    observable_input: bytes | None = None
    permission_input: bytes | None = None
    call_input: bytes | None = None
    result: bytes | None = None
    """The result's content: msgpack of a `ResultPayload`."""
    sealed_input: bytes | None = None
    """The unmasked call input, encrypted with a key kept outside the ledger; only where something is masked."""
    text: bytes | None = None
    """Of other rows: a policy's text, an edited input."""


class Mark(msgspec.Struct, gc=False, array_like=True):
    """The changes a row makes to the ledger's tables: the open calls, the idempotency keys, the counters, the switches."""

    state: str = ""
    """The call's state while it is open; empty when the row closes the call."""
    owner: str = ""
    """The process that runs it."""
    expires_at: int | None = None
    tool_id: str = ""
    principal: str = ""
    agent: str | None = None
    tenant: str = ""
    key: bytes = b""
    """The idempotency key, hashed with tenant, principal and tool; set on the call's first row."""
    input_digest: bytes = b""
    counted_run: str = ""
    """The shared run this row counts one call of `tool_id` in."""
    switch: str = ""
    """`off` or `on`, in `switch` rows: of `tool_id`."""


class Entry(msgspec.Struct, gc=False):
    """One row to be written to the ledger. The writer encodes it, so that the caller does not have to."""

    kind: Kind
    call: str
    """The invocation id; empty for rows that belong to no call."""
    at: int
    """Microseconds since 1970; never earlier than the row before."""
    tool: str
    outcome: str
    """The call's state after this row, or a word for other rows."""
    body: Segment | NewsBody | dict[str, Any]
    payload: Payload | None = None
    mark: Mark | None = None


class StoredEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One row as it was read."""

    seq: int
    kind: Kind
    call: str
    at: int
    tool: str
    outcome: str
    body: bytes
    payload: bytes | None
    """None when there was none, or it was erased."""
    is_erased: bool
    mark: bytes
    hash: bytes

    def segment(self) -> Segment:
        """Decodes the body of a row that belongs to a call, with the decision its header implies. Raises LedgerDamaged."""
        return self._read(self._segment, self.body)

    def header(self) -> Header:
        """Decodes the header of a row that belongs to a call, without reading the rest of it. Raises LedgerDamaged."""
        return self._read(_header_in, self.body)

    def facts(self) -> JsonObject:
        """Decodes the body of a row that belongs to no call. Raises LedgerDamaged."""
        return self._read(_decode_facts, self.body)

    def news(self) -> NewsBody:
        """Decodes the body of a `news` row. Raises LedgerDamaged."""
        return self._read(_decode_news, self.body)

    def inputs(self) -> Payload | None:
        """Decodes the payload. Raises LedgerDamaged."""
        return None if self.payload is None else self._read(_decode_payload, self.payload)

    def _segment(self, body: bytes) -> Segment:
        segment = _decode_segment(body)
        if self.kind == "call":
            # Only rows of complete calls leave idle phases out; others stop at the phase that parked the call.
            segment.phases = _with_idle(segment.phases)
        if segment.hooks:
            segment.phases = _with_hooks(segment)
        if not segment.decisions:
            _imply_decision(segment)
        return segment

    def _read(self, decode: Callable[[bytes], T], part: bytes) -> T:
        try:
            return decode(part)
        except msgspec.MsgspecError:
            raise LedgerDamaged(
                f"row {self.seq} of the ledger is damaged or was changed: it cannot be read; run 'ferrule audit verify'"
            ) from None


class NewsBody(msgspec.Struct, gc=False, array_like=True):
    """The body of a `news` row. It may come after the call's last row: a cancel request that came too late is news too."""

    happened: list[dict[str, Any]]
    """In order; each `at` (microseconds since 1970), `event` (its class) and `data`."""
    sequence: int = 0
    """Of progress: the number of the last record in it."""
    audit_level: str = ""
    """As in the headers of the call's own rows."""


class _Lead(msgspec.Struct, gc=False, array_like=True):
    """The beginning of a segment."""

    header: msgspec.Raw


_decode_segment = msgspec.msgpack.Decoder(Segment).decode
_decode_facts = msgspec.msgpack.Decoder(dict[str, Any]).decode
_decode_payload = msgspec.msgpack.Decoder(Payload).decode
_decode_news = msgspec.msgpack.Decoder(NewsBody).decode
_decode_header = msgspec.msgpack.Decoder(Header).decode
_PRE_HOOKS, _PERMISSION, _EXECUTE = (PHASES.index(name) for name in ("pre_hooks", "permission", "execute"))
_decode_lead = msgspec.msgpack.Decoder(_Lead).decode
_HEADERS_KEPT = 1024
encode = msgspec.msgpack.Encoder().encode
"""Encodes bodies, payloads and marks."""


@lru_cache(_HEADERS_KEPT)
def _known_header(written: bytes) -> Header:
    """Decodes a header once: all calls of one tool through one surface share it."""
    return _decode_header(written)


def _header_in(body: bytes) -> Header:
    return _known_header(bytes(_decode_lead(body).header))


def header_of(segment: Segment) -> Header:
    """Decodes the header of a segment that was read."""
    return _decode_header(segment.header)


def audit_level_of(row: StoredEntry) -> str:
    """Returns how much of a row may leave the ledger; empty when not limited. Raises LedgerDamaged."""
    if row.kind == "news":
        return row.news().audit_level
    return header_of(row.segment()).audit_level if row.kind in CALL_KINDS else ""


def _with_idle(phases: list[int]) -> list[int]:
    """Adds the phases that were skipped because they had nothing to do: they end with the one before."""
    numbers = [code & 15 for code in phases]
    if _EXECUTE not in numbers:
        return phases
    complete: list[int] = []
    for code in phases:
        before = complete[-1] if complete else -1
        complete += [before >> 4 << 4 | idle for idle in range((before & 15) + 1 if complete else 0, code & 15)]
        complete.append(code)
    return complete


def _with_hooks(segment: Segment) -> list[int]:
    """Moves the ends of phases so that none ends before its hooks: a hook that answers at once is not timed a second
    time. So no decision seems to come before a hook that was asked first."""
    ends = {_PRE_HOOKS: 0, _PERMISSION: 0}
    for run in segment.hooks:
        phase = _PRE_HOOKS if run.hook_event == "pre_tool_use" else _PERMISSION
        if phase == _PRE_HOOKS or run.hook_event.startswith("permission_"):
            ends[phase] = max(ends[phase], run.ended)
    latest, phases = 0, []
    for code in segment.phases:
        number = code & 15
        latest = max(latest, ends.get(number, 0))
        phases.append(max(code >> 4, latest) << 4 | number if number <= _PERMISSION else code)
    return phases


def _imply_decision(segment: Segment) -> None:
    ruling = header_of(segment).ruling
    ends = [code >> 4 for code in segment.phases if code & 15 == _PERMISSION]
    if ruling is not None and ends:
        segment.decisions = (Decision(ruling, segment.created_at + ends[0] // 1000),)


def phase_times(segment: Segment) -> list[tuple[Phase, int]]:
    """Returns the phases of a segment in order, each with its end (nanoseconds since planned)."""
    return [(PHASES[code & 15], code >> 4) for code in segment.phases]


def state_times(segment: Segment) -> list[tuple[State, int]]:
    """Returns the states of a segment in order, each with the time it was entered (nanoseconds since planned)."""
    return [(STATES[code & 31], code >> 5) for code in segment.states]


class ResultPayload(msgspec.Struct, gc=False, array_like=True):
    """The content of a result beyond its status and error."""

    content: tuple[dict[str, Any], ...] = ()
    structured_content: Any = None
    model_facing_content: tuple[dict[str, Any], ...] | None = None
    rest: dict[str, Any] = {}
    """Other fields of `Result` that are not at their defaults."""


class OpenCall(msgspec.Struct, frozen=True):
    """A call that has not ended."""

    call: str
    state: str
    owner: str
    tool_id: str
    principal: str
    agent: str | None
    tenant: str
    expires_at: int | None
    seq: int
    """Its last row."""


class Switch(msgspec.Struct, frozen=True):
    """A tool that was turned off."""

    tool_id: str
    seq: int
