"""The traits of a tool: read once from its definition, and the stricter answer where it says little."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.surface import SurfaceEntry
from ferrule.runtime.pipeline.tool_facts import ToolTraits, is_input_fixed, read_traits
from tests.spec.running_app import make_tool


def traits(**said: Any) -> ToolTraits:
    return read_traits(SurfaceEntry(make_tool(**said), "", "loaded"))


@pytest.mark.parametrize(
    ("said", "is_read_only", "is_repeatable"),
    [
        ({}, False, False),
        ({"is_read_only": True}, True, True),
        ({"is_read_only": "classifier:shell"}, False, False),
        ({"idempotent": True}, False, True),
        ({"idempotent": "yes"}, False, False),
    ],
)
def test_only_a_plain_yes_makes_a_tool_harmless(said: dict[str, Any], is_read_only: bool, is_repeatable: bool) -> None:
    """AT-48: an expression, or a word that is no flag, is none."""
    found = traits(**said)
    assert (found.is_read_only, found.is_repeatable) == (is_read_only, is_repeatable)
    assert found.has_expressions is isinstance(said.get("is_read_only"), str)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ({}, None),
        ({"timeout_ms": 3000}, 3.0),
        ({"timeout_ms": 3000, "interface": {"timeout_ms": 500}, "transport": {"timeout_ms": 900}}, 0.5),
        ({"execution_profile": {"timeout_ms": 1500}, "transport": {"timeout_ms": 2000}}, 1.5),
        ({"timeout_ms": 0}, None),
        ({"timeout_ms": -5, "transport": {"timeout_ms": 700}}, 0.7),
        ({"timeout_ms": True}, None),
        ({"timeout_ms": "3000", "transport": "none"}, None),
    ],
)
def test_the_smallest_time_limit_counts(said: dict[str, Any], seconds: float | None) -> None:
    """AT-210"""
    assert traits(**said).timeout_seconds == seconds


@pytest.mark.parametrize(
    ("said", "risk"),
    [
        ({}, "high"),
        ({"is_read_only": True}, "medium"),
        ({"is_destructive": False}, "high"),
        ({"is_read_only": True, "permission_profile": {"risk_level": "critical"}}, "critical"),
        ({"is_read_only": True, "permission_profile": {"risk_level": "harmless"}}, "critical"),
        ({"risk_level": "low"}, "high"),
    ],
)
def test_a_risk_is_stated_or_follows_from_the_facts(said: dict[str, Any], risk: str) -> None:
    """AT-49: people who are asked are told the risk that rules go by, and only a permission profile states it."""
    assert traits(**said).risk == risk


@pytest.mark.parametrize(
    ("policy", "is_fixed"),
    [
        (None, False),
        ("allow", False),
        (True, False),
        ({"hooks": "allow", "approvers": True}, False),
        (False, True),
        ("forbid", True),
        ("immutable", True),
        ({"hooks": "allow", "approvers": "never"}, True),
        ({"hooks": {"replace": False}}, True),
    ],
)
def test_one_no_forbids_to_replace_the_input(policy: Any, is_fixed: bool) -> None:
    """AT-82: a word, a flag, or an object of these."""
    contract = {"mutation_policy": policy}
    assert traits(input_contract=contract).is_input_fixed is is_fixed
    assert is_input_fixed(make_tool(input_contract=contract)) is is_fixed


@pytest.mark.parametrize(
    ("stated", "use"), [(None, "auto"), ("never", "never"), ("required", "required"), ("often", "auto")]
)
def test_a_tool_says_whether_it_is_a_task(stated: str | None, use: str) -> None:
    assert traits(execution_profile={"task": stated}).task == use


def test_denials_before_anything_is_probed_are_asked_for_in_either_place() -> None:
    assert traits(interface={"deny_before_io": True}).denies_before_io
    assert traits(deny_before_io=True).denies_before_io
    assert not traits(deny_before_io="yes").denies_before_io


def test_a_tool_without_an_output_schema_has_no_validator() -> None:
    assert ToolTraits().compile_output_validator(make_tool()) is None
    validator = ToolTraits().compile_output_validator(make_tool(output_schema={"type": "integer"}))
    assert validator is not None and validator.is_valid(7) and not validator.is_valid("7")
