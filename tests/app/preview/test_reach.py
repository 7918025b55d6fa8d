"""What somebody may reach: how each tool stands on a surface, what the policy says to it, and who there is to ask about."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.app.preview.reach import (
    count_loading,
    estimate_surface_tokens,
    find_user,
    list_entries,
    list_users,
    make_surface_request,
    reach_tool,
)
from ferrule.model.surface import SurfaceSettings
from ferrule.model.tool import SafetyFacts
from tests.runtime.policy.samples import engine, rule
from tests.runtime.surface.surfaces import (
    make_agent_record,
    make_role_record,
    make_surface,
    make_surface_record,
    make_tool,
    make_view,
)

READS = SafetyFacts(is_read_only=True)


def stands(policy: Any, **circumstances: Any) -> tuple[str, str, str]:
    surface = make_surface(make_view(make_tool(facts=READS)), **circumstances)
    (entry,) = list_entries(surface)
    found = reach_tool(surface, entry, policy)
    return found.verdict, found.loading, found.why


@pytest.mark.parametrize("decision", ["allow", "ask", "deny"])
def test_a_rule_that_looks_at_no_argument_decides_for_every_call(decision: str) -> None:
    assert stands(engine(policy_settings=rule(decision, tool="search")))[:2] == (decision, "loaded")


def test_a_rule_about_arguments_makes_it_depend_and_is_named() -> None:
    text = '[[rules]]\nid = "small"\ndecision = "deny"\ntool = "search"\nwhen = { amount = { above = 5 } }\n'
    verdict, _, why = stands(engine(policy_settings=text))
    assert (verdict, why) == ("depends", "small looks at each call")


def test_a_tool_that_is_switched_off_is_gone_with_the_reason() -> None:
    verdict, loading, why = stands(engine(), switched_off={"acme.search"})
    assert verdict == "blocked" and loading == "gone" and "switched off" in why


def test_a_policy_that_fails_is_a_no() -> None:
    class Broken:
        def program(self, *_: Any) -> Any:
            raise LookupError("on purpose")

    assert stands(Broken())[0] == "deny"


def test_tools_are_counted_by_how_they_are_loaded() -> None:
    surface = make_surface(make_view(make_tool(), make_tool("other")), switched_off={"acme.other"})
    assert count_loading(list_entries(surface)) == {"loaded": 1, "deferred": 0, "hidden": 0, "gone": 1}


def test_a_longer_description_takes_more_of_a_models_attention() -> None:
    short, long = (make_surface(make_view(make_tool(description=text))) for text in ("Finds.", "Finds things. " * 50))
    assert estimate_surface_tokens(short, SurfaceSettings()) < estimate_surface_tokens(long, SurfaceSettings())


def test_agents_roles_and_surfaces_are_found_by_kind_and_id() -> None:
    tool = make_tool()
    view = make_view(tool, records=[make_agent_record(tool), make_role_record(), make_surface_record()])
    assert [one.id for one in list_users(view, "agent")] == ["helper"]
    assert [one.id for one in list_users(view, "role")] == ["reader"]
    assert list_users(view, "none") == []
    found = find_user(view, "surface", "desk")
    assert found is not None and (found.kind, found.id) == ("surface", "desk")
    assert find_user(view, "agent", "nobody") is None


def test_somebody_of_a_kind_asks_for_the_surface_of_that_kind_alone() -> None:
    asked = make_surface_request("role", "reader", principal="ada", tenant="acme")
    assert (asked.role, asked.agent, asked.surface_id, asked.tenant) == ("reader", None, None, "acme")
