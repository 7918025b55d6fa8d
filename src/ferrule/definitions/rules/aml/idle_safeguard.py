"""Confirmation lists that name tools the agent does not have."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.model.value import Missing, Path

_COMPARISONS = 5_000
"""How many names are compared for hints; longer lists do without."""
_LIST: Path = ("guardrails", "tool_calls", "require_user_confirmation_for")


class IdleSafeguard(Rule):
    """An agent sets known policies, uses guardrails that exist, and asks for confirmation of its own tools.

    Why: a misspelt policy, guardrail or tool name protects nobody, and looks as if it did.
    Bad:  require_user_confirmation_for: [send-mail] beside tools: [{ref: send-email}]
    Good: require_user_confirmation_for: [send-email]
    """

    code = "AML-100"
    name = "idle-safeguard"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields an error at each listed tool that the agent does not declare."""
        listed = subject.get(*_LIST)
        if not isinstance(listed, list) or not listed:
            return
        tools = subject.get("tools")
        if isinstance(tools, dict):
            tools = subject.get("tools", "refs") if "refs" in tools else []
        if isinstance(tools, Missing):
            if "tools" in subject.value:  # unreadable, and reported as such
                return
            tools = []
        declared = set(_list_names(tools))
        for index, tool in enumerate(listed):
            if isinstance(tool, str) and tool not in declared:
                message = f"confirmation is asked for {tool!r}, which is not among the agent's tools"
                hint = nearest(tool, declared) if len(declared) * index < _COMPARISONS else None
                hint = hint or "add it to `tools`, or remove it here"
                yield Finding(self.code, (*_LIST, index), message, hint=hint)


def _list_names(tools: object) -> Iterator[str]:
    """Yields every name in a tool list, also in malformed entries."""
    for entry in tools if isinstance(tools, list) else ():
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            yield from (entry[key] for key in ("ref", "tool_id", "name", "id") if isinstance(entry.get(key), str))
