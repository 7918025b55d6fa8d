"""Holds every rule in force, prepares them for tools and callers, and explains how a call is decided.

Rules are found by the tool's name and by what they want of its arguments, however many there are (`indexing/index.py`). An
explanation lists every rule that was considered, in order, with what it did not match. Stands above `compiled.py`,
`program.py` and `ruling.py`; knows no pipeline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec

from ferrule.contracts.policy import Classifier, JudgedCall
from ferrule.contracts.registry import late
from ferrule.errors import PolicyError
from ferrule.model.decision import RuleSource, Ruling
from ferrule.model.surface import SurfaceEntry, SurfaceRequest
from ferrule.model.value import JsonObject
from ferrule.runtime.policy.classifiers import BUILTIN, ClassifierPanel
from ferrule.runtime.policy.compiled import CompiledRule, compile_rule, find_caller_mismatch, find_tool_mismatch
from ferrule.runtime.policy.globs import fits
from ferrule.runtime.policy.indexing.index import ArgumentIndex, RuleToolIndex
from ferrule.runtime.policy.load import refuse_errors
from ferrule.runtime.policy.paths import PathBase
from ferrule.runtime.policy.program import HitFinder, ProgramRules, RuleProgram, ShadowProgram
from ferrule.runtime.policy.read import read_value
from ferrule.runtime.policy.records import GROUP, ClassifierUse, PolicyFile, PolicyRule, PolicySet
from ferrule.runtime.policy.ruling import RulingContext, collect_modes, combine_modes
from ferrule.runtime.policy.text import format_policy
from ferrule.runtime.policy.view import ToolView

_cedar_table = late("ferrule.runtime.policy.cedar:CedarTable")
_HANDED_OVER: tuple[RuleSource, ...] = ("session", "command", "cli_arg")
_KEPT = 4096


def make_engine(policy: PolicySet, classifiers: Mapping[str, Classifier] | None = None) -> RuleEngine:
    """Makes the engine for a policy. Raises PolicyError for a rule with an undefined group, SettingsError without
    Cedar."""
    return RuleEngine(policy, {**BUILTIN, **(classifiers or {})})


class RuleEngine:
    """A `PolicyEngine` over rules and Cedar policies."""

    def __init__(self, policy: PolicySet, classifiers: Mapping[str, Classifier]) -> None:
        self.policy = policy
        self.rules = tuple(rule for file in policy.files for rule in file.rules)
        """In the order of the sources."""
        refuse_unknown_groups(self.rules, policy)
        self.digest = _compute_digest(policy)
        self.text = format_policy(policy)
        self._classifiers = classifiers
        self._base = PathBase(policy.root, policy.home)
        self._modes = collect_modes(policy.files)
        self._refs = tuple(file.ref for file in policy.files)
        self._authoritative = {hook: file.ref for file in policy.files for hook in file.authoritative_hooks}
        self._uses = tuple(use for file in policy.files for use in file.classifiers)
        self._by_tool = RuleToolIndex(self.rules)
        self._views: dict[tuple[str, str], ToolView] = {}
        self._indexes: WeakValueDictionary[tuple[int, ...], ArgumentIndex] = WeakValueDictionary()
        self._handed: dict[bytes, tuple[PolicyFile, ...]] = {}
        self._cedar = _cedar_table(policy) if policy.cedar is not None else None
        self._shadow, self._shadow_problem = _open_shadow(policy, classifiers)
        if self._cedar is not None:
            self._refs += (self._cedar.ref,)

    def program(self, entry: SurfaceEntry, request: SurfaceRequest) -> RuleProgram:
        """Prepares the policy for this tool and caller. Raises PolicyError when the caller's own rules cannot be
        used."""
        view = self.get_view(entry)
        handed = self.read_caller_rules(request)
        index = self._get_index(view, tuple(self._find_rules(view, request, handed)))
        table: HitFinder | None = self._cedar.bind(view, request) if self._cedar is not None else None
        return RuleProgram(
            view,
            self._make_context(entry, request, view, handed),
            ProgramRules(index.always, index, table),
            ClassifierPanel(entry, tuple(self._find_classifiers(view)), self._classifiers),
            self._make_shadow(entry, request),
        )

    def groups_of(self, person: str) -> frozenset[str]:
        """Returns the groups that the policy puts a person in."""
        return frozenset(name for name, members in self.policy.groups.items() if person in members)

    def surface_ruling(self, entry: SurfaceEntry, request: SurfaceRequest) -> Ruling | None:
        """Returns the deny that holds for every call of the tool; None without one."""
        return self.program(entry, request).denies_statically

    def get_view(self, entry: SurfaceEntry) -> ToolView:
        """Returns the tool as rules see it, cached by digest."""
        key = (entry.digest, entry.tool.tool_id)
        view = self._views.get(key)
        if view is None or view.tool != entry.tool:
            view = ToolView(entry.tool)
            # Without a digest nothing tells one definition from the next.
            if entry.digest and len(self._views) < _KEPT:
                self._views[key] = view
        return view

    def read_caller_rules(self, request: SurfaceRequest) -> tuple[PolicyFile, ...]:
        """Reads the rules and modes that came with the caller, each under its source."""
        if not request.rules:
            return ()
        by_source: dict[RuleSource, list[JsonObject]] = {}
        for given in request.rules:
            source = given.get("source", "session")
            if source not in _HANDED_OVER:
                raise PolicyError(f"a rule of the source {source!r} cannot be handed over with a call; it needs a file")
            by_source.setdefault(source, []).append({key: value for key, value in given.items() if key != "source"})
        return tuple(file for source, rules in by_source.items() for file in self._read(source, rules))

    def find_candidates(self, view: ToolView) -> Iterator[PolicyRule]:
        """Finds the rules of files that may concern a tool, in order."""
        return self._by_tool.find_rules((*view.names, *view.aliases))

    def find_cedar_hits(self, view: ToolView, request: SurfaceRequest, judged: JudgedCall) -> tuple[CompiledRule, ...]:
        """Finds the Cedar policies that hold for a call; none where the engine is not Cedar."""
        table: HitFinder | None = self._cedar.bind(view, request) if self._cedar is not None else None
        return table(judged) if table is not None else ()

    def _read(self, source: RuleSource, given: list[JsonObject]) -> tuple[PolicyFile, ...]:
        # Callers hand over the same rules again and again, so they are parsed once.
        key = source.encode() + msgspec.json.encode(given)
        files = self._handed.get(key)
        if files is None:
            rules = [each for each in given if "mode" not in each]
            values: list[JsonObject] = [{"rules": rules}, *(each for each in given if "mode" in each)]
            reads = [read_value(value, source, source, file="") for value in values]
            refuse_errors(reads)
            files = tuple(read.file for read in reads)
            refuse_unknown_groups(files[0].rules, self.policy)
            if len(self._handed) < _KEPT:
                self._handed[key] = files
        return files

    def _find_rules(
        self, view: ToolView, request: SurfaceRequest, handed: tuple[PolicyFile, ...]
    ) -> Iterator[PolicyRule]:
        groups = self.policy.groups
        for rule in (*self.find_candidates(view), *(rule for file in handed for rule in file.rules)):
            if find_tool_mismatch(rule, view) is None and find_caller_mismatch(rule, request, groups) is None:
                yield rule

    def _get_index(self, view: ToolView, rules: tuple[PolicyRule, ...]) -> ArgumentIndex:
        """Returns the compiled and indexed rules, shared by all callers that the same rules concern."""
        # An index keeps its view and its rules, so none of these ids is another's while it is in the table.
        key = (id(view), *map(id, rules))
        index = self._indexes.get(key)
        if index is None:
            index = ArgumentIndex((compile_rule(rule, view, self._base) for rule in rules), view, self._base)
            self._indexes[key] = index
        return index

    def _make_context(
        self, entry: SurfaceEntry, request: SurfaceRequest, view: ToolView, handed: tuple[PolicyFile, ...]
    ) -> RulingContext:
        return RulingContext(
            tool_id=entry.tool.tool_id,
            requirements=view.list_requirements(entry),
            modes=combine_modes({*self._modes, *(file.mode for file in handed if file.mode)}),
            is_interactive=request.is_interactive,
            policy_refs=(*self._refs, *(file.ref for file in handed)),
            groups=self.policy.groups,
            expires_seconds=self.policy.expires_seconds,
            authoritative_hooks=self._authoritative,
        )

    def _find_classifiers(self, view: ToolView) -> Iterator[ClassifierUse]:
        return (use for use in self._uses if any(fits(use.tools, name) for name in (*view.names, *view.aliases)))

    def _make_shadow(self, entry: SurfaceEntry, request: SurfaceRequest) -> ShadowProgram | None:
        policy = self.policy
        if not policy.shadow_ref:
            return None
        if self._shadow is None:
            return ShadowProgram(policy.shadow_ref, None, self._shadow_problem)
        try:
            return ShadowProgram(policy.shadow_ref, self._shadow.program(entry, request))
        except Exception as error:  # it may fail as it likes
            return ShadowProgram(policy.shadow_ref, None, f"{type(error).__name__}: {error}")


def _open_shadow(policy: PolicySet, classifiers: Mapping[str, Classifier]) -> tuple[RuleEngine | None, str]:
    """Opens the engine of the shadow policy, or returns why there is none."""
    if policy.shadow is None:
        return None, policy.shadow_problem
    try:
        return RuleEngine(policy.shadow, classifiers), ""
    except Exception as error:  # it may fail as it likes
        return None, str(error)


def refuse_unknown_groups(rules: Iterable[PolicyRule], policy: PolicySet) -> None:
    """Raises PolicyError for a principal's group that is not defined: a deny for it would never hold."""
    for rule in rules:
        for name in rule.principal:
            if name.startswith(GROUP) and name.removeprefix(GROUP) not in policy.groups:
                raise PolicyError(
                    f"rule {rule.rule_id!r} ({rule.place}) is about {name}, which is not defined; add it to [groups]"
                )


