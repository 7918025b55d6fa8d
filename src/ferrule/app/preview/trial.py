"""Asks a policy about a call without making it: the tool as on a surface of the caller, the rules as given.

Used by `ferrule policy explain`, `ferrule policy test` and the HTTP API. Writes nothing and runs none of the workspace's code.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ferrule.app.preview.narrowed_catalog import NarrowedCatalog
from ferrule.app.preview.preview import Preview, preview_call
from ferrule.contracts.policy import Classifier, PolicyEngine
from ferrule.contracts.surface import CatalogView, Provider
from ferrule.errors import FerruleError, PolicyError
from ferrule.model.hints import nearest
from ferrule.model.surface import Surface, SurfaceEntry, SurfaceRequest
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.policy.cases import Case
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.engine import RuleEngine, RuleExplanation, explain_rules
from ferrule.runtime.surface.build import build_surface


class TrialCall(NamedTuple):
    """One call that the policy was asked about, and its preview."""

    entry: SurfaceEntry
    request: SurfaceRequest
    preview: Preview


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """One case of the table, and its result."""

    name: str
    line: int
    """The line of the case in its file."""
    tool: str
    expect: str
    behavior: str | None
    """The verdict; null when the caller has no such tool."""
    rule_refs: tuple[str, ...]
    """Every rule that matched, the deciding one first."""
    passed: bool
    failure: str | None
    """The failure; null when the case passed."""


def make_case_result(case: Case, found: Preview | None, failure: str | None) -> CaseResult:
    """Makes the result of a case. `found`: the preview of its call; None when the caller has no such tool."""
    ruling = found.ruling if found is not None else None
    return CaseResult(
        name=case.name,
        line=case.line,
        tool=case.tool,
        expect=case.expect,
        behavior=found.verdict if found is not None else None,
        rule_refs=ruling.rule_refs if ruling is not None else (),
        passed=failure is None,
        failure=failure,
    )


def why_case_failed(case: Case, found: Preview) -> str | None:
    """Returns why a case failed; None when it passed."""
    ruling = found.ruling
    is_by_rule = ruling is not None and ruling.rule_refs and ruling.reason_type == "rule"
    deciding = ruling.rule_refs[0] if ruling is not None and is_by_rule else ""
    if found.verdict != case.expect:
        return f"expected {case.expect}, and it is {found.verdict}: {found.why}"
    if case.rule and case.rule != deciding:
        return f"expected the rule {case.rule!r} to decide, and it was {deciding or 'no rule'!r}: {found.why}"
    return None


class PolicyTrial:
    """Tools and rules that can be asked about calls."""

    def __init__(
        self,
        catalog: CatalogView,
        engine: PolicyEngine,
        *,
        switched_off: Container[str] = (),
        classifiers: Mapping[str, Classifier] = BUILTIN,
    ) -> None:
        self._catalog = catalog
        self.engine = engine
        self._off = switched_off
        self._classifiers = classifiers
        self._surfaces: dict[tuple[str, str], Surface] = {}

    async def try_call(self, name: str, arguments: JsonObject, caller: JsonObject, now: int = 0) -> TrialCall:
        """Previews one call. `caller`: members of a `SurfaceRequest`. Raises PolicyError when the caller has no such tool,
        SurfaceError for an unknown agent or role."""
        request = SurfaceRequest(**{"principal": "somebody", "channel": "policy", **caller})
        entry = self._find_entry(name, request)
        found = await preview_call(entry, request, self.engine, arguments, now=now, classifiers=self._classifiers)
        return TrialCall(entry, request, found)

    async def test_cases(self, cases: Iterable[Case]) -> list[CaseResult]:
        """Tests a table of cases."""
        return [await self._test_case(case) for case in cases]

    async def _test_case(self, case: Case) -> CaseResult:
        try:
            found = (await self.try_call(case.tool, case.arguments, case.caller)).preview
        except FerruleError as error:
            return make_case_result(case, None, str(error))
        return make_case_result(case, found, why_case_failed(case, found))

    def explain(self, tried: TrialCall) -> list[RuleExplanation]:
        """Returns every rule with its outcome; none where the policy is unusable."""
        judged = tried.preview.judged
        if not isinstance(self.engine, RuleEngine) or judged is None:
            return []
        return explain_rules(self.engine, tried.entry, tried.request, judged)

    def _find_entry(self, name: str, request: SurfaceRequest) -> SurfaceEntry:
        # Without an agent the surface is made of this tool alone, so each tool has its own.
        key = (repr(request), name if request.agent is None else "")
        if key not in self._surfaces:
            named = (name, *self._catalog.find_ids(name))
            view = self._catalog if request.agent is not None else NarrowedCatalog(self._catalog, named)
            self._surfaces[key] = build_surface(
                view,
                request,
                # An engine would take off the surface what it denies, and then nothing could be asked about it.
                engine=None,
                now=0,
                new_id=lambda: "srf_trial",
                readiness=_EverythingReady(),
                switched_off=self._off,
            )
        surface = self._surfaces[key]
        entry = surface.find(name)
        if entry is not None:
            return entry
        if surface.is_ambiguous(name):
            raise PolicyError(f"{name!r} means several tools: {', '.join(surface.names[name])}; name one of them")
        known = surface.names if request.agent is not None else _list_names(self._catalog)
        hint = nearest(name, known) or "`ferrule list` lists them all"
        raise PolicyError(f"{request.agent or 'this workspace'} has no tool {name!r}; {hint}")


class _EverythingReady:
    """Claims that every credential and setup is present: the question is about the policy alone."""

    def missing_credentials(self, tool: Tool, names: Sequence[str]) -> Collection[str]:
        return ()

    def is_switched_on(self, tool: Tool) -> bool:
        """Returns False: the environment is not asked."""
        return False

    def is_set_up(self, tool: Tool) -> bool:
        return True

    def provider(self, tool: Tool) -> Provider | None:
        return None


def _list_names(catalog: CatalogView) -> list[str]:
    tools = [listed.tool for listed in catalog.list_preferred()]
    return [name for tool in tools for name in (tool.name, *tool.aliases)]
