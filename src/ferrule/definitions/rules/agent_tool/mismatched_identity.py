"""AT-33: an embedded interface that repeats another identity."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.agent_tool.records import find_record
from ferrule.model.diagnostic import Finding, Severity


class MismatchedIdentity(Rule):
    """The tool's identity in an interface is the same as in the declaration.

    Why: rules, logs and searches go by either; two names for one tool let a rule miss it.
    Bad:  a declaration named `search` whose interface says "name": "web_search"
    Good: the same name in both, or none in the interface
    """

    code = "AT-33"
    name = "mismatched-identity"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields the embedded interface; linked ones are compared when all files are known."""
        interface = find_record(subject, "interface")
        if interface is None:
            return
        for key in ("tool_id", "namespace", "name"):
            theirs, ours = interface.value.get(key), subject.get(key)
            if isinstance(theirs, str) and isinstance(ours, str) and theirs != ours:
                message = f"the interface's `{key}` is {theirs!r}, the declaration's {ours!r}"
                hint = "write the same, or leave it out of the interface"
                yield Finding(self.code, (*interface.path, key), message, Severity.WARNING, hint)
