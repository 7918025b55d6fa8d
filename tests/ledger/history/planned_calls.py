"""Calls of every shape, written as rows, with what is known of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from ferrule.model.journal import Entry
from tests.ledger.history.rows import NOON, Ledger, Writer

SECOND = 1_000_000
Shape = Literal["read", "action", "approved", "rejected", "lapsed", "asked", "replied", "denied", "canceled", "unfit"]


class PlannedCall(NamedTuple):
    """A call as a test wants it: what it does, how long it runs and how long somebody is waited for."""

    shape: Shape
    start: int
    """Seconds after noon."""
    run_ms: int
    wait_seconds: int
    principal: str
    tenant: str
    fails: bool


class ExpectedCounts(NamedTuple):
    """What is true of a call, by what was asked for."""

    made: PlannedCall
    ended_at: int
    ending: str
    latency: float
    answered: tuple[int, float] | None
    """When a person answered, and how long that took, in microseconds."""


def write_call(made: PlannedCall, call: str) -> tuple[list[Entry], ExpectedCounts]:
    """The rows of a call, and what is true of it."""
    ledger = Ledger()
    writer = Writer(ledger, call, tool="shop.thing", principal=made.principal, created_at=NOON + made.start * SECOND)
    writer.header = msgspec.structs.replace(writer.header, tenant=made.tenant)
    writer.enter("planned", "selected", "arguments_ready").through("permission")
    waited, answered, ending = 0, None, "succeeded"
    match made.shape:
        case "denied":
            writer.enter("denied").row("call", status="denied", error=writer.error("permission_denied"))
            ending = "denied"
        case "unfit":
            writer.enter("validation_failed").row("call", status="failed", error=writer.error("invalid_arguments"))
            ending = "failed"
        case "read":
            ending = _run(writer, made, "call")
        case "action":
            writer.enter("running").row("started")
            ending = _run(writer, made, "ended")
        case "canceled":
            writer.enter("running").row("started")
            writer.wait(made.run_ms / 1000).enter("canceled")
            writer.row("ended", status="canceled", error=writer.error("canceled"))
            ending = "canceled"
        case "approved" | "rejected" | "lapsed":
            request = writer.request()
            writer.enter("awaiting_approval").row("parked", request=request)
            began = writer.now - writer.tick
            writer.wait(made.wait_seconds)
            answer = writer.answer("approve" if made.shape == "approved" else "reject")
            took = float(answer.answered_at - request.requested_at)
            waited = writer.now - began
            if made.shape == "approved":
                writer.enter("approved").row("answered", answer=answer)
                answered = (ledger.rows[-1].at, took)
                writer.enter("running").row("started")
                ending = _run(writer, made, "ended")
            elif made.shape == "rejected":
                writer.enter("denied").row("ended", error=writer.error("approval_rejected"), answer=answer)
                answered, ending = (ledger.rows[-1].at, took), "denied"
            else:
                writer.enter("timed_out").row("ended", error=writer.error("timeout"))
                ending = "failed"
        case "asked" | "replied":
            is_reply = made.shape == "replied"
            request = writer.enter("running").request("input", is_reply_only=is_reply)
            writer.enter("needs_input").row("parked", request=request)
            began = writer.now - writer.tick
            answer = writer.wait(made.wait_seconds).answer("approve")
            writer.row("answered", answer=answer)
            if not is_reply:
                waited = writer.now - began
                answered = (ledger.rows[-1].at, float(answer.answered_at - request.requested_at))
            writer.enter("running")
            ending = _run(writer, made, "ended")
    latency = (writer.now - writer.tick - waited) / 1000
    return ledger.entries, ExpectedCounts(made, ledger.rows[-1].at, ending, latency, answered)


def _run(writer: Writer, made: PlannedCall, kind: Literal["call", "ended"]) -> str:
    if kind == "call":
        writer.enter("running")
    writer.wait(made.run_ms / 1000).through("emit_terminal", "execute")
    writer.enter("failed" if made.fails else "succeeded")
    writer.row(kind, error=writer.error("execution_failed") if made.fails else None)
    return "failed" if made.fails else "succeeded"
