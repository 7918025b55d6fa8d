"""Evaluates a tool's safety facts for one call: `classifier:<name>` and `same_as:<fact>` (AT-53, AT-54).

A classifier's `allow` gives a fact its harmless value, any other judgement the fail-closed one. So does every
failure, and failures are recorded.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from msgspec.structs import replace

from ferrule.contracts.policy import Classifier
from ferrule.model.surface import SurfaceEntry
from ferrule.model.tool import SafetyFacts, Tool
from ferrule.model.value import JsonObject

FLAGS = ("is_read_only", "is_concurrency_safe", "is_destructive", "is_open_world")
CLOSED = {"is_read_only": False, "is_concurrency_safe": False, "is_destructive": True, "is_open_world": True}
"""The fail-closed values, for facts that cannot be evaluated."""
_FOLLOWED = (*FLAGS, "requires_user_interaction", "strict")


def depends_on_input(facts: SafetyFacts) -> bool:
    """Returns True when some fact is an expression."""
    return (
        facts.is_read_only.__class__ is not bool
        or facts.is_destructive.__class__ is not bool
        or facts.is_open_world.__class__ is not bool
        or facts.is_concurrency_safe.__class__ is not bool
    )


def compute_call_facts(
    tool: Tool, arguments: JsonObject, classifiers: Mapping[str, Classifier]
) -> tuple[SafetyFacts, tuple[str, ...]]:
    """Evaluates the facts for this input; also returns the failures, for the record."""
    facts = tool.facts
    if not depends_on_input(facts):
        return facts, ()
    asked = _FactEvaluator(tool, find_subject(facts.classifier_input, arguments), classifiers)
    values = {name: asked.evaluate(name) for name in FLAGS}
    return replace(facts, **values), tuple(dict.fromkeys(asked.failures))


def find_subject(classifier_input: object, arguments: JsonObject) -> object:
    """Returns the value a classifier judges: the one that `input.<field>` points at, else all arguments."""
    if isinstance(classifier_input, str) and classifier_input.startswith("input."):
        subject: Any = arguments
        for step in classifier_input.removeprefix("input.").split("."):
            subject = subject.get(step) if isinstance(subject, dict) else None
        return subject
    return arguments


class _FactEvaluator:
    """Evaluates the expressions of one call. Asks each classifier once, however many facts follow it."""

    def __init__(self, tool: Tool, subject: object, classifiers: Mapping[str, Classifier]) -> None:
        self._tool = tool
        self._subject = subject
        self._classifiers = classifiers
        self._harmless: dict[str, bool | None] = {}
        """None where a classifier could not be asked."""
        self.failures: list[str] = []

    def evaluate(self, fact: str) -> bool:
        """Evaluates one fact."""
        seen = [fact]
        written = getattr(self._tool.facts, fact)
        while isinstance(written, str) and written.startswith("same_as:"):
            target = written.removeprefix("same_as:").strip()
            if target in seen or target not in _FOLLOWED:
                return self._fail_closed(fact, f"{written!r} leads nowhere")
            seen.append(target)
            written = getattr(self._tool.facts, target)
        if isinstance(written, bool):
            return written
        if isinstance(written, str) and written.startswith("classifier:"):
            return self._classify(fact, seen[-1], written.removeprefix("classifier:").strip())
        return self._fail_closed(fact, f"{written!r} cannot be evaluated")

    def _classify(self, fact: str, asked: str, name: str) -> bool:
        if name not in self._harmless:
            self._harmless[name] = self._ask(fact, name)
        harmless = self._harmless[name]
        if harmless is None or asked not in CLOSED:
            return CLOSED[fact]
        # `CLOSED` has the dangerous value of the fact that was asked for; a harmless judgement gives the other one.
        return CLOSED[asked] is not harmless

    def _ask(self, fact: str, name: str) -> bool | None:
        classifier = self._classifiers.get(name)
        if classifier is None:
            self.failures.append(f"{fact}: there is no classifier {name!r}")
            return None
        try:
            # A copy: a classifier that writes into what it judges changes neither what the rules see nor what runs.
            judged = classifier.classify(SurfaceEntry(self._tool, "", "loaded"), deepcopy(self._subject))
        except Exception as error:  # any failure counts as the dangerous value, and is recorded
            self.failures.append(f"{fact}: the classifier {name!r} failed: {type(error).__name__}")
            return None
        if not inspect.isawaitable(judged):
            return judged.behavior == "allow"
        if inspect.iscoroutine(judged):
            judged.close()
        self.failures.append(f"{fact}: the classifier {name!r} answers later, and a fact is needed at once")
        return None

    def _fail_closed(self, fact: str, why: str) -> bool:
        self.failures.append(f"{fact}: {why}")
        return CLOSED[fact]
