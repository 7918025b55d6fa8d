"""Who may use one tool, asked of everybody in the catalog."""

from __future__ import annotations

from typing import Any

from ferrule.app.preview.tool_reach import (
    CallerAccess,
    CallerKind,
    SurfaceContext,
    list_caller_access,
    list_rules_about_others,
)
from ferrule.model.surface import SurfaceSettings
from ferrule.model.tool import SafetyFacts
from ferrule.runtime.surface.catalogs import SealedCatalog
from tests.runtime.policy.samples import engine
from tests.runtime.surface.surfaces import (
    DenyingPolicy,
    FakeReadiness,
    make_agent_record,
    make_role_record,
    make_surface_record,
    make_tool,
    make_view,
)

READS = SafetyFacts(is_read_only=True)


def asked(
    view: SealedCatalog, tool_id: str = "acme.search", *, policy: Any = None, most: int = 50, **here: Any
) -> dict[tuple[CallerKind, str], CallerAccess]:
    given = SurfaceContext(view, policy or engine(), here.get("off", ()), FakeReadiness(), SurfaceSettings(), 0)
    found, _ = list_caller_access(tool_id, given, most)
    return {(reach.kind, reach.name): reach for reach in found}


def test_agents_roles_and_surfaces_are_asked_one_by_one() -> None:
    mine, other = make_tool(facts=READS), make_tool("other")
    records = [make_agent_record(mine), make_agent_record(other, name="stranger"), make_role_record({"ref": "acme.search"}),
               make_role_record(name="nothing"), make_surface_record(tool_refs=["acme.search"])]  # fmt: skip
    found = asked(make_view(mine, other, records=records))
    assert {who: reach.access for who, reach in found.items()} == {
        ("anyone", ""): "allow",
        ("agent", "helper"): "allow",
        ("agent", "stranger"): "blocked",
        ("role", "nothing"): "blocked",
        ("role", "reader"): "allow",
        ("surface", "desk"): "allow",
    }
    assert found["agent", "stranger"].why == "it is not among its tools"


def test_what_is_switched_off_or_not_there_is_told() -> None:
    view = make_view(make_tool(facts=READS))
    (reach,) = asked(view, off={"acme.search"}).values()
    assert reach.access == "blocked"
    assert "switched off" in reach.why
    assert asked(view, "acme.nothing") == {}


def test_rules_decide_and_their_conditions_are_told() -> None:
    policy = engine(
        policy_settings="""
[[rules]]
id = "small"
decision = "allow"
tool = "search"
when = { amount = { at_most = 20 }, "to.country" = { in = ["DE", "SE"] }, note = { present = false } }
[[rules]]
id = "bob"
decision = "deny"
tool = "search"
principal = "bob"
"""
    )
    tool = make_tool(inferred_facts=("is_destructive",))
    view = make_view(tool)
    (reach,) = asked(view, policy=policy).values()
    assert (reach.access, reach.depends_on_input) == ("depends", True)
    (rule,) = reach.rules
    assert (rule.rule_id, rule.is_always) == ("small", False)
    assert rule.condition == 'amount is at most 20 and to.country is "DE" or "SE" and note is not given'
    (other,) = list_rules_about_others(view.versions("acme.search")[0], policy)
    assert (other.rule_id, other.condition) == ("bob", "principal is bob")


def test_a_policy_that_fails_allows_nothing() -> None:
    class Broken(DenyingPolicy):
        def program(self, *given: Any) -> Any:
            raise RuntimeError("no")

        def surface_ruling(self, *given: Any) -> Any:
            return None

    (reach,) = asked(make_view(make_tool(facts=READS)), policy=Broken()).values()
    assert reach.access == "deny"
    assert "failed" in reach.why


def test_there_is_an_end_to_asking() -> None:
    tool = make_tool(facts=READS)
    view = make_view(tool, records=[make_agent_record(tool, name=f"agent{number}") for number in range(9)])
    given = SurfaceContext(view, engine(), (), FakeReadiness(), SurfaceSettings(), 0)
    found, is_cut = list_caller_access("acme.search", given, 5)
    assert (len(found), is_cut) == (5, True)
