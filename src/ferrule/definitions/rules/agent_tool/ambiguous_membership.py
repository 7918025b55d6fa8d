"""AT-69: tools that two lists of a surface hold."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity

_LISTS = frozenset({"loaded_tools", "deferred_tools", "blocked_tools", "excluded_tools"})


class AmbiguousMembership(Rule):
    """A tool is in one of the four lists of a surface: loaded, deferred, blocked or excluded.

    Why: whether it can be called must have one answer.
    Bad:  "loaded_tools": ["clock"], "blocked_tools": [{"tool_id": "clock", "reason": "policy_blocked"}]
    Good: the tool in one of them
    """

    code = "AT-69"
    name = "ambiguous-membership"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each entry of a later list, in the order of the file, that an earlier one has too."""
        homes: dict[str, str] = {}
        for key in subject.value:
            entries = subject.get(key) if key in _LISTS else None
            for index, entry in enumerate(entries if isinstance(entries, list) else ()):
                tool = _get_tool_id(entry)
                if tool is None:
                    continue
                home = homes.setdefault(tool, key)
                if home != key:
                    message = f"{tool!r} is in `{home}` already"
                    yield Finding(self.code, (key, index), message, Severity.WARNING, "keep it in one of the two")


def _get_tool_id(entry: object) -> str | None:
    found = entry.get("tool_id") if isinstance(entry, dict) else entry
    return found if isinstance(found, str) else None
