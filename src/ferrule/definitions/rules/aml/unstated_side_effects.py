"""Actions without stated side effects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import MISSING

_FIRST_WORD = re.compile(r"[^\W_]+")
_PATH = ("use_guidance", "side_effects")


class UnstatedSideEffects(Rule):
    """A tool of type action states its side effects, and does not say there are none.

    Why: the model is warned with this text before it acts.
    Bad:  side_effects: None
    Good: side_effects: A mail goes out and cannot be called back.
    """

    code = "AML-75"
    name = "unstated-side-effects"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at `side_effects`, or at `use_guidance` where that is not written."""
        if subject.get("type") != "action":
            return
        guidance = subject.get("use_guidance")
        if not isinstance(guidance, dict) or subject.has_error_below(_PATH):
            return
        if is_none_stated(guidance.get("side_effects", MISSING)):
            message = "the side effects of an action are not stated"
            hint = "say what changes in the world; a tool that changes nothing is of type retrieval or function"
            yield Finding(self.code, _PATH, message, Severity.WARNING, hint)


def is_none_stated(effects: object) -> bool:
    """Returns True when side effects are absent, empty, or begin with the word "none"."""
    if isinstance(effects, list):
        if len(effects) > 1:
            return False
        effects = effects[0] if effects else None
    if not isinstance(effects, str):
        return True
    if not effects.strip():
        return True
    word = _FIRST_WORD.search(effects)
    return word is not None and word[0].lower() == "none"
