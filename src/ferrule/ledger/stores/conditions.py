"""Conditions of a write, judged against the ledger's tables, and which open calls a process holds."""

from __future__ import annotations

from ferrule.contracts.store import Committed, Condition, Outcome
from ferrule.ledger.tables import ALL_TOOLS, Tables
from ferrule.model.journal import Entry, Mark, OpenCall

_NO_MARK = Mark()


def refusal(tables: Tables, entry: Entry, condition: Condition) -> Committed | None:
    """Why the row may not be written; None when it may. The state is judged first, then switch, key and limits."""
    call = tables.open_calls.get(entry.call)
    mark = entry.mark or _NO_MARK
    if not _fits(call, condition):
        return Committed("state_changed", state=call.state if call else "")
    if condition.is_on and mark.tool_id in tables.switches:
        return Committed("switched_off")
    taken = _key_refusal(tables, entry.call, mark) if condition.key_is_free else None
    return taken or _limit_refusal(tables, mark, condition.run_limits)


def _fits(call: OpenCall | None, condition: Condition) -> bool:
    if call is None:
        return not condition.states and condition.owner is None and condition.seq is None
    return (
        (condition.states is None or call.state in condition.states)
        and (condition.owner is None or call.owner == condition.owner)
        and (condition.seq is None or call.seq == condition.seq)
    )


def _key_refusal(tables: Tables, call: str, mark: Mark) -> Committed | None:
    holder = tables.keys.get(mark.key) if mark.key else None
    if holder is None or holder.call == call:
        return None
    outcome: Outcome = "key_taken" if holder.input_digest == mark.input_digest else "key_conflict"
    return Committed(outcome, holder=holder.call)


def _limit_refusal(tables: Tables, mark: Mark, limits: tuple[tuple[str, int], ...]) -> Committed | None:
    for tool_id, allowed in limits:
        counts = tool_id in (ALL_TOOLS, mark.tool_id)
        if counts and tables.used(mark.counted_run, tool_id) >= allowed:
            return Committed("limit_reached", limit=tool_id)
    return None


_WAITING = frozenset({"awaiting_approval", "approved", "needs_input"})


def is_running(call: OpenCall) -> bool:
    """True unless the call waits for a person or for whoever takes it up: then nobody has to be there."""
    return bool(call.owner) and call.state not in _WAITING
