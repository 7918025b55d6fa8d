"""AT-53 and AT-54: safety facts that are asked per call."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.expect import show
from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.agent_tool.fields import FLAGS
from ferrule.definitions.rules.agent_tool.records import find_record
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.model.value import JsonObject

_SAME_AS = "same_as:"
_TARGETS = frozenset({*FLAGS, "is_enabled", "requires_user_interaction", "strict"})


class UnknownExpression(Rule):
    """A safety fact is true, false, `classifier:<name>` or `same_as:<field>`.

    Why: anything else cannot be asked when the call comes, so the strictest answer is used.
    Bad:  "is_read_only": "yes"
    Good: "is_read_only": "classifier:shell_read_only"
    """

    code = "AT-53"
    name = "unknown-expression"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields every flag that holds some other text."""
        interface = find_record(subject, "interface")
        if interface is None:
            return
        for flag in FLAGS:
            written = interface.value.get(flag)
            if not isinstance(written, str):
                continue
            form, _, argument = written.partition(":")
            if form in ("classifier", "same_as") and argument.strip():
                continue
            hint = "write true, false, classifier:<name> or same_as:<fact>"
            if written in ("true", "false"):
                hint = "write it without quotes"
            message = f"`{flag}` is {show(written)}, which nobody can answer"
            yield Finding(self.code, (*interface.path, flag), message, Severity.WARNING, hint)


class CircularExpression(Rule):
    """`same_as` names another fact and does not lead back to itself.

    Why: it can never be answered, so the strictest answer is always used, whatever the author meant.
    Bad:  "is_read_only": "same_as:is_concurrency_safe", "is_concurrency_safe": "same_as:is_read_only"
    Good: "is_read_only": "classifier:shell", "is_concurrency_safe": "same_as:is_read_only"
    """

    code = "AT-54"
    name = "circular-expression"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields unknown targets, and each circle once, at its first fact in the file."""
        interface = find_record(subject, "interface")
        if interface is None:
            return
        targets = _map_targets(interface.value)
        told: set[str] = set()
        for flag, target in targets.items():
            path = (*interface.path, flag)
            if target not in _TARGETS:
                yield Finding(
                    self.code, path, f"`{flag}` follows {target!r}, which is no fact", hint=nearest(target, _TARGETS)
                )
            elif flag not in told:
                circle = _find_circle(flag, targets)
                if circle:
                    told |= circle
                    message, hint = f"`{flag}` follows itself through `same_as`", "state one of these facts itself"
                    yield Finding(self.code, path, message, hint=hint)


def _map_targets(interface: JsonObject) -> dict[str, str]:
    """Maps each fact that follows another to that one, in the order of the file."""
    return {
        key: value.removeprefix(_SAME_AS).strip()
        for key, value in interface.items()
        if key in FLAGS
        and isinstance(value, str)
        and value.startswith(_SAME_AS)
        and value.removeprefix(_SAME_AS).strip()
    }


def _find_circle(flag: str, targets: dict[str, str]) -> set[str]:
    """Returns the facts of the circle this one is in; empty when it is in none."""
    visited = {flag}
    at = targets[flag]
    while at in targets and at not in visited:
        visited.add(at)
        at = targets[at]
    return visited if at == flag else set()
