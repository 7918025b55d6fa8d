"""Policy as data: how rules and files are named, and the risk of a tool whose profile says little."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.runtime.policy.records import PolicyFile, PolicyRule, permission_profile, risk_of
from tests.runtime.policy.samples import tool


def test_a_rule_is_named_by_file_and_line_or_by_its_source() -> None:
    def place(file: str, line: int = 0) -> str:
        return PolicyRule(rule_id="a", decision="deny", source="session", file=file, line=line).place

    assert (place("policy.toml", 7), place("policy.toml"), place("")) == ("policy.toml:7", "policy.toml", "session")


def test_a_file_is_referred_to_by_name_and_digest() -> None:
    assert PolicyFile(source="session", name="policy.toml", digest="0123456789abcdef").ref == "policy.toml@0123456789ab"


@pytest.mark.parametrize(
    ("profile", "facts", "risk"),
    [
        ({"risk_level": "low"}, {}, "low"),
        ({"risk_level": "critical"}, {"is_read_only": True}, "critical"),
        ({"risk_level": "harmless"}, {"is_read_only": True}, "critical"),
        ({"risk_level": 1}, {}, "critical"),
        ({}, {"is_read_only": True}, "medium"),
        ({}, {"is_read_only": "classifier:shell"}, "high"),
        ({}, {}, "high"),
    ],
)
def test_a_risk_nobody_states_is_what_the_facts_allow(profile: Any, facts: Any, risk: str) -> None:
    assert risk_of(tool(payload={"permission_profile": profile}, **facts)) == risk


@pytest.mark.parametrize("stated", [None, 7, [], "high"])
def test_a_profile_that_is_no_object_counts_as_none(stated: Any) -> None:
    assert permission_profile({"permission_profile": stated}) == permission_profile({}) == {}
