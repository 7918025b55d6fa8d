"""What runs the demo's tools: sample data in memory, where the shop would have its real systems.

The definitions in tools/ and agents/ say what each tool is; these functions only do it. The last two have no definition: they
are tools by themselves, and take their time. Nothing here leaves your machine, and every command starts with the same data again.
"""

from __future__ import annotations

import asyncio
import time
from datetime import date, timedelta

import ferrule

ORDERS = {
    "TC-104233": {"state": "delivered", "total_eur": 89.5, "tracking_url": "https://parcels.example/104233"},
    "TC-104198": {"state": "sent", "total_eur": 1240.0, "tracking_url": "https://parcels.example/104198"},
    "TC-104301": {"state": "paid", "total_eur": 24.9},
}
STOCK = {"WHEEL-28": (3, 12), "CHAIN-9": (0, 40), "BELL-BRS": (25, 0)}
ANSWERS = {"R-2201": "The rear wheel is out of true; new spokes are on the stand, ready tomorrow."}
SHELVES = (12, 0, 7, 31, 4, 18, 9, 25)
SLOTS = ("mon-0900", "tue-1430", "thu-1100")


@ferrule.tool("find-order")
def find_order(order_number: str) -> dict[str, object]:
    """One order of the web store."""
    if order_number not in ORDERS:
        raise ferrule.ToolFailed(f"there is no order {order_number}; ask the customer to read the number again")
    return ORDERS[order_number]


@ferrule.tool("check-stock")
def check_stock(article: str) -> dict[str, int]:
    """How many pieces there are."""
    in_shop, in_warehouse = STOCK.get(article, (0, 0))
    return {"in_shop": in_shop, "in_warehouse": in_warehouse}


@ferrule.tool("refund-order")
def refund_order(order_number: str, amount_eur: float, reason: str) -> dict[str, str]:
    """Pay an order back. The real one would move money."""
    return {"refund_id": f"RF-{order_number[3:]}-{round(amount_eur * 100)}"}


@refund_order.check
def never_more_than_was_paid(order_number: str, amount_eur: float) -> str | None:
    """Looked at before anybody is asked to approve."""
    order = ORDERS.get(order_number)
    if order is None:
        return f"there is no order {order_number}"
    paid = order["total_eur"]
    return f"only {paid} euros were paid for {order_number}; refund at most that" if amount_eur > paid else None


@ferrule.tool("ask-workshop")
def ask_workshop(question: str, ticket: str) -> dict[str, str]:
    """What the mechanic on duty says."""
    return {"answer": ANSWERS.get(ticket, f"Nobody has looked at {ticket} yet; ask again this afternoon.")}


@ferrule.tool("Shipping.GetQuote")
def shipping_quote(weight_kg: float, country: str) -> dict[str, object]:
    """What a parcel costs, and when it arrives."""
    days = 2 if country == "PT" else 5
    return {"price_eur": round(4.5 + 1.2 * weight_kg, 2), "delivered_on": str(date.today() + timedelta(days))}


@ferrule.tool("Shipping.BookPickup")
def book_pickup(order_number: str, day: str) -> str:
    """Order the carrier."""
    return f"the carrier comes for {order_number} on {day}"


@ferrule.tool("tool_weather_forecast")
def forecast(place: str, day: str) -> dict[str, float]:
    """Always a fine day for a ride."""
    return {"rain_mm": 0.2, "wind_kmh": 11.0}


@ferrule.tool("repair-planner.find_slots")
def find_slots(from_: str, until: str) -> list[str]:
    """Free slots in the workshop."""
    return list(SLOTS)


@ferrule.tool("repair-planner.book_slot")
def book_slot(slot: str, ticket: str) -> str:
    """Book one of them."""
    if slot not in SLOTS:
        raise ferrule.ToolFailed(f"the slot {slot} is taken; find_slots shows the free ones")
    return f"{ticket} is booked for {slot}"


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
async def count_shelves(context: ferrule.Context, shelves: int = 8, seconds: float = 2.0) -> dict[str, int]:
    """Count what lies on the shelves of the shop, and tell how far it is: `ferrule call count_shelves --follow`."""
    pieces = 0
    for number in range(1, shelves + 1):
        context.progress(
            f"counting shelf {number}", percent=100 * number // shelves, current_step=number, total_steps=shelves
        )
        await asyncio.sleep(seconds / shelves)  # awaited, so that it can be canceled here
        pieces += SHELVES[(number - 1) % len(SHELVES)]
        context.partial(f"shelf {number}: {SHELVES[(number - 1) % len(SHELVES)]} pieces")
    return {"shelves": shelves, "pieces": pieces}


@ferrule.tool(destructive=False, open_world=False)
def print_labels(context: ferrule.Context, labels: int, seconds: float = 10.0) -> dict[str, int]:
    """Print price labels. A plain function, which nobody can stop: this one looks whether it should, before each label."""
    for printed in range(labels):
        context.raise_if_aborted()
        context.progress("printing", percent=100 * printed / labels, line_count=printed)
        time.sleep(seconds / labels)
    return {"printed": labels}
