"""Names that a target takes: legal, one for each tool, the same whatever else is in the list (AT-261)."""

from __future__ import annotations

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.definitions.formats.legal_names import NameRule, assign_legal_names
from ferrule.model.tool import Tool

OPENAI = NameRule("A-Za-z0-9_-", 64)
GEMINI = NameRule("A-Za-z0-9_-", 64, "A-Za-z_")
SHORT = NameRule("a-z0-9_", 20)
ODD = [
    "search",
    "search!",
    "a.b",
    "a_b",
    "a b",
    "größe",
    "…",
    "",
    "3d",
    "_",
    "x" * 200,
    "x" * 199 + "y",
    "\ud800",
    "tool",
]


def tool(name: str, namespace: str = "shop") -> Tool:
    return Tool(
        tool_id=f"{namespace}.{name}",
        namespace=namespace,
        name=name,
        description="",
        lifecycle="available",
        tool_kind="function",
        dialect="agent_tool",
    )


def test_a_legal_name_is_kept_and_another_one_keeps_its_letters() -> None:
    names = assign_legal_names([tool("order_status"), tool("orders.refund"), tool("x" * 80)], OPENAI)
    assert names["shop.order_status"] == "order_status"
    assert names["shop.orders.refund"] == "orders_refund"
    assert re.fullmatch(r"x{55}_[0-9a-f]{8}", names["shop." + "x" * 80])


def test_the_first_character_may_have_a_rule_of_its_own() -> None:
    assert assign_legal_names([tool("3d-model")], GEMINI) == {"shop.3d-model": "_3d-model"}
    assert assign_legal_names([tool("3d-model")], OPENAI) == {"shop.3d-model": "3d-model"}


def test_tools_of_one_name_are_told_apart_by_their_namespace() -> None:
    names = assign_legal_names([tool("search", "shop"), tool("search", "crm")], OPENAI)
    assert names == {"shop.search": "shop_search", "crm.search": "crm_search"}


def test_who_bears_a_name_keeps_it_against_one_that_would_be_given_it() -> None:
    names = assign_legal_names([tool("a.b"), tool("a_b")], OPENAI)
    assert names == {"shop.a_b": "a_b", "shop.a.b": "shop_a_b"}


def test_reserved_names_are_given_to_nobody() -> None:
    assert assign_legal_names([tool("search")], OPENAI, ["search"]) == {"shop.search": "shop_search"}


@given(
    st.lists(
        st.tuples(st.sampled_from(ODD) | st.text(max_size=70), st.sampled_from(["shop", "crm", "", "a b"])), max_size=12
    ),
    st.sampled_from([OPENAI, GEMINI, SHORT]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=150, deadline=None)
def test_names_are_legal_unlike_and_do_not_depend_on_the_order(
    given: list[tuple[str, str]], rule: NameRule, chance: random.Random
) -> None:
    tools = [tool(name, namespace) for name, namespace in given]
    names = assign_legal_names(tools, rule)
    assert names.keys() == {one.tool_id for one in tools}
    assert len(set(names.values())) == len(names)
    assert all(rule.is_legal(name) for name in names.values())
    chance.shuffle(tools)
    tools = list({one.tool_id: one for one in tools}.values())
    assert assign_legal_names(tools, rule) == names
