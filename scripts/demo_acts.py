"""What the scripted agents of the demo do: ordinary work, mistakes, and what a person or a rule has a word in.

Each act says which agent does it and how often; its deed is drawn by chance, and the same seed draws the same. Like any agent
they know of the shop only what they were told: some orders, some books, and what customers ask.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from random import Random
from typing import Any, NamedTuple

SUBJECTS = ("poetry", "travel", "science", "austen", "verne", "harbour", "children", "brontë", "garden")
SHELVES = ("novel", "poetry", "travel", "science", "cooking")
SUPPLIERS = ("northlight", "harbour", "ortega")
ISBNS = (
    "9780000000019", "9780000000026", "9780000000033", "9780000000040", "9780000000057", "9780000000064", "9780000000071",
    "9780000000095", "9780000000101", "9780000000118", "9780000000125", "9780000000149", "9780000000156", "9780000000163",
)  # fmt: skip
FLOODED = ("9780000000088", "9780000000132")
"""Books in the cellar, of which the warehouse knows nothing until the pumps have done their work."""
ANNOUNCED = ("The Lantern Keeper", "Tides and Tables", "A Pocket Atlas of Fog")
ORDERS, LIBRARY_ORDERS, CUSTOMERS = range(200_000, 200_240), range(300_000, 300_040), range(60)
FIRST_DAY = date(2026, 1, 1)
QUESTIONS = (
    ("Which Verne would you give somebody who gets seasick?", "an uncle"),
    ("Is Flatland too hard for a bright child?", "a girl of nine"),
    ("What should one read after Middlemarch?", "a book club of six"),
    ("Is there a cookbook that does not need an oven?", "a student"),
)
Calls = list[tuple[str, dict[str, Any]]]


class Deed(NamedTuple):
    """One thing an agent does."""

    words: str
    """What it does, as a person would say it."""
    calls: Calls
    """One call, or those of a batch."""
    told: Callable[[Any], str] = lambda value: "done"
    """What came of it, out of the value."""
    is_watched: bool = False
    """True: its progress is followed."""
    is_stopped: bool = False
    """True: the agent changes its mind half-way."""


class Act(NamedTuple):
    """Something that an agent does now and then."""

    agent: str
    often: float
    """Its weight beside the others."""
    deed: Callable[[Random], Deed]
    needs_person: bool = False
    """True: it waits for somebody's answer."""


def _one(words: str, tool: str, arguments: dict[str, Any], told: Callable[[Any], str], **more: Any) -> Deed:
    return Deed(words, [(tool, arguments)], told, **more)


def _searches(chance: Random) -> Deed:
    query = chance.choice(SUBJECTS)
    arguments = {"query": query, "limit": chance.randint(2, 8)}
    return _one(f"looks for books: {query}", "search_books", arguments, lambda value: f"{value['found']} found")


def _looks_up(chance: Random) -> Deed:
    order = _order(chance)
    return _one(
        f"looks up {order}",
        "order_status",
        {"order_number": order},
        lambda value: f"{value['state']}, {value['total_eur']:.2f} euros",
    )


def _misreads(chance: Random) -> Deed:
    order = f"BK-9{chance.randrange(10_000, 99_999)}"
    return _one(f"looks up {order}, which nobody has", "order_status", {"order_number": order}, str)


def _mistypes(chance: Random) -> Deed:
    order = f"BK{chance.randrange(100_000, 999_999)}"
    return _one(f"looks up {order}, and forgets the dash", "order_status", {"order_number": order}, str)


def _refunds_little(chance: Random) -> Deed:
    return _refund(chance, chance.randint(3, 9) if chance.random() < 0.6 else chance.randint(11, 19), "damaged")


def _refunds(chance: Random) -> Deed:
    return _refund(
        chance,
        chance.randint(21, 38),
        chance.choice(("returned", "damaged", "late")),
        order=f"BK-{chance.choice(LIBRARY_ORDERS)}",
    )


def _refunds_much(chance: Random) -> Deed:
    return _refund(chance, chance.randint(110, 240), "damaged", order=f"BK-{chance.choice(LIBRARY_ORDERS)}")


def _is_generous(chance: Random) -> Deed:
    return _refund(chance, chance.randint(60, 90), "goodwill", order=f"BK-{chance.choice(LIBRARY_ORDERS)}")


def _refund(chance: Random, euros: int, reason: str, order: str | None = None) -> Deed:
    number = order or _order(chance)
    arguments = {"order_number": number, "amount_eur": euros, "reason": reason}
    return _one(
        f"refunds {euros} euros of {number} ({reason})",
        "refund_order",
        arguments,
        lambda value: f"paid back as {value['refund_id']}",
    )


def _asks(chance: Random) -> Deed:
    question, reader = chance.choice(QUESTIONS)
    return _one(
        f"asks the librarian: {question}",
        "ask_librarian",
        {"question": question, "reader": reader},
        lambda value: f"the librarian says: {value['answer']}",
    )


def _erases(chance: Random) -> Deed:
    email = f" Reader{chance.choice(CUSTOMERS)}@Example.org"
    arguments = {"email": email, "ticket": f"T-{chance.randrange(1000, 9999)}", "keep_invoices": False}
    return _one(
        f"erases the account of{email}",
        "delete_account",
        arguments,
        lambda value: f"{value['customer_id']} is forgotten, {value['invoices_kept']} invoices stay",
    )


