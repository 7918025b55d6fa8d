"""The policy for one tool and one caller. Everything that no argument can change is decided when it is made."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from msgspec.structs import replace

from ferrule.contracts.policy import JudgedCall
from ferrule.model.decision import ClassifierNote, Ruling, Shadow
from ferrule.model.value import JsonObject
from ferrule.runtime.policy.classifiers import ClassifierPanel
from ferrule.runtime.policy.commands import parse_command
from ferrule.runtime.policy.compiled import CompiledRule, is_harmless
from ferrule.runtime.policy.facts import find_subject
from ferrule.runtime.policy.indexing.index import ArgumentIndex
from ferrule.runtime.policy.ruling import CallEvidence, RulingContext, decide_by_mode, make_ruling, make_suggestion
from ferrule.runtime.policy.view import ToolView

HitFinder = Callable[[JudgedCall], tuple[CompiledRule, ...]]
"""Rules kept elsewhere (Cedar): those that hold for a call."""
Notes = tuple[ClassifierNote, ...]
_KEPT = 256
"""Rulings a program keeps, one for each set of rules that held for some call."""


class ProgramRules(NamedTuple):
    """The rules that concern a tool and a caller."""

    always: tuple[CompiledRule, ...]
    perhaps: ArgumentIndex
    """Those that look at the call."""
    table: HitFinder | None = None


class RuleProgram:
    """Decides the calls of one tool by one caller. Safe to share: it caches rulings, never calls."""

    __slots__ = ("_frame", "_panel", "_rules", "_rulings", "_shadow", "_view", "denies_statically", "fixed")

    def __init__(
        self,
        view: ToolView,
        frame: RulingContext,
        rules: ProgramRules,
        panel: ClassifierPanel,
        shadow: ShadowProgram | None,
    ) -> None:
        self._view = view
        self._frame = frame
        self._rules = rules
        self._panel = panel
        self._shadow = shadow
        self._rulings: dict[tuple[object, ...], Ruling] = {}
        self.denies_statically = self._find_static_deny()
        self.fixed = self._find_fixed()

    def decide(self, judged: JudgedCall) -> Ruling | Awaitable[Ruling]:
        """Rules on one call."""
        if self.fixed is not None:
            return self.fixed
        hits = self._find_hits(judged)
        # No classifier lifts a deny, so none is asked.
        if self._panel.uses and not any(hit.rule.decision == "deny" for hit in hits):
            notes = self._panel.ask(find_subject(self._view.tool.facts.classifier_input, judged.arguments))
            if inspect.isawaitable(notes):
                return self._rule_later(judged, hits, notes)
            return self._rule(judged, hits, notes)
        return self._rule(judged, hits, ())

    @property
    def conditional_rules(self) -> tuple[str, ...]:
        """The ids of the rules that look at each call."""
        return tuple(hit.rule.rule_id for hit in self._rules.perhaps.rules)

    def early_deny(self, judged: JudgedCall) -> Ruling | None:
        """Returns the deny that rules and mode give this call by its input alone; None without one."""
        if self.denies_statically is not None:
            return self.denies_statically
        found = self._rules.perhaps.find_rules(judged)
        denying = tuple(hit for hit in found if hit.rule.decision == "deny" and hit.fits(judged))
        if self._rules.table is not None:
            denying += tuple(hit for hit in self._rules.table(judged) if hit.rule.decision == "deny")
        if denying or decide_by_mode(self._frame.modes, is_read_only=judged.facts.is_read_only is True) == "deny":
            return self._rule(judged, (*self._rules.always, *denying), ())
        return None

    def rule_with_notes(self, judged: JudgedCall, notes: Notes) -> Ruling:
        """Rules with the classifiers' notes at hand: for a shadow policy."""
        return self.fixed or self._rule(judged, self._find_hits(judged), notes)

    async def _rule_later(self, judged: JudgedCall, hits: tuple[CompiledRule, ...], notes: Awaitable[Notes]) -> Ruling:
        return self._rule(judged, hits, await notes)

    def _find_hits(self, judged: JudgedCall) -> tuple[CompiledRule, ...]:
        rules = self._rules
        hits = (*rules.always, *[rule for rule in rules.perhaps.find_rules(judged) if rule.fits(judged)])
        return hits if rules.table is None else (*hits, *rules.table(judged))

    def _rule(self, judged: JudgedCall, hits: tuple[CompiledRule, ...], notes: Notes) -> Ruling:
        facts = judged.facts
        is_read_only = facts.is_read_only is True
        harmless = is_harmless(self._view.tool, facts)
        # Compiled rules live as long as the program, so their ids identify them.
        key = (is_read_only, harmless, notes, *map(id, hits))
        ruling = self._rulings.get(key)
        if ruling is None:
            ruling = make_ruling(self._frame, CallEvidence(hits, is_read_only, harmless, notes))
            is_kept = not notes and self._rules.table is None  # both are made anew for each call
            if is_kept and len(self._rulings) < _KEPT:
                self._rulings[key] = ruling
        ruling = self._add_details(ruling, judged, hits)
        return self._shadow.attach_to(ruling, judged) if self._shadow is not None else ruling

    def _add_details(self, ruling: Ruling, judged: JudgedCall, hits: tuple[CompiledRule, ...]) -> Ruling:
        if ruling.behavior == "deny" and ruling.rule_refs:
            blocked = next((hit for hit in hits if hit.rule.rule_id == ruling.rule_refs[0] and hit.rule.path), None)
            return replace(ruling, blocked_path=blocked.find_blocked_path(judged)) if blocked is not None else ruling
        if ruling.suggested_updates and self._view.has_command:
            return replace(ruling, suggested_updates=self._suggest_command(judged))
        return ruling

    def _suggest_command(self, judged: JudgedCall) -> tuple[JsonObject, ...]:
        """Suggests allowing this command instead of the tool; nothing when the line is not one plain command."""
        found = self._view.fields.find_values("command", judged.arguments)
        parsed = parse_command(found[0].value) if len(found) == 1 else None
        if parsed is None or not parsed.is_certain or len(parsed.parts) != 1:
            return ()
        part = parsed.parts[0]
        if not part.is_plain or any(word.is_open or any(sign in word.text for sign in "*?[") for word in part.words):
            return ()
        line = shlex.join(word.text for word in part.words)
        return (make_suggestion(self._view.tool.tool_id, command=[line]),) if line else ()

    def _find_static_deny(self) -> Ruling | None:
        facts = self._view.tool.facts
        is_denied = any(hit.rule.decision == "deny" for hit in self._rules.always)
        if not is_denied and (
            facts.is_read_only.__class__ is not bool
            or decide_by_mode(self._frame.modes, is_read_only=facts.is_read_only is True) != "deny"
        ):
            return None
        return make_ruling(self._frame, CallEvidence(self._rules.always, facts.is_read_only is True, False))

    def _find_fixed(self) -> Ruling | None:
        # A shadow policy's answer belongs to the ruling, so then the deny alone is not all of it.
        if self.denies_statically is not None and self._shadow is None:
            return self.denies_statically
        view, rules = self._view, self._rules
        if rules.perhaps.rules or rules.table is not None or self._panel.uses or view.asks_facts:
            return None
        facts = view.tool.facts
        harmless = is_harmless(view.tool, facts)
        ruling = make_ruling(self._frame, CallEvidence(rules.always, facts.is_read_only is True, harmless))
        # The suggestion names the command, which differs between calls.
        if ruling.suggested_updates and view.has_command:
            return None
        return ruling if self._shadow is None else self._shadow.attach_to_fixed(ruling)


