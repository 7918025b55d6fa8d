"""The tables that follow from the ledger's marks: open calls, idempotency keys, run counters, switches.

Every store works them out with the same function, so a table that was tampered with does not fit its rows.
"""

from __future__ import annotations

from typing import NamedTuple

from ferrule.model.journal import Kind, Mark, OpenCall

ALL_TOOLS = "*"
"""In a run's limits: all tools together."""


class KeyRow(NamedTuple):
    """The call that has an idempotency key."""

    call: str
    input_digest: bytes
    seq: int


class Tables:
    """The state of a ledger after some of its rows; also a part of it, when only a few calls are of interest."""

    def __init__(self) -> None:
        self.open_calls: dict[str, OpenCall] = {}
        self.keys: dict[bytes, KeyRow] = {}
        self.runs: dict[str, dict[str, int]] = {}
        """Calls made, by run and tool id."""
        self.switches: dict[str, int] = {}
        """The tools that are off, each with the row that turned it off."""

    def count_calls(self, run: str, tool_id: str) -> int:
        """Counts the calls of a tool (`*`: of all tools) that a run has made."""
        counters = self.runs.get(run, {})
        return sum(counters.values()) if tool_id == ALL_TOOLS else counters.get(tool_id, 0)

    def apply_mark(self, kind: Kind, call: str, seq: int, mark: Mark) -> None:
        """Applies one row's mark. Rows without a mark change nothing."""
        if call:
            self._apply_call(call, seq, mark)
        if mark.key:
            self.keys[mark.key] = KeyRow(call, mark.input_digest, seq)
        if mark.counted_run:
            counters = self.runs.setdefault(mark.counted_run, {})
            counters[mark.tool_id] = counters.get(mark.tool_id, 0) + 1
        if kind == "switch":
            self._apply_switch(seq, mark)

    def _apply_call(self, call: str, seq: int, mark: Mark) -> None:
        if not mark.state:
            # A mark without a state ends the call.
            self.open_calls.pop(call, None)
            return
        who = (mark.owner, mark.tool_id, mark.principal, mark.agent, mark.tenant)
        self.open_calls[call] = OpenCall(call, mark.state, *who, mark.expires_at, seq)

    def _apply_switch(self, seq: int, mark: Mark) -> None:
        if mark.switch == "off":
            self.switches[mark.tool_id] = seq
        elif mark.switch == "on":
            self.switches.pop(mark.tool_id, None)