def _erases_unasked(chance: Random) -> Deed:
    email = f"reader{chance.choice(CUSTOMERS)}@example.org"
    return _one(f"erases the account of {email}, without a ticket", "delete_account", {"email": email}, str)


def _reports(chance: Random) -> Deed:
    first = FIRST_DAY + timedelta(chance.randrange(300))
    days = chance.randint(7, 14)
    arguments = _between(first, days)
    return _one(
        f"adds up the sales of {days} days",
        "sales_report",
        arguments,
        lambda value: f"{value['books']:,} books, {value['revenue']:,.2f} euros",
        is_watched=True,
    )


def _stops_a_report(chance: Random) -> Deed:
    return _one(
        "adds up a quarter, and changes its mind",
        "sales_report",
        _between(FIRST_DAY + timedelta(chance.randrange(90)), 90),
        str,
        is_stopped=True,
    )


def _exports(chance: Random) -> Deed:
    return _one("exports the whole catalog", "export_catalog", {}, lambda value: "more than a model reads: it is kept")


def _discounts(chance: Random) -> Deed:
    percent, scope = chance.choice((10, 15, 20)), chance.choice(SHELVES)
    arguments = {"percent": percent, "scope": scope}
    return _one(
        f"makes {scope} {percent} percent cheaper",
        "create_discount",
        arguments,
        lambda value: f"{value['books_lowered']} books are cheaper",
    )


def _gives_away(chance: Random) -> Deed:
    arguments = {"percent": chance.choice((60, 70, 80)), "scope": "all"}
    return _one(f"makes everything {arguments['percent']} percent cheaper", "create_discount", arguments, str)


def _looks_for_copies(chance: Random) -> Deed:
    isbn = chance.choice(ISBNS)
    return _one(
        f"asks the warehouse for {isbn}",
        "stock_levels",
        {"isbn": isbn},
        lambda value: f"{value['in_shop']} in the shop, {value['in_warehouse']} in the warehouse",
    )


def _looks_in_the_cellar(chance: Random) -> Deed:
    isbn = chance.choice(FLOODED)
    return _one(f"asks the warehouse for {isbn}, in the flooded cellar", "stock_levels", {"isbn": isbn}, str)


def _restocks(chance: Random) -> Deed:
    tool, arguments = _restock(chance)
    words = f"orders {arguments['copies']} copies from {arguments['supplier']}"
    return _one(words, tool, arguments, lambda value: f"{value['in_warehouse']} in the warehouse")


def _monday(chance: Random) -> Deed:
    looks: Calls = [("stock_levels", {"isbn": chance.choice(ISBNS)}) for _ in range(4)]
    orders: Calls = [_restock(chance) for _ in range(chance.randint(4, 6))]
    calls: Calls = [("search_books", {"query": chance.choice(SUBJECTS)}), *looks, *orders]
    return Deed(f"restocks the shop: a batch of {len(calls)} calls", calls)


def _reads_announcements(chance: Random) -> Deed:
    subject = chance.choice(SHELVES)
    return _one(f"asks Northlight what is new in {subject}", "new_releases", {"subject": subject}, lambda value: "read")


def _reserves(chance: Random) -> Deed:
    title, copies = chance.choice(ANNOUNCED), chance.randint(2, 12)
    return _one(
        f"has Northlight put {copies} copies aside of {title}",
        "reserve_copies",
        {"title": title, "copies": copies},
        lambda value: "they are put aside",
    )


def _order(chance: Random) -> str:
    return f"BK-{chance.choice(ORDERS)}"


def _restock(chance: Random) -> tuple[str, dict[str, Any]]:
    copies, supplier = chance.randint(5, 60), chance.choice(SUPPLIERS)
    return "restock_book", {"isbn": chance.choice(ISBNS), "copies": copies, "supplier": supplier}


def _between(first: date, days: int) -> dict[str, str]:
    return {"from": str(first), "until": str(first + timedelta(days - 1))}


ACTS = (
    Act("shop-assistant", 6, _searches),
    Act("shop-assistant", 5, _looks_up),
    Act("shop-assistant", 0.6, _misreads),
    Act("shop-assistant", 0.4, _mistypes),
    Act("shop-assistant", 1.2, _refunds_little),
    Act("shop-assistant", 0.8, _refunds, needs_person=True),
    Act("shop-assistant", 0.4, _asks, needs_person=True),
    Act("support-bot", 2, _looks_up),
    Act("support-bot", 0.3, _refunds_much, needs_person=True),
    Act("support-bot", 0.4, _is_generous),
    Act("support-bot", 0.3, _erases, needs_person=True),
    Act("support-bot", 0.2, _erases_unasked),
    Act("back-office", 0.7, _reports),
    Act("back-office", 0.2, _stops_a_report),
    Act("back-office", 0.3, _exports),
    Act("back-office", 0.2, _discounts, needs_person=True),
    Act("back-office", 0.3, _gives_away),
    Act("stockroom", 4, _looks_for_copies),
    Act("stockroom", 0.4, _looks_in_the_cellar),
    Act("stockroom", 1.5, _restocks),
    Act("stockroom", 0.5, _monday),
    Act("stockroom", 0.6, _reads_announcements),
    Act("stockroom", 0.15, _reserves, needs_person=True),
)
