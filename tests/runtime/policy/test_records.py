"""Policy as data: how rules and files are named."""

from __future__ import annotations

from ferrule.runtime.policy.records import PolicyFile, PolicyRule


def test_a_rule_is_named_by_file_and_line_or_by_its_source() -> None:
    def place(file: str, line: int = 0) -> str:
        return PolicyRule(rule_id="a", decision="deny", source="session", file=file, line=line).place

    assert (place("policy.toml", 7), place("policy.toml"), place("")) == ("policy.toml:7", "policy.toml", "session")


def test_a_file_is_referred_to_by_name_and_digest() -> None:
    assert PolicyFile(source="session", name="policy.toml", digest="0123456789abcdef").ref == "policy.toml@0123456789ab"
