"""Asks the classifiers that a policy names, and turns what they say into notes. What goes wrong is a note too (AT-137)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from ferrule.contracts.policy import Classification, Classifier
from ferrule.model.decision import Behavior, ClassifierNote
from ferrule.model.surface import SurfaceEntry
from ferrule.runtime.policy.records import ClassifierUse

_BEHAVIORS: tuple[Behavior, ...] = ("allow", "ask", "deny")


class Panel(NamedTuple):
    """The classifiers asked about one tool."""

    entry: SurfaceEntry
    uses: tuple[ClassifierUse, ...]
    classifiers: Mapping[str, Classifier]

    def ask(self, subject: Any) -> tuple[ClassifierNote, ...] | Awaitable[tuple[ClassifierNote, ...]]:
        """Every judgement; awaitable when one of the classifiers takes its time."""
        answers = [self._ask(use, subject) for use in self.uses]
        if any(inspect.isawaitable(answer) for answer in answers):
            return self._gathered(answers)
        return tuple(_note(use, answer) for use, answer in zip(self.uses, answers, strict=True))

    def _ask(self, use: ClassifierUse, subject: Any) -> object:
        classifier = self.classifiers.get(use.name)
        if classifier is None:
            return LookupError("there is no such classifier")
        try:
            return classifier.classify(self.entry, deepcopy(subject))  # what it writes into it changes nothing
        except Exception as error:  # whatever it is, it is not a yes
            return error

    async def _gathered(self, answers: list[object]) -> tuple[ClassifierNote, ...]:
        notes: list[ClassifierNote] = []
        for use, answer in zip(self.uses, answers, strict=True):
            if inspect.isawaitable(answer):
                try:
                    answer = await answer
                except Exception as error:  # as above; cancelling is no answer and goes on its way
                    answer = error
            notes.append(_note(use, answer))
        return tuple(notes)


def _note(use: ClassifierUse, answer: object) -> ClassifierNote:
    if isinstance(answer, Classification) and answer.behavior in _BEHAVIORS and _is_share(answer.confidence):
        return ClassifierNote(use.name, answer.behavior, float(answer.confidence), answer.reason, use.authority)
    # A classifier that could have denied may have wanted to; one that could only approve has not done so.
    failed: Behavior = "deny" if use.authority in ("deny", "decide") else "ask"
    why = f"it failed ({type(answer).__name__}: {answer})" if isinstance(answer, Exception) else "its answer is none"
    return ClassifierNote(use.name, failed, 0.0, why, use.authority)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1
