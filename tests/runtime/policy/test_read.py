"""One policy file: text in, records and findings out, and which source may say what."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.decision import RULE_SOURCES
from ferrule.runtime.policy.read import ParsedPolicy, compute_digest, make_unreadable, read_text, read_value
from ferrule.runtime.policy.table import DUPLICATE_ID, UNKNOWN_KEY, UNREADABLE

OWNERS = ("policy_settings", "project_settings")


def read(text: str, source: Any = "policy_settings", **options: Any) -> ParsedPolicy:
    return read_text(text, source, "policy.toml", **options)


def find_codes(found: ParsedPolicy) -> list[str]:
    return [finding.rule for finding in found.errors]


def test_rules_have_the_lines_they_stand_at() -> None:
    found = read('mode = "locked"\n\n[[rules]]\ndecision = "ask"\n\n[[rules]]\nid = "b"\ndecision = "deny"\n')
    assert found.file.mode == "locked"
    assert [(rule.rule_id, rule.place) for rule in found.file.rules] == [
        ("policy.toml#1", "policy.toml:3"),
        ("b", "policy.toml:6"),
    ]


def test_text_that_is_no_toml_is_told_at_its_line() -> None:
    found = read('mode = "locked"\n[[rules]\n')
    assert find_codes(found) == [UNREADABLE]
    assert found.locate(found.errors[0]).line == 2
    assert found.file.rules == () and found.file.mode is None


def test_a_table_of_a_larger_file_is_read_with_the_lines_of_that_file() -> None:
    found = read('[other]\nx = 1\n[policy]\nmode = "trustd"\n', "project_settings", below=("policy",))
    assert [finding.path for finding in found.errors] == [("policy", "mode")]
    assert found.locate(found.errors[0]).line == 4
    assert not read("[other]\nx = 1\n", "project_settings", below=("policy",)).findings


@pytest.mark.parametrize("source", RULE_SOURCES)
def test_only_the_workspaces_own_files_define_groups_and_classifiers(source: Any) -> None:
    found = read('[groups]\nfinance = ["ada"]\n[[classifiers]]\nname = "x"\n', source)
    if source in OWNERS:
        assert found.file.groups == {"finance": ("ada",)}
        assert [(use.name, use.authority, use.tools) for use in found.file.classifiers] == [("x", "recommend", ("*",))]
    else:
        assert find_codes(found) == [UNKNOWN_KEY] * 2
        assert found.file.groups == {} and found.file.classifiers == ()


@pytest.mark.parametrize("source", RULE_SOURCES)
def test_only_the_reviewers_file_makes_hooks_authoritative(source: Any) -> None:
    found = read('authoritative_hooks = ["guard"]\n', source)
    is_reviewers = source == "policy_settings"
    assert found.file.authoritative_hooks == (("guard",) if is_reviewers else ())
    assert find_codes(found) == ([] if is_reviewers else [UNKNOWN_KEY])


def test_the_settings_choose_the_other_files_and_nobody_else_does() -> None:
    text = 'file = "mine.toml"\nengine = "cedar"\nshadow = "next.toml"\n'
    assert read(text, "project_settings").choices == ("mine.toml", "cedar", "policy.cedar", "next.toml")
    other = read(text)
    assert find_codes(other) == [UNKNOWN_KEY] * 3
    assert {finding.hint for finding in other.errors} == {"it belongs into [policy] of ferrule.toml"}
    assert other.choices == ("policy.toml", "rules", "policy.cedar", "")


def test_two_rules_of_one_id_are_told() -> None:
    found = read('[[rules]]\nid = "a"\ndecision = "ask"\n[[rules]]\nid = "a"\ndecision = "deny"\n')
    assert find_codes(found) == [DUPLICATE_ID]
    assert found.locate(found.errors[0]).line == 5


def test_a_group_may_be_empty() -> None:
    assert read("[groups]\nnobody = []\n").file.groups == {"nobody": ()}


def test_what_is_handed_over_as_data_has_no_lines() -> None:
    found = read_value({"rules": [{"decision": "deny"}]}, "session", "session", file="")
    (rule,) = found.file.rules
    assert (rule.rule_id, rule.place) == ("session#1", "session")
    assert find_codes(read_value([], "session", "session")) == [UNREADABLE]


def test_equal_policies_have_one_digest_whatever_their_layout() -> None:
    one, two = read('[groups]\na = ["x"]\nb = ["y"]\n'), read('groups = { b = ["y"], a = ["x"] } # the same\n')
    assert one.file.digest == two.file.digest == compute_digest({"groups": {"a": ["x"], "b": ["y"]}})
    assert read('[groups]\na = ["z"]\n').file.digest != one.file.digest


def test_a_file_that_cannot_be_had_is_an_error_at_its_beginning() -> None:
    found = make_unreadable("user_settings", "mine.toml", "cannot be read")
    assert [finding.message for finding in found.errors] == ["mine.toml cannot be read"]
    assert found.locate(found.errors[0]).line == 1
