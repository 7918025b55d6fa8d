"""What the scheduler goes by: which policy is stricter, when results may come unordered, and what a record tells of locks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.model.scheduling import (
    DEFAULT_POLICY,
    Claim,
    ModifierPolicy,
    OrderingPolicy,
    SchedulerPolicy,
    YieldPolicy,
    stricter,
)


@pytest.mark.parametrize(
    ("own", "policy", "holds"),
    [
        (None, "forbid", "forbid"),
        (None, "defer_until_batch_complete", "defer_until_batch_complete"),
        ("forbid", "allow_serial_only", "forbid"),
        ("allow_serial_only", "forbid", "forbid"),
        ("defer_until_batch_complete", "allow_serial_only", "allow_serial_only"),
        ("allow_serial_only", "defer_until_batch_complete", "allow_serial_only"),
    ],
)
def test_the_stricter_policy_for_modifiers_holds(
    own: ModifierPolicy | None, policy: ModifierPolicy, holds: ModifierPolicy
) -> None:
    assert stricter(own, policy) == holds


@pytest.mark.parametrize(
    ("ordering", "yielding", "is_unordered"),
    [
        ("allow_unordered", "unordered_streaming", True),
        ("allow_unordered", "all_ordered", False),
        ("preserve_terminal_order", "unordered_streaming", False),
        ("serial", "unordered_streaming", False),
    ],
)
def test_results_come_unordered_where_both_policies_say_so(
    ordering: OrderingPolicy, yielding: YieldPolicy, is_unordered: bool
) -> None:
    assert SchedulerPolicy(ordering_policy=ordering, yield_policy=yielding).is_unordered is is_unordered


def test_a_call_of_which_nothing_is_known_is_taken_for_dangerous() -> None:
    record = Claim("pay", "ada").to_record(DEFAULT_POLICY)
    assert record == {
        "is_concurrency_safe": False,
        "is_read_only": False,
        "is_destructive": True,
        "is_open_world": True,
        "requires_exclusive_context": False,
        "context_modifier_policy": "allow_serial_only",
        "resource_locks": [],
    }


def test_locks_are_told_as_others_may_see_them() -> None:
    claim = Claim("pay", "ada", locks=(("card:4111", False), ("shop:1", True)))
    assert claim.to_record(DEFAULT_POLICY)["resource_locks"] == [
        {"key": "card:4111", "mode": "exclusive"},
        {"key": "shop:1", "mode": "shared"},
    ]
    shown = claim.to_record(DEFAULT_POLICY, shown_locks=(("card:***", False),))
    assert shown["resource_locks"] == [{"key": "card:***", "mode": "exclusive"}]
    assert claim.to_record(DEFAULT_POLICY, shown_locks=())["resource_locks"] == []


@pytest.mark.parametrize(
    "written",
    [{"max_parallel": 0}, {"max_queued": 0}, {"scope": "world"}, {"resource_locks": [{"tool": "pay"}]}],
    ids=str,
)
def test_impossible_policies_are_refused(written: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(written, SchedulerPolicy)
