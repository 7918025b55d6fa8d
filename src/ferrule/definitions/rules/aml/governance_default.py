"""Governance defaults written in the tool file."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.fields import GOVERNANCE_KEYS
from ferrule.definitions.rules.aml.interface import list_keywords, list_schemas
from ferrule.model.diagnostic import Finding, Severity

_KEYS = frozenset(GOVERNANCE_KEYS)


class GovernanceDefault(Rule):
    """`approval_required`, `max_calls_per_run`, `log_args`, `data_classification` and a property's `sensitive` extend AML.

    Why: agents and roles may only tighten these limits, so the tool has to state them somewhere.
    Bad:  max_calls_per_run: 0
    Good: max_calls_per_run: 5
    """

    code = "AML-17"
    name = "governance-default"
    severity = Severity.INFO

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a note on each such key that is sound, an error at a `sensitive` that is neither true nor false."""
        if not _KEYS.isdisjoint(subject.value):
            for key in GOVERNANCE_KEYS:
                if key in subject.value and not subject.has_error_below((key,)):
                    yield _report((key,))
        if "sensitive" not in list_keywords(subject):
            return
        for path, schema, _ in list_schemas(subject):
            if "sensitive" in schema:
                if isinstance(schema["sensitive"], bool):
                    yield _report((*path, "sensitive"))
                else:
                    yield Finding(self.code, (*path, "sensitive"), "`sensitive` must be true or false")


def _report(path: tuple[str | int, ...]) -> Finding:
    message = f"`{path[-1]}` extends AML; Ferrule honours it, other readers may not"
    return Finding(GovernanceDefault.code, path, message, Severity.INFO, on_key=True)