def _compute_digest(policy: PolicySet) -> str:
    said = [policy.root, policy.home, policy.expires_seconds, policy.cedar, policy.groups, policy.shadow_ref]
    files = [(file.source, file.name, file.digest) for file in policy.files]
    return hashlib.sha256(msgspec.json.encode([1, said, files], order="deterministic")).hexdigest()


class RuleExplanation(NamedTuple):
    """One rule, with whether it matched a call and why."""

    rule: PolicyRule
    is_matched: bool
    why: str
    """The matchers that did not fit; `every matcher fits` for a match."""


def explain_rules(
    engine: RuleEngine, entry: SurfaceEntry, request: SurfaceRequest, judged: JudgedCall
) -> list[RuleExplanation]:
    """Explains every rule of every source, in the order of the sources."""
    view = engine.get_view(entry)
    handed = (rule for file in engine.read_caller_rules(request) for rule in file.rules)
    found = [_explain_rule(rule, engine, view, request, judged) for rule in (*engine.rules, *handed)]
    cedar = engine.find_cedar_hits(view, request, judged)
    return found + [RuleExplanation(hit.rule, True, "its conditions hold") for hit in cedar]


def _explain_rule(
    rule: PolicyRule, engine: RuleEngine, view: ToolView, request: SurfaceRequest, judged: JudgedCall
) -> RuleExplanation:
    miss = find_tool_mismatch(rule, view)
    if miss == "tool" and rule.decision == "allow" and any(fits(rule.tool, alias) for alias in view.aliases):
        return RuleExplanation(rule, False, "`tool` fits an alias only, and an allow goes by the tool's own name")
    if miss is not None:
        return RuleExplanation(rule, False, f"`{miss}` does not fit the tool")
    miss = find_caller_mismatch(rule, request, engine.policy.groups)
    if miss is not None:
        return RuleExplanation(rule, False, f"`{miss}` does not fit the caller")
    compiled = compile_rule(rule, view, PathBase(engine.policy.root, engine.policy.home))
    missed = [check.key for check in compiled.checks if not check.test(judged)]
    if missed:
        return RuleExplanation(
            rule,
            False,
            f"{' and '.join(f'`{key}`' for key in missed)} {'does' if len(missed) == 1 else 'do'} not hold for these arguments",
        )
    return RuleExplanation(rule, True, "every matcher fits")
