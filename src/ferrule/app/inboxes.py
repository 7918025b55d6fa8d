"""Opens inboxes for people: what an approver may see of an input, and what they may change it to.

The inbox itself is `runtime/approval/inbox`. Here it gets the catalog, the redactor, the policy's groups, and the way back
to the call that an answer resumes or ends.
"""

from __future__ import annotations

import msgspec

from ferrule.app.parts import Parts
from ferrule.app.recorded_calls import Calls
from ferrule.app.sessions import Sessions
from ferrule.model.approval import Identity
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.approval.inbox import Accept, Inbox
from ferrule.runtime.pipeline.arguments.validation import ArgumentProblem, Arguments
from ferrule.runtime.pipeline.inputs import redact_input
from ferrule.runtime.pipeline.tool_facts import is_input_fixed
from ferrule.runtime.redaction.sensitive_input import Mask


class Inboxes:
    """Makes the inbox of a person, as that person may use it."""

    def __init__(self, parts: Parts, sessions: Sessions, calls: Calls) -> None:
        self._parts = parts
        self._services = parts.services
        self._store = parts.store
        self._sessions = sessions
        self._calls = calls

    def open(self, identity: Identity, groups: frozenset[str]) -> Inbox:
        """Returns the inbox of an authenticated person. `groups`: theirs by policy, besides those of their token."""
        return Inbox(
            self._store,
            self._parts.key,
            msgspec.structs.replace(identity, groups=identity.groups | groups),
            self._services.now,
            self._calls.resume,
            self._why_edit_invalid,
            self._calls.end,
            self._make_accept(identity),
            self._mask_input,
            self._find_description,
            redact=self._sessions.redact,
            mask_answer=self._mask_answer,
            tell_delegated=self._parts.notices.tell_delegated,
            why_ended=self._services.why_ended,
        )

    def find_tool(self, tool_id: str) -> Tool | None:
        """Returns the preferred version of a tool."""
        versions = self._sessions.catalog.versions(tool_id)
        return versions[0].tool if versions else None

    def _make_accept(self, identity: Identity) -> Accept:
        """Returns what accepts a suggested rule in somebody's name; the rule counts at once."""
        accept = self._parts.policy.acceptor(identity, self._store, self._parts.clock)

        async def accept_now(update: dict[str, object]) -> None:
            await accept(update)
            self._sessions.reload_policy()

        return accept_now

    def _find_description(self, tool_id: str) -> str | None:
        tool = self.find_tool(tool_id)
        return tool.description if tool is not None else None

    async def _why_edit_invalid(self, call_id: str, edited: bytes) -> str | None:
        """Returns what is wrong with an input that an approver changed; None when it can be used."""
        tool = await self._find_called_tool(call_id)
        if tool is None:
            return "its tool is gone"
        if is_input_fixed(tool):
            return f"the contract of {tool.tool_id!r} forbids to replace its input; approve it as it is, or reject it"
        parsed = Arguments.of(tool).parse_runtime(edited)
        return parsed.message if isinstance(parsed, ArgumentProblem) else None

    async def _mask_input(self, call_id: str, edited: bytes) -> bytes:
        tool = await self._find_called_tool(call_id)
        mask = Mask.of(tool) if tool is not None else None
        return redact_input(edited, mask, self._services.redactor)

    def _mask_answer(self, given: bytes, schema: JsonObject) -> bytes:
        """Returns an answer to a tool's question as it may be stored and shown."""
        return redact_input(given, Mask.of_schema(schema), self._services.redactor)

    async def _find_called_tool(self, call_id: str) -> Tool | None:
        rows = await self._store.rows_of(call_id)
        return self.find_tool(rows[0].tool) if rows else None
