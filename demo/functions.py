"""What runs the demo's tools: a shop in a SQLite file, where Lantern Books would have its real systems.

The definitions in tools/ and agents/ say what each tool is; these functions only do it. `ask_librarian` has none, because a
person does it. The last two have no definition: they are tools by themselves. Nothing here leaves your machine; the shop is in
.ferrule/bookshop.db.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any

from bookshop.shop import Shop
from bookshop.warehouse import Busy, Warehouse

import ferrule

SHOP = Shop(Path(__file__).parent / ".ferrule" / "bookshop.db")
LONGEST_REPORT_DAYS = 92
RESTOCK_SECONDS = 0.5
SHELVES = (12, 0, 7, 31, 4, 18, 9, 25)


# Tools of AML files.


@ferrule.tool("search_books")
def search_books(query: str, limit: int = 5) -> dict[str, object]:
    """Books that have every word of the query."""
    found, books = SHOP.search(query, limit)
    return {"found": found, "books": books}


@ferrule.tool("order_status")
def order_status(order_number: str) -> dict[str, object]:
    """One order of the web store."""
    order = SHOP.order(order_number)
    if order is None:
        raise ferrule.ToolFailed(f"there is no order {order_number}; ask the customer to read the number again")
    status = {"state": order["state"], "total_eur": order["total_eur"]}
    if order["state"] in ("sent", "delivered"):
        status["tracking_url"] = f"https://parcels.example/{order_number[3:]}"
    return status


@ferrule.tool("refund_order")
def refund_order(order_number: str, amount_eur: float, reason: str, notify: bool = False) -> dict[str, object]:
    """Pay an order back. The real one would move money."""
    left = SHOP.refund(order_number, amount_eur)
    if left is None:  # somebody refunded it while this call waited
        raise ferrule.ToolFailed(f"there are no longer {amount_eur} euros left of {order_number}")
    return left._asdict()


@refund_order.check
def never_more_than_is_left(order_number: str, amount_eur: float) -> str | None:
    """Looked at before anybody is asked to approve."""
    order = SHOP.order(order_number)
    if order is None:
        return f"there is no order {order_number}"
    left = round(order["total_eur"] - order["refunded_eur"], 2)
    return f"only {left} euros of {order_number} are left; refund at most that" if amount_eur > left else None


@ferrule.tool("delete_account")
def delete_account(
    email: str, ticket: str = "", customer_id: str = "", keep_invoices: bool = False
) -> dict[str, object]:
    """Forget a customer. The hooks have found out who it is."""
    whose = customer_id or SHOP.customer(email)
    if not whose:
        raise ferrule.ToolFailed(f"nobody has an account with the address {email}")
    erased = SHOP.erase(whose)
    return {
        "customer_id": whose,
        "orders_erased": erased.orders,
        "invoices_kept": erased.invoices if keep_invoices else 0,
    }


# Tools of an OXP file.


@ferrule.tool("Delivery.GetQuote")
def delivery_quote(weight_kg: float, country: str) -> dict[str, object]:
    """What a parcel costs, and when it arrives."""
    days = 2 if country == "PT" else 5
    return {"price_eur": round(4.5 + 1.2 * weight_kg, 2), "delivered_on": str(date.today() + timedelta(days))}


@ferrule.tool("Delivery.BookCourier")
def book_courier(order_number: str, day: str) -> str:
    """Order the courier."""
    return f"the courier comes for {order_number} on {day}"


# Tools of Agent Tool records.


@ferrule.service("warehouse")
def warehouse() -> Iterator[Warehouse]:
    """The warehouse, from the first question until the app closes."""
    service = Warehouse(SHOP.copies)
    yield service
    service.close()


@ferrule.tool("stock_levels")
def stock_levels(isbn: str, service: Annotated[Warehouse, ferrule.Inject("warehouse")]) -> dict[str, int]:
    """What the warehouse says. When it is busy, its definition says that it may be asked again."""
    try:
        levels = service.stock(isbn)
    except Busy as busy:
        raise ferrule.ToolFailed(str(busy), error_class="dependency_unavailable") from None
    if levels is None:
        raise ferrule.ToolFailed(f"the shop has no book with the ISBN {isbn}; search_books gives the right one")
    return levels


@ferrule.tool("restock_book")
async def restock_book(context: ferrule.Context, isbn: str, copies: int, supplier: str) -> dict[str, int]:
    """Order copies. A supplier takes half a second, and one order at a time."""
    context.progress(f"{supplier} takes the order", percent=10)
    await asyncio.sleep(RESTOCK_SECONDS)
    left = SHOP.restock(isbn, copies)
    if left is None:
        raise ferrule.ToolFailed(f"{supplier} has no book with the ISBN {isbn}")
    return {"in_warehouse": left}


# Tools of an ADL agent, with what it says they are given.


def new_shop() -> Shop:
    """The service that the agent's file names."""
    return SHOP


