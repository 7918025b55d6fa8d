"""Cedar in place of the table of rules; everything else about a decision stays."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from msgspec.structs import replace

from ferrule.errors import ExtraMissing, PolicyError
from ferrule.runtime.policy.engine import RuleEngine, make_engine
from ferrule.runtime.policy.load import load_policy
from tests.runtime.policy.samples import caller, decide, entry, policy, tool, write

if os.environ.get("FERRULE_REQUIRE_SERVICES") != "1":
    pytest.importorskip("cedarpy", reason="cedarpy is not installed: pip install 'ferrule[cedar]'")

POLICIES = """\
// permit( is only a word here
@id("small") permit(principal in Group::"finance", action, resource == Tool::"refund")
  when { context.arguments.amount <= 100 };

@id("big") @ask("money leaves the house") @approvers("group:finance, eve") @people("2") @not_requester @expires("4h")
permit(principal, action, resource == Tool::"refund") when { context.arguments.amount > 100 };

@id("no-eve") forbid(principal == User::"eve", action, resource);
@id("looking") permit(principal, action, resource in Namespace::"shop") when { context.facts.is_read_only };
@id("harmless") permit(principal, action, resource) unless { context.facts.is_destructive };
@id("no-prod") forbid(principal, action, resource) when { context.arguments has env && context.arguments.env.contains("x") };
"""


def cedar(text: str = POLICIES, **texts: str) -> RuleEngine:
    made = policy(**{"policy_settings": '[groups]\nfinance = ["ada"]\n', **texts})
    return make_engine(replace(made, cedar=text, cedar_file="policy.cedar"))


def test_cedar_is_installed_where_services_are_required() -> None:
    assert find_spec("cedarpy") is not None


def test_permit_allows_forbid_denies_and_ask_asks() -> None:
    small = decide(cedar(), amount=5)
    assert (small.behavior, small.rule_refs, small.source) == ("allow", ("small",), "policy_settings")
    big = decide(cedar(), amount=500)
    assert (big.behavior, big.rule_refs) == ("ask", ("big",))
    assert big.requirement.approvers == ("group:finance", "eve")
    assert (big.requirement.people, big.requirement.not_requester, big.requirement.expires_seconds) == (2, True, 14400)
    assert big.message == "rule 'big' (policy.cedar:6) asks first: money leaves the house"
    denied = decide(cedar(), by=caller(principal="eve"), amount=5)
    assert (denied.behavior, denied.rule_refs[0]) == ("deny", "no-eve")


def test_what_no_policy_decides_is_left_to_the_mode() -> None:
    ruling = decide(cedar(), entry(tool("other")))
    assert (ruling.behavior, ruling.reason_type) == ("ask", "mode")


def test_facts_and_namespaces_can_be_asked() -> None:
    """AT-49: an unstated "not destructive" is no proof here either."""
    assert decide(cedar(), entry(tool("look", is_read_only=True))).rule_refs[0] == "looking"
    assert decide(cedar(), entry(tool("other"))).rule_refs == ()
    assert decide(cedar(), entry(tool("other", inferred=()))).rule_refs == ("harmless",)


def test_a_policy_that_cannot_be_worked_out_fails_closed() -> None:
    assert decide(cedar(), amount=5.5).rule_refs == ("big",)
    assert decide(cedar(), amount=5.5).behavior == "ask"
    assert decide(cedar(), amount=5, env="prod").behavior == "deny"
    assert decide(cedar(), amount=1e40).behavior == "deny"
    assert decide(cedar(), amount=None).behavior == "ask"


def test_requirements_and_other_sources_hold_beside_cedar() -> None:
    """AT-123, AT-135: Cedar replaces a table, not the rules about rules."""
    required = entry(tool("look", is_read_only=True), approval_from=("role",))
    assert decide(cedar(), required).behavior == "ask"
    assert decide(cedar(), entry(approval_from=("role",)), amount=5).behavior == "allow"
    stricter = cedar(project_settings='[[rules]]\ntool = "refund"\ndecision = "deny"\nid = "none"\n')
    assert decide(stricter, amount=5).rule_refs[0] == "none"


def test_a_mistake_in_the_text_refuses_everything(tmp_path: Path) -> None:
    for text in ("permit(principal action);", '@decision("maybe") permit(principal, action, resource);',
                 '@people("none") permit(principal, action, resource);'):  # fmt: skip
        with pytest.raises(PolicyError, match=r"policy\.cedar"):
            cedar(text)
    with pytest.raises(PolicyError, match=r"policy\.cedar"):
        load_policy(tmp_path, {"engine": "cedar"}, {})
    write(tmp_path, "policy.cedar", POLICIES)
    assert "no-eve" in make_engine(load_policy(tmp_path, {"engine": "cedar"}, {})).text


def test_cedar_that_is_not_installed_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cedarpy", None)
    with pytest.raises(ExtraMissing, match=r"""^\[policy\] engine = "cedar" needs .* 'ferrule\[cedar\]'$"""):
        cedar()
