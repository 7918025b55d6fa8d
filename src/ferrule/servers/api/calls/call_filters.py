"""Filters for recorded calls: which ones a caller searches for, and which of those it may see.

The ledger filters first by everything it can (`build_ledger_query`), so that few calls have to be read. A caller who
may not know of every tool learns nothing from gaps in the results: how a hidden call really ended decides nothing.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

from ferrule.app.views.past_calls import CallPage, Rows, list_calls, list_open_calls
from ferrule.contracts.store import CallsWanted, Store
from ferrule.ledger.history.summary import ENDED_STATES, OPEN_STATES, STANDINGS, Standing, find_ending, find_standing
from ferrule.model.lifecycle import STATES, TERMINAL
from ferrule.model.surface import Surface
from ferrule.runtime.redaction.sensitive_input import mask_all_json
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.outcomes import is_refused_and_hidden
from ferrule.servers.api.replies import Problem
from ferrule.servers.api.shapes import Time, describe, parse_moment
from ferrule.servers.auth.callers import Caller

Word = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Row = Annotated[int, msgspec.Meta(ge=1, le=10**15)]
_ID = re.compile("inv_[0-9a-f]{24}")
_LONGEST_INPUT = 100_000
"""Bytes of an input that are searched for words."""


class CallFilter(msgspec.Struct, kw_only=True):
    """Filters for calls, whatever their state."""

    tool: Annotated[Word | None, describe("Only calls of this tool: its id, or its name alone.")] = None
    principal: Annotated[Word | None, describe("Only calls on behalf of this one.")] = None
    tenant: Annotated[Word | None, describe("Only calls of this tenant.")] = None
    agent: Annotated[Word | None, describe("Only calls by this agent.")] = None
    run: Annotated[Word | None, describe("Only calls of this run.")] = None
    words: Annotated[
        Word | None, describe("Only calls with all these words in their id, tool, principal, agent or input.")
    ] = None
    since: Annotated[Time | None, describe("Only calls that came on record at this time (RFC 3339) or later.")] = None
    until: Annotated[Time | None, describe("Only calls that came on record before this time (RFC 3339).")] = None
    after: Annotated[Row | None, describe("Only calls that began after this row of the ledger.")] = None


class CallQuery(CallFilter, kw_only=True):
    """Filters for calls, with their state."""

    status: Annotated[
        Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(STATES)})] | None,
        describe("Only calls in this state."),
    ] = None
    standing: Annotated[
        Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(STANDINGS)})] | None,
        describe("Only calls that stand like this, in one of eight words for all states."),
    ] = None


class CallSearch:
    """One search within the calls that a caller may see."""

    def __init__(self, ask: Ask, wanted: CallQuery, surface: Surface | None, bounds: tuple[int, int | None]) -> None:
        self.caller: Caller = ask.caller
        self.store: Store = ask.edge.app.store
        self.wanted = wanted
        self.surface = surface
        """Decides which tools the caller may know of; None when it may know of all."""
        self.after, self.before = bounds
        self.words = tuple(word.lower() for word in (wanted.words or "").split())

    @property
    def covers_everything(self) -> bool:
        """True when the search covers all tenants and uses only filters that the ledger can apply without reading
        calls.
        """
        wanted = self.wanted
        narrow = (wanted.principal, wanted.tenant, wanted.agent, wanted.run, wanted.words, wanted.status)
        return self.caller.sees_all and not any(narrow)

    async def page(self, cursor: int | None, count: int) -> CallPage:
        """Returns one page of matching calls."""
        if self.words and _ID.fullmatch(self.words[0]):
            rows = await self.store.rows_of(self.words[0])
            return CallPage([rows] if rows and self.matches(rows) else [], None)
        befores = [before for before in (cursor, self.before) if before is not None]
        before = min(befores) if befores else None
        states = self._open_states()
        if states:
            return await list_open_calls(
                self.store, self.matches, states=states, before=before, count=count, quick=self.build_ledger_query()
            )
        return await list_calls(self.store, self.matches, before=before, count=count, quick=self.build_ledger_query())

    def build_ledger_query(self) -> CallsWanted:
        """Returns the part of the search that the ledger can apply by itself."""
        wanted, caller = self.wanted, self.caller
        holding = {name.encode() for name in (wanted.principal, wanted.tenant, wanted.agent) if name}
        if not caller.is_operator:
            holding |= {caller.identity.principal.encode(), caller.tenant.encode()}
        elif caller.identity.tenant == caller.tenant:
            holding.add(caller.tenant.encode())
        if (
            self.surface is not None
        ):  # the caller sees hidden calls with another state, so the ledger must not filter by the real one
            return CallsWanted(after=self.after, holding=tuple(sorted(holding)))
        states = ENDED_STATES.get(_find_standing(wanted.standing), ()) if wanted.standing else ()
        if wanted.status:
            states = tuple(state for state in STATES if state == wanted.status)
        return CallsWanted(self.after, wanted.tool or "", states, tuple(sorted(holding)))

    def _open_states(self) -> tuple[str, ...]:
        """Returns the states of a search for open calls; none for any other search."""
        if self.wanted.standing in OPEN_STATES:
            return OPEN_STATES[_find_standing(self.wanted.standing)]
        return (self.wanted.status,) if self.wanted.status and self.wanted.status not in TERMINAL else ()

    def matches(self, rows: Rows) -> bool:
        """Returns True for a call that matches and that the caller may see."""
        header, wanted = rows[0].header(), self.wanted
        if not self.caller.sees(header.principal, header.tenant):
            return False
        is_hidden = self.hides(rows)
        tool_id = f"unknown:{header.tool_name}" if is_hidden else header.tool_id
        status = "failed" if is_hidden else rows[-1].outcome
        standing = find_ending(status) if is_hidden else find_standing(rows[-1].kind, status)
        return (
            (wanted.tool is None or tool_id == wanted.tool or tool_id.endswith(f".{wanted.tool}"))
            and wanted.status in (None, status)
            and wanted.standing in (None, standing)
            and wanted.principal in (None, header.principal)
            and wanted.tenant in (None, header.tenant)
            and wanted.agent in (None, header.agent)
            and wanted.run in (None, header.run_id, header.run_id.rpartition("~")[0])
            and (not self.words or self._holds_words(rows, tool_id, is_hidden=is_hidden))
        )

    def hides(self, rows: Rows) -> bool:
        """Returns True for a call of a tool that the caller may not know of."""
        if self.surface is None:
            return False
        error = rows[-1].segment().error
        return error is not None and is_refused_and_hidden(self.surface, rows[0].header().tool_name, error.error_class)

    def _holds_words(self, rows: Rows, tool_id: str, *, is_hidden: bool) -> bool:
        header = rows[0].header()
        names = (rows[0].call, tool_id, header.tool_name, header.principal, header.agent or "")
        text = "\n".join((*names, read_input(rows, is_hidden=is_hidden))).lower()
        return all(word in text for word in self.words)


def _find_standing(text: str | None) -> Standing:
    return next(known for known in STANDINGS if known == text)


def read_input(rows: Rows, *, is_hidden: bool) -> str:
    """Returns the recorded input of a call as JSON: what would run, or ran. Empty where it was erased.

    `is_hidden`: the caller may not know of the tool, so only names of arguments remain; what is on record would reveal
    whether the tool exists.
    """
    for row in reversed(rows):
        payload = row.inputs()
        if payload is None:
            continue
        inputs = (payload.call_input, payload.permission_input, payload.observable_input, payload.model_input)
        found = next((one for one in inputs if one is not None), None)
        if found is not None:
            found = mask_all_json(found) if is_hidden else found
            return found[:_LONGEST_INPUT].decode("utf-8", "replace")
    return ""


async def prepare_search(ask: Ask, wanted: CallQuery, surface: Surface | None) -> CallSearch:
    """Returns a checked search. Raises Problem."""
    for name, value, known in (("status", wanted.status, STATES), ("standing", wanted.standing, STANDINGS)):
        if value is not None and value not in known:
            raise Problem(400, "invalid_query", f"the parameter {name!r} takes one of {', '.join(known)}")
    store = ask.edge.app.store
    since, until = parse_moment("since", wanted.since), parse_moment("until", wanted.until)
    after = max(wanted.after or 0, 0 if since is None else await store.seq_at(since) - 1)
    return CallSearch(ask, wanted, surface, (after, None if until is None else await store.seq_at(until)))
