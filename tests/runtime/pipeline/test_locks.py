"""The keys of resource locks: members of the input in them, one spelling for one value, and no for what is not understood."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from ferrule.model.scheduling import Claim, ResourceLock, SchedulerPolicy
from ferrule.model.tool import SafetyFacts
from ferrule.runtime.pipeline.locks import MAX_KEY_CHARS, build_claim, read_lock_plan

PLAIN = SchedulerPolicy()


def keys(written: Any, arguments: Any = None) -> list[str]:
    return [key for key, _ in read_lock_plan({"resource_locks": written}, "t", PLAIN).list_keys(arguments)]


@pytest.mark.parametrize(
    ("template", "arguments", "key"),
    [
        ("stock", {}, "stock"),
        ("order:{id}", {"id": "A7"}, "order:A7"),
        ("order:{id}", {"id": 7}, "order:7"),
        ("order:{id}", {"id": "7"}, "order:7"),
        ("order:{id}", {"id": 7.0}, "order:7"),
        ("order:{id}", {"id": 7.5}, "order:7.5"),
        ("order:{id}", {"id": True}, "order:true"),
        ("order:{id}", {"id": None}, "order:"),
        ("order:{id}", {}, "order:"),
        ("order:{id}", "no object", "order:"),
        ("{a.b}/{items.0}", {"a": {"b": "x"}, "items": ["y"]}, "x/y"),
        ("{a.b}", {"a.b": "itself", "a": {"b": "x"}}, "itself"),
        ("{items.9}{items.-1}{items.x}{items.²}", {"items": [1]}, ""),
        ("{items.99999999999999999999}", {"items": [1]}, ""),
        ("{a}", {"a": {"y": 1, "x": [2.0]}}, '{"x":[2],"y":1}'),
        ("{a.b.c}", {"a": 1}, ""),
    ],
)  # fmt: skip
def test_members_of_the_input_stand_in_the_key(template: str, arguments: Any, key: str) -> None:
    """AT-164"""
    assert keys([template], arguments) == [key]


def test_locks_are_found_wherever_a_definition_may_have_them() -> None:
    payload = {
        "resource_locks": ["a"],
        "tool_interface": {"resource_locks": [{"key": "b", "mode": "shared"}]},
        "interface": {"resource_locks": "c"},
        "scheduler": {"resource_locks": {"key": "d"}},
        "execution_profile": {"resource_locks": ["a", {"key": "e", "mode": "shared", "why": "told elsewhere"}]},
    }
    assert read_lock_plan(payload, "t", PLAIN).list_keys({}) == (
        ("a", False),
        ("b", True),
        ("c", False),
        ("d", False),
        ("e", True),
    )


def test_a_policy_locks_the_tools_it_names() -> None:
    policy = SchedulerPolicy(
        resource_locks=(
            ResourceLock(key="bank", tool="bank.*"),
            ResourceLock(key="order:{id}", tool="bank.pay", mode="shared"),
            ResourceLock(key="all", mode="shared"),
        )
    )
    pay = (("all", True), ("bank", False), ("order:1", True))
    assert read_lock_plan({}, "bank.pay", policy).list_keys({"id": 1}) == pay
    assert read_lock_plan({}, "bank.look", policy).list_keys({"id": 1}) == (("all", True), ("bank", False))
    assert read_lock_plan({}, "Bank.pay", policy).list_keys({}) == (("all", True),)


def test_exclusive_wins_over_shared() -> None:
    written = [{"key": "a", "mode": "shared"}, "a", {"key": "{x}", "mode": "shared"}]
    assert read_lock_plan({"resource_locks": written}, "t", PLAIN).list_keys({"x": "a"}) == (("a", False),)


@pytest.mark.parametrize("mode", ["read", "", None, 7, ["shared"], "SHARED"])
def test_a_mode_nobody_knows_is_exclusive(mode: Any) -> None:
    assert read_lock_plan({"resource_locks": [{"key": "a", "mode": mode}]}, "t", PLAIN).list_keys({}) == (("a", False),)


@pytest.mark.parametrize(
    "entry", [7, None, True, [], {}, {"scope": "a"}, {"key": 3}, "", " ", "{", "a}", "{}", "{{a}}", "{a"]
)
def test_a_lock_that_is_not_understood_makes_the_tool_run_alone(entry: Any) -> None:
    plan = read_lock_plan({"resource_locks": ["good", entry]}, "t", PLAIN)
    assert plan.is_unreadable
    claim = build_claim("t", SafetyFacts(is_concurrency_safe=True), plan, {}, principal="ann")
    assert claim.requires_exclusive_context
    assert ("good", False) in claim.locks
    assert ("unreadable locks of t", False) in claim.locks, "calls of the tool in other lanes do not overlap either"
    other = read_lock_plan({"resource_locks": [entry]}, "another", PLAIN)
    shared = {key for key, _ in other.list_keys({})} & {key for key, _ in claim.locks}
    assert shared, "nor those of another tool with the same entry"


@pytest.mark.parametrize("name", ["key", "resource", "name", "lock"])
def test_the_key_of_a_lock_has_several_names(name: str) -> None:
    assert keys([{name: "order:{id}"}], {"id": 1}) == ["order:1"]
    assert keys([{"key": "a", name: "a"}]) == ["a"]


@pytest.mark.parametrize("written", [7, True, "", {}, 1.5])
def test_locks_that_are_no_list_are_one_lock(written: Any) -> None:
    assert read_lock_plan({"resource_locks": written}, "t", PLAIN).is_unreadable


def test_a_tool_without_locks_has_none() -> None:
    written: list[dict[str, Any]] = [
        {},
        {"resource_locks": None},
        {"resource_locks": []},
        {"interface": 3, "scheduler": []},
    ]
    for payload in written:
        assert read_lock_plan(payload, "t", PLAIN) is read_lock_plan({}, "t", PLAIN)
        assert read_lock_plan(payload, "t", PLAIN).list_keys({}) == ()


def test_locks_without_members_are_the_same_for_every_call() -> None:
    assert read_lock_plan({}, "t", PLAIN).is_fixed
    assert read_lock_plan({"resource_locks": ["a", "b"]}, "t", PLAIN).is_fixed
    assert not read_lock_plan({"resource_locks": ["a", "{b}"]}, "t", PLAIN).is_fixed


def test_long_members_do_not_make_long_keys() -> None:
    one, other = keys(["{a}"], {"a": "x" * 10_000}), keys(["{a}"], {"a": "x" * 10_001})
    assert one != other
    assert len(one[0]) < MAX_KEY_CHARS
    assert keys(["{a}"], {"a": "\ud800" * 1000}) == keys(["{a}"], {"a": "\ud800" * 1000})


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_any_value_gives_the_same_key_again(value: Any) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: turned(value[name]) for name in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    assert keys(["k:{a}"], {"a": value}) == keys(["k:{a}"], {"a": turned(value)})


def test_a_value_nested_too_deep_is_no_way_out() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert keys(["k:{a}"], {"a": deep}) == ["k:"]


def test_the_facts_of_the_call_are_claimed() -> None:
    """AT-159"""
    facts = SafetyFacts(is_read_only=True, is_concurrency_safe=True, is_destructive=False, is_open_world=False)
    plan = read_lock_plan({"resource_locks": ["order:{id}"]}, "t", PLAIN)
    claim = build_claim("t", facts, plan, {"id": 3}, principal="ann", priority=2)
    assert claim == Claim("t", "ann", True, True, False, False, False, (("order:3", False),), 2)
    assert claim.to_record(PLAIN) == {
        "is_concurrency_safe": True,
        "is_read_only": True,
        "is_destructive": False,
        "is_open_world": False,
        "requires_exclusive_context": False,
        "context_modifier_policy": "allow_serial_only",
        "resource_locks": [{"key": "order:3", "mode": "exclusive"}],
    }


def test_a_record_shows_no_member_that_others_may_not_see() -> None:
    plan = read_lock_plan({"resource_locks": ["card:{number}"]}, "t", PLAIN)
    claim = build_claim("t", SafetyFacts(), plan, {"number": "4111"}, principal="ann")
    shown = claim.to_record(PLAIN, shown_locks=plan.list_keys({"number": "***"}))
    assert shown["resource_locks"] == [{"key": "card:***", "mode": "exclusive"}]


def test_facts_that_were_not_worked_out_count_as_the_stricter_ones() -> None:
    asked = SafetyFacts(is_read_only="same_as:x", is_concurrency_safe="classifier:y", is_destructive="classifier:y")
    claim = build_claim("t", asked, read_lock_plan({}, "t", PLAIN), {}, principal="ann")
    assert (claim.is_read_only, claim.is_concurrency_safe, claim.is_destructive) == (False, False, True)