class ShadowProgram(NamedTuple):
    """A shadow policy: it never changes an outcome, and neither does a mistake in it."""

    policy_ref: str
    program: RuleProgram | None
    """None when the policy cannot be used."""
    problem: str = ""

    def attach_to(self, ruling: Ruling, judged: JudgedCall) -> Ruling:
        """Returns the ruling with the shadow's, where that differs."""
        return _attach_shadow(ruling, self._rule_in_shadow(ruling, judged))

    def attach_to_fixed(self, ruling: Ruling) -> Ruling | None:
        """Does the same for a ruling no argument can change; None when the shadow looks at arguments."""
        if self.program is None:
            return _attach_shadow(ruling, self._refuse(self.problem))
        return _attach_shadow(ruling, self._to_shadow(self.program.fixed)) if self.program.fixed is not None else None

    def _rule_in_shadow(self, ruling: Ruling, judged: JudgedCall) -> Shadow:
        if self.program is None:
            return self._refuse(self.problem)
        try:
            return self._to_shadow(self.program.rule_with_notes(judged, ruling.classifiers))
        except Exception as error:  # it may fail as it likes
            return self._refuse(f"{type(error).__name__}: {error}")

    def _to_shadow(self, said: Ruling) -> Shadow:
        return Shadow(self.policy_ref, said.behavior, said.rule_refs, said.message)

    def _refuse(self, why: str) -> Shadow:
        return Shadow(self.policy_ref, "deny", (), f"it cannot be used, so it would refuse every call: {why}")


def _attach_shadow(ruling: Ruling, shadow: Shadow) -> Ruling:
    return ruling if shadow.behavior == ruling.behavior else replace(ruling, shadow=shadow)