@ferrule.tool("back-office.sales_report")
async def sales_report(
    context: ferrule.Context,
    from_: str,
    until: str,
    shop: Shop,
    logger: logging.Logger,
    reports_config: Mapping[str, Any],
) -> dict[str, object]:
    """Add the days up one by one, and tell how far it is."""
    first, days = date.fromisoformat(from_), (date.fromisoformat(until) - date.fromisoformat(from_)).days + 1
    if not 0 < days <= LONGEST_REPORT_DAYS:
        raise ferrule.ToolFailed(f"a report has 1 to {LONGEST_REPORT_DAYS} days, and these are {days}")
    books, revenue = 0, 0.0
    for number in range(days):
        day = str(first + timedelta(number))
        context.progress(f"adding up {day}", percent=100 * number / days, current_step=number + 1, total_steps=days)
        await asyncio.sleep(reports_config["secondsADay"])  # awaited, so that it can be canceled here
        sold, earned = shop.sold(day)
        books, revenue = books + sold, revenue + earned
    logger.info("the report of %s days is done", days)
    currency = reports_config["currency"]
    return {"days": days, "books": books, "revenue": round(revenue, 2), "currency": currency}


@ferrule.tool("back-office.export_catalog")
def export_catalog(shop: Shop, subject: str | None = None) -> dict[str, object]:
    """Every book: far more than a model should read, so it is stored, and the model sees its beginning."""
    books = shop.catalog(subject)
    return {"count": len(books), "books": books}


@ferrule.tool("back-office.create_discount")
def create_discount(percent: int, scope: str, shop: Shop, logger: logging.Logger) -> dict[str, int]:
    """Lower prices."""
    lowered = shop.discount(percent, scope)
    logger.info("%s books are %s percent cheaper", lowered, percent)
    return {"books_lowered": lowered}


# Tools without a definition.


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
async def count_shelves(context: ferrule.Context, shelves: int = 8, seconds: float = 2.0) -> dict[str, int]:
    """Count what stands on the shelves of the shop, and tell how far it is: `ferrule call count_shelves --follow`."""
    books = 0
    for number in range(1, shelves + 1):
        context.progress(
            f"counting shelf {number}", percent=100 * number // shelves, current_step=number, total_steps=shelves
        )
        await asyncio.sleep(seconds / shelves)  # awaited, so that it can be canceled here
        books += SHELVES[(number - 1) % len(SHELVES)]
        context.partial(f"shelf {number}: {SHELVES[(number - 1) % len(SHELVES)]} books")
    return {"shelves": shelves, "books": books}


@ferrule.tool(destructive=False, open_world=False)
def print_labels(context: ferrule.Context, labels: int, seconds: float = 10.0) -> dict[str, int]:
    """Print price labels. A plain function, which nobody can stop: this one looks whether it should, before each label."""
    for printed in range(labels):
        context.raise_if_aborted()
        context.progress("printing", percent=100 * printed / labels, line_count=printed)
        time.sleep(seconds / labels)
    return {"printed": labels}
