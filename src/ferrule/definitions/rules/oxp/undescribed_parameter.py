"""OXP-10: parameters without a description."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.oxp.schemas import find_parameters, walk_schema
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import Path
from ferrule.schema.walk import SchemaPosition

_HINT = "say in its `description` what to pass"


class UndescribedParameter(Rule):
    """Every parameter has a description; members of nested objects should have one (warning).

    Why: models choose values by the description; without one they guess from the name.
    Bad:  "city": {"type": "string"}
    Good: "city": {"type": "string", "description": "City to look up, in English"}
    """

    code = "OXP-10"
    name = "undescribed-parameter"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        parameters = find_parameters(subject)
        if parameters is None:
            return
        for position in walk_schema(subject, parameters):
            members = position.schema.get("properties")
            if not isinstance(members, dict):
                continue
            is_root = position.path == parameters.path
            for name, member in members.items():
                if not _is_described(member) and (is_root or _needs_description(position, name, member)):
                    yield self._report((*position.path, "properties", name), name, member, is_root)

    def _report(self, path: Path, name: str, member: object, is_root: bool) -> Finding:
        severity = Severity.ERROR if is_root else Severity.WARNING
        what = "parameter" if is_root else "member"
        if isinstance(member, dict) and "description" in member:
            message = f"the description of {what} {name!r} is empty"
            return Finding(self.code, (*path, "description"), message, severity, _HINT)
        return Finding(self.code, path, f"{what} {name!r} has no description", severity, _HINT)


def _is_described(member: object) -> bool:
    """Returns True also for what is no schema at all, or has a description that is no string: another rule tells."""
    if isinstance(member, dict):
        text = member.get("description", "")
        return not isinstance(text, str) or bool(text.strip())
    return not isinstance(member, bool)


def _needs_description(position: SchemaPosition, name: str, member: object) -> bool:
    """Returns True unless a nested member only forbids something, or restates one described around it."""
    if member is False:
        return False
    around = position.around
    while around is not None:
        members = around.schema.get("properties")
        if isinstance(members, dict) and name in members and _is_described(members[name]):
            return False
        around = around.around
    return True
