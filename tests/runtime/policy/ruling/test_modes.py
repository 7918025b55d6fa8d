"""Modes: what no rule decides, and how far calls are narrowed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.runtime.policy.records import MODES
from ferrule.runtime.policy.ruling import combine_modes, decide_by_default
from tests.runtime.policy.ruling.strictness import STRICTNESS
from tests.runtime.policy.samples import caller, decide, engine, entry, rule, tool

READING = entry(tool("look", is_read_only=True))
HARMLESS = entry(tool("note", inferred=()))
UNSTATED = entry(tool("send"))


def behaviors(**texts: Any) -> list[str]:
    return [decide(engine(**texts), each).behavior for each in (READING, HARMLESS, UNSTATED)]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", ["allow", "allow", "ask"]),
        ("read_only", ["allow", "deny", "deny"]),
        ("ask_all", ["ask", "ask", "ask"]),
        ("trusted", ["allow", "allow", "allow"]),
        ("locked", ["deny", "deny", "deny"]),
    ],
)
def test_a_mode_decides_where_no_rule_does(mode: str, expected: list[str]) -> None:
    """AT-130, AT-42, AT-49: unstated facts are no proof of harmlessness."""
    assert behaviors(project_settings=f'mode = "{mode}"') == expected
    ruling = decide(engine(project_settings=f'mode = "{mode}"'), READING)
    assert (ruling.reason_type, ruling.mode) == ("mode", mode)


def test_without_any_policy_the_mode_is_default() -> None:
    assert behaviors() == ["allow", "allow", "ask"]


@pytest.mark.parametrize(("mode", "expected"), [("read_only", "deny"), ("ask_all", "ask"), ("locked", "deny")])
def test_an_allow_does_not_widen_a_narrowing_mode(mode: str, expected: str) -> None:
    made = engine(policy_settings=rule("allow", tool="send"), user_settings=f'mode = "{mode}"')
    assert decide(made, UNSTATED).behavior == expected


def test_trusted_still_asks_and_denies_by_rule() -> None:
    made = engine(project_settings='mode = "trusted"\n' + rule("ask", tool="send"))
    assert decide(made, UNSTATED).behavior == "ask"


def test_other_sources_only_tighten_the_mode() -> None:
    assert behaviors(user_settings='mode = "trusted"') == ["allow", "allow", "ask"]
    assert behaviors(policy_settings='mode = "trusted"') == ["allow", "allow", "allow"]
    assert behaviors(policy_settings='mode = "trusted"', local_settings='mode = "default"') == ["allow", "allow", "ask"]
    assert behaviors(policy_settings='mode = "read_only"', project_settings='mode = "trusted"') == [
        "allow",
        "deny",
        "deny",
    ]


def test_a_session_tightens_the_mode_and_never_loosens_it() -> None:
    made = engine(project_settings='mode = "default"')
    locked = decide(made, READING, caller(rules=({"mode": "locked"},)))
    assert (locked.behavior, locked.mode) == ("deny", "locked")
    assert decide(made, UNSTATED, caller(rules=({"mode": "trusted"},))).behavior == "ask"
    both = decide(made, READING, caller(rules=({"mode": "ask_all"}, {"mode": "read_only"})))
    assert (both.behavior, both.mode) == ("ask", "ask_all+read_only")


@given(st.sets(st.sampled_from(MODES), min_size=1), st.sampled_from(MODES), st.booleans(), st.booleans())
def test_one_more_mode_never_makes_a_call_easier(modes: Any, more: Any, reads: bool, harmless: bool) -> None:
    def strictness(given: Any) -> int:
        return STRICTNESS[decide_by_default(combine_modes(given), is_read_only=reads, is_harmless=harmless or reads)]

    assert strictness({*modes, more}) >= strictness(modes)


def test_where_nobody_can_be_asked_an_ask_is_a_refusal() -> None:
    """AT-142: it does not hang, does not run, and says why."""
    alone = caller(is_interactive=False)
    by_mode = decide(engine(), UNSTATED, alone)
    assert (by_mode.behavior, by_mode.reason_type) == ("deny", "mode")
    by_rule = decide(engine(policy_settings=rule("ask", tool="send", id="first")), UNSTATED, alone)
    assert (by_rule.behavior, by_rule.rule_refs) == ("deny", ("first",))
    assert by_rule.message.endswith("asks first; nobody can be asked here, so it is refused")
    assert decide(engine(), READING, alone).behavior == "allow"


def test_at_49_ask_for_destructive_means_possibly_destructive() -> None:
    """AT-49: an undeclared tool asks under "ask for destructive", one that states it is not destructive does not."""
    made = engine(project_settings='mode = "trusted"\n' + rule("ask", facts={"is_destructive": True}))
    assert [decide(made, each).behavior for each in (READING, HARMLESS, UNSTATED)] == ["allow", "allow", "ask"]
    stated = engine(project_settings=rule("deny", facts={"is_destructive": False}))
    assert [decide(stated, each).behavior for each in (READING, HARMLESS, UNSTATED)] == ["deny", "deny", "ask"]
