"""Conditions on argument values: what cannot be judged counts against the call."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.policy.samples import decide, engine, rule


@pytest.mark.parametrize(
    ("condition", "value", "for_deny", "for_allow"),
    [
        ({"above": 100}, 101, True, True),
        ({"above": 100}, 100, False, False),
        ({"at_least": 100}, 100, True, True),
        ({"below": 100}, 99.5, True, True),
        ({"at_most": 100}, 100.5, False, False),
        ({"above": 100}, "500", True, False),
        ({"above": 100}, True, True, False),
        ({"above": 100}, [5, 500], True, False),
        ({"above": 100}, None, False, False),
        ({"equals": "DE"}, "DE", True, True),
        ({"equals": 1}, True, False, False),
        ({"equals": 1}, 1.0, True, True),
        ({"equals": {"a": [1]}}, {"a": [1]}, True, True),
        ({"not": "DE"}, "FR", True, True),
        ({"not": "DE"}, "DE", False, False),
        ({"not": "DE"}, None, True, False),
        ({"in": ["DE", "FR"]}, "FR", True, True),
        ({"not_in": ["DE", "FR"]}, "US", True, True),
        ({"not_in": ["DE", "FR"]}, None, True, False),
        ({"matches": "[a-z]+@example[.]com"}, "ada@example.com", True, True),
        ({"matches": "[a-z]+"}, "ada@example.com", False, False),
        ({"matches": ".*x.*"}, "a\nx\nb", True, True),
        ({"contains": "pass"}, "a password", True, True),
        ({"contains": "pass"}, 7, True, False),
        ({"starts_with": "a"}, "ab", True, True),
        ({"present": True}, 0, True, True),
        ({"present": False}, 0, False, False),
        ({"present": False}, None, True, True),
        ({"above": 1, "below": 5}, 3, True, True),
        ({"above": 1, "below": 5}, 7, False, False),
        ("DE", "DE", True, True),
    ],
)
def test_conditions_on_arguments(condition: Any, value: Any, for_deny: bool, for_allow: bool) -> None:
    arguments: dict[str, Any] = {"order": [{"amount": value}] if value is not None else []}
    for decision, expected in (("deny", for_deny), ("ask", for_deny), ("allow", for_allow)):
        made = engine(project_settings=rule(decision, when={"order.amount": condition}))
        assert (decide(made, **arguments).reason_type == "rule") is expected, decision
