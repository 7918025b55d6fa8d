"""Words for calls that every page of the console shares: one name for a tool."""

from __future__ import annotations

import pytest

from ferrule.servers.console.calls.call_words import display_name


@pytest.mark.parametrize(
    ("tool_id", "called", "shown"),
    [
        ("Delivery.BookCourier", "Delivery_BookCourier", "Delivery.BookCourier"),
        ("Delivery.BookCourier", "Delivery.BookCourier", "Delivery.BookCourier"),
        ("shop.refund_order", "refund_order", "refund_order"),
        ("shop.refund_order", "give_back", "shop.refund_order"),
        ("unknown:nothing", "nothing", "nothing"),
        ("shop.add", "", "shop.add"),
    ],
)
def test_a_tool_has_one_name_on_every_page(tool_id: str, called: str, shown: str) -> None:
    assert display_name({"tool_id": tool_id, "tool_name": called}) == shown
