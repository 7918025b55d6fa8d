"""The books, customers and orders that the shop opens with: made up, and the same every time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

SUPPLIERS = ("northlight", "harbour", "ortega")
SUBJECTS = ("novel", "poetry", "travel", "history", "science", "children", "cooking", "art")
CLASSICS = (
    ("Emma", "Jane Austen", "novel"),
    ("Persuasion", "Jane Austen", "novel"),
    ("Jane Eyre", "Charlotte Brontë", "novel"),
    ("Wuthering Heights", "Emily Brontë", "novel"),
    ("Middlemarch", "George Eliot", "novel"),
    ("Frankenstein", "Mary Shelley", "novel"),
    ("Moby-Dick", "Herman Melville", "novel"),
    ("Don Quixote", "Miguel de Cervantes", "novel"),
    ("To the Lighthouse", "Virginia Woolf", "novel"),
    ("The Maias", "Eça de Queirós", "novel"),
    ("Leaves of Grass", "Walt Whitman", "poetry"),
    ("Message", "Fernando Pessoa", "poetry"),
    ("Sonnets from the Portuguese", "Elizabeth Barrett Browning", "poetry"),
    ("Around the World in Eighty Days", "Jules Verne", "travel"),
    ("The Voyage of the Beagle", "Charles Darwin", "travel"),
    ("On the Origin of Species", "Charles Darwin", "science"),
    ("Flatland", "Edwin A. Abbott", "science"),
    ("The Histories", "Herodotus", "history"),
    ("Alice's Adventures in Wonderland", "Lewis Carroll", "children"),
    ("The Wind in the Willows", "Kenneth Grahame", "children"),
    ("The Book of Household Management", "Isabella Beeton", "cooking"),
    ("Lives of the Artists", "Giorgio Vasari", "art"),
)
_FIRST = (
    "The Quiet",
    "A Small",
    "The Last",
    "Our Northern",
    "The Hidden",
    "A Winter's",
    "The Paper",
    "Salt and",
    "The Long",
)
_SECOND = (
    "Harbour",
    "Orchard",
    "Atlas",
    "Garden",
    "Lantern",
    "River",
    "Kitchen",
    "Observatory",
    "Meadow",
    "Archive",
    "Bridge",
)
_GIVEN = (
    "Ada",
    "Bruno",
    "Clara",
    "Diogo",
    "Edith",
    "Farid",
    "Greta",
    "Hugo",
    "Inês",
    "Jonas",
    "Kirsten",
    "Luca",
    "Mira",
)
_FAMILY = (
    "Almeida",
    "Brandt",
    "Castro",
    "Dahl",
    "Esposito",
    "Ferrer",
    "Grant",
    "Holm",
    "Ibarra",
    "Jansen",
    "Kovač",
    "Lund",
)
BOOKS, CUSTOMERS, ORDERS, LIBRARY_ORDERS, DAYS = 1200, 60, 240, 40, 400
FIRST_DAY = date(2026, 1, 1)


class Book(NamedTuple):
    """One book of the catalog."""

    isbn: str
    title: str
    author: str
    subject: str
    price_eur: float
    supplier: str
    copies: int


class Customer(NamedTuple):
    """Somebody with an account."""

    customer_id: str
    name: str
    email: str


class Order(NamedTuple):
    """One order of the web store."""

    order_number: str
    customer_id: str
    state: str
    total_eur: float


KNOWN_CUSTOMERS = (
    Customer("c-20817", "J. Ferrer", "j.ferrer@example.org"),
    Customer("c-20818", "Town library", "books@library.example"),
)
KNOWN_ORDERS = (
    Order("BK-104233", "c-20817", "delivered", 89.5),
    Order("BK-104198", "c-20818", "sent", 1240.0),
    Order("BK-104301", "c-20817", "paid", 24.9),
)
"""The orders that the guides speak of."""


def books() -> Iterator[Book]:
    """The whole catalog."""
    chance = random.Random(7)
    written = [*CLASSICS, *(_made_up(chance) for _ in range(BOOKS - len(CLASSICS)))]
    for number, (title, author, subject) in enumerate(written, 1):
        price = round(chance.uniform(6, 48), 1)
        yield Book(isbn(number), title, author, subject, price, chance.choice(SUPPLIERS), chance.randrange(0, 60))


def customers() -> Iterator[Customer]:
    """Everybody with an account."""
    yield from KNOWN_CUSTOMERS
    chance = random.Random(11)
    for number in range(CUSTOMERS):
        given, family = chance.choice(_GIVEN), chance.choice(_FAMILY)
        yield Customer(f"c-{30000 + number}", f"{given} {family}", f"reader{number}@example.org")


def orders() -> Iterator[Order]:
    """Every order of the web store."""
    yield from KNOWN_ORDERS
    chance = random.Random(13)
    for number in range(ORDERS):
        state = chance.choice(("paid", "packed", "sent", "delivered", "delivered"))
        whose = f"c-{30000 + chance.randrange(CUSTOMERS)}"
        yield Order(f"BK-{200000 + number}", whose, state, round(chance.uniform(9, 240), 2))
    for number in range(LIBRARY_ORDERS):
        yield Order(f"BK-{300000 + number}", KNOWN_CUSTOMERS[1].customer_id, "delivered", chance.randrange(700, 1990))


def sales() -> Iterator[tuple[str, int, float]]:
    """Each day with how many books were sold, and for how much."""
    chance = random.Random(17)
    for number in range(DAYS):
        sold = chance.randrange(40, 160)
        yield str(FIRST_DAY + timedelta(number)), sold, round(sold * chance.uniform(14, 19), 2)


def isbn(number: int) -> str:
    """The thirteen digits of a book's number, the last of them the check digit."""
    digits = f"978{number:09d}"
    weighed = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits))
    return f"{digits}{-weighed % 10}"


def _made_up(chance: random.Random) -> tuple[str, str, str]:
    title = f"{chance.choice(_FIRST)} {chance.choice(_SECOND)}"
    return title, f"{chance.choice(_GIVEN)} {chance.choice(_FAMILY)}", chance.choice(SUBJECTS)
