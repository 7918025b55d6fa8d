"""Safety facts that nobody stated fail closed and are marked, and any JSON value becomes the bytes a tool carries."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ferrule.model.tool import (
    FACT_NAMES,
    Exposure,
    PromptExposure,
    ResourceExposure,
    SafetyFacts,
    infer_facts,
    permission_profile,
    raw,
    risk_of,
)
from tests.spec.running_app import make_tool


def test_what_nobody_stated_fails_closed_and_is_marked() -> None:
    facts, marked = infer_facts({})
    assert facts == SafetyFacts() and marked == FACT_NAMES
    assert (facts.is_read_only, facts.is_concurrency_safe, facts.is_open_world, facts.strict) == (
        False,
        False,
        True,
        True,
    )


def test_what_is_stated_beats_what_is_derived() -> None:
    facts, marked = infer_facts({"is_read_only": False}, is_read_only=True, is_open_world=False)
    assert (facts.is_read_only, facts.is_open_world) == (False, False)
    assert "is_read_only" not in marked and "is_open_world" in marked


@pytest.mark.parametrize(
    "value", [{"a": [1, None, "é"]}, 2**70, {"big": -(2**65)}, "half \ud83d of a character", [1.5, True]], ids=repr
)
def test_any_json_value_can_be_carried(value: Any) -> None:
    assert json.loads(bytes(raw(value))) == value


@pytest.mark.parametrize(
    "exposure", [ResourceExposure(uri="file:///a", size=5), PromptExposure(completions={"a": ("b",)})], ids=repr
)
def test_an_exposure_says_what_it_is_when_it_is_written(exposure: Exposure) -> None:
    written = msgspec.json.encode(exposure)
    assert msgspec.json.decode(written, type=Exposure) == exposure
    assert set(msgspec.json.decode(written)) > {"as"}


@pytest.mark.parametrize(
    ("profile", "is_read_only", "risk"),
    [
        ({"risk_level": "low"}, False, "low"),
        ({"risk_level": "critical"}, True, "critical"),
        ({"risk_level": "harmless"}, True, "critical"),
        ({"risk_level": 1}, False, "critical"),
        ({}, True, "medium"),
        ({}, "classifier:shell", "high"),
        ({}, False, "high"),
    ],
)
def test_a_risk_nobody_states_is_what_the_facts_allow(profile: Any, is_read_only: bool | str, risk: str) -> None:
    assert risk_of(make_tool(is_read_only=is_read_only), {"permission_profile": profile}) == risk


@pytest.mark.parametrize("stated", [None, 7, [], "high"])
def test_a_profile_that_is_no_object_counts_as_none(stated: Any) -> None:
    assert permission_profile({"permission_profile": stated}) == permission_profile({}) == {}
