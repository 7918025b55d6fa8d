"""Roles that are wider or staler than their owner may think, as far as one file shows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import JsonValue, Missing

OLDEST_DAYS = 180


class WeakRole(Rule):
    """A role asks for approval before actions, was reviewed within 180 days, and says which cloud identity it stands
    for.

    Why: a role is the last bound on what an agent can do, so it should not outlive the review that allowed it.
    Bad:  tools: [{ref: send-email}], where send-email is an action
    Good: tools: [{ref: send-email, approval_required: true}]
    """

    code = "AML-97"
    name = "weak-role"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a stale date and a missing cloud block; `role_links` checks grants of actions."""
        updated = _parse_date(subject.get("meta", "last_updated"))
        today = _parse_date(subject.settings.today[:10])
        if updated is not None and today is not None and (today - updated).days > OLDEST_DAYS:
            message = f"the role was last updated on {updated}, more than {OLDEST_DAYS} days ago"
            hint = "review its grants and set the date"
            yield Finding(self.code, ("meta", "last_updated"), message, self.severity, hint)
        if subject.value.get("cloud") is None:
            message = "the role has no `cloud` block, so it names no identity to assume"
            yield Finding(self.code, ("cloud",), message, self.severity, "add `cloud` with `provider` and its identity")


def _parse_date(value: JsonValue | Missing) -> date | None:
    # fromisoformat also takes 20260501 and, as of Python 3.11, 2026-W18-5.
    if not isinstance(value, str) or len(value) != 10:
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None
