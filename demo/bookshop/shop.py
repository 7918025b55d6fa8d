"""The shop's database: one SQLite file, filled when it is first opened. Remove the file, and the shop opens anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bookshop import books

_VERSION = 1
_TABLES = """
create table books (isbn text primary key, title text, author text, subject text, price_eur real, supplier text, copies int);
create table customers (customer_id text primary key, name text, email text unique);
create table orders (order_number text primary key, customer_id text, state text, total_eur real, refunded_eur real default 0);
create table sales (day text primary key, books int, revenue_eur real);
"""


class Left(NamedTuple):
    """What a refund left behind."""

    refund_id: str
    left_eur: float


class Erased(NamedTuple):
    """What went with a customer."""

    orders: int
    invoices: int


class Shop:
    """The shop. It holds no connection between two calls, so that every thread and process may use it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def search(self, query: str, limit: int) -> tuple[int, list[dict[str, Any]]]:
        """How many books have every word of the query, and the first of them."""
        words = [f"%{word}%" for word in query.lower().split()]
        where = " and ".join(["lower(title || ' ' || author || ' ' || subject) like ?"] * len(words)) or "true"
        with self._open() as shop:
            (found,) = shop.execute(f"select count(*) from books where {where}", words).fetchone()
            rows = shop.execute(
                f"select isbn, title, author, price_eur from books where {where} order by isbn limit ?", [*words, limit]
            )
            return found, [dict(row) for row in rows]

    def order(self, order_number: str) -> dict[str, Any] | None:
        """One order; None when there is none."""
        with self._open() as shop:
            row = shop.execute("select * from orders where order_number = ?", [order_number]).fetchone()
            return dict(row) if row else None

    def refund(self, order_number: str, amount_eur: float) -> Left | None:
        """Pay back a part of an order; None when there is not so much left of it."""
        with self._open() as shop:
            changed = shop.execute(
                "update orders set refunded_eur = round(refunded_eur + ?, 2),"
                " state = case when refunded_eur + ? >= total_eur then 'refunded' else state end"
                " where order_number = ? and round(refunded_eur + ?, 2) <= total_eur"
                " returning round(total_eur - refunded_eur, 2) as left_eur, refunded_eur",
                [amount_eur, amount_eur, order_number, amount_eur],
            ).fetchone()
            if changed is None:
                return None
            return Left(f"RF-{order_number[3:]}-{round(amount_eur * 100)}", changed["left_eur"])

    def customer(self, email: str) -> str | None:
        """The number of the customer with this address."""
        with self._open() as shop:
            row = shop.execute("select customer_id from customers where email = ?", [email]).fetchone()
            return str(row["customer_id"]) if row else None

    def erase(self, customer_id: str) -> Erased:
        """Forget a customer and every order. Their invoices are elsewhere."""
        with self._open() as shop:
            (invoices,) = shop.execute("select count(*) from orders where customer_id = ?", [customer_id]).fetchone()
            shop.execute("delete from orders where customer_id = ?", [customer_id])
            shop.execute("delete from customers where customer_id = ?", [customer_id])
            return Erased(invoices, invoices)

    def copies(self, isbn: str) -> int | None:
        """How many copies lie in the warehouse; None for a book that the shop does not have."""
        with self._open() as shop:
            row = shop.execute("select copies from books where isbn = ?", [isbn]).fetchone()
            return int(row["copies"]) if row else None

    def restock(self, isbn: str, copies: int) -> int | None:
        """Book copies in; how many there are then, or None for a book that the shop does not have."""
        with self._open() as shop:
            row = shop.execute(
                "update books set copies = copies + ? where isbn = ? returning copies", [copies, isbn]
            ).fetchone()
            return int(row["copies"]) if row else None

    def sold(self, day: str) -> tuple[int, float]:
        """How many books were sold on a day, and for how much."""
        with self._open() as shop:
            row = shop.execute("select books, revenue_eur from sales where day = ?", [day]).fetchone()
            return (row["books"], row["revenue_eur"]) if row else (0, 0.0)

    def catalog(self, subject: str | None = None) -> list[dict[str, Any]]:
        """Every book, or every one of a subject."""
        with self._open() as shop:
            rows = shop.execute("select * from books where ? is null or subject = ? order by isbn", [subject, subject])
            return [dict(row) for row in rows]

    def discount(self, percent: int, scope: str) -> int:
        """Lower the prices; of how many books."""
        with self._open() as shop:
            changed = shop.execute(
                "update books set price_eur = round(price_eur * (100 - ?) / 100.0, 2) where ? = 'all' or subject = ?",
                [percent, scope, scope],
            )
            return changed.rowcount

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self._file.parent.mkdir(exist_ok=True)
        with closing(sqlite3.connect(self._file, timeout=10)) as shop:
            shop.row_factory = sqlite3.Row
            if shop.execute("pragma user_version").fetchone()[0] != _VERSION:
                _fill(shop)
            with shop:  # one transaction
                yield shop


def _fill(shop: sqlite3.Connection) -> None:
    """The shop as it opens. Whoever comes second finds it done."""
    shop.execute("begin exclusive")
    if shop.execute("pragma user_version").fetchone()[0] != _VERSION:
        for table in _TABLES.strip().split(";\n"):
            shop.execute(table.rstrip(";"))
        shop.executemany("insert into books values (?, ?, ?, ?, ?, ?, ?)", books.books())
        shop.executemany("insert into customers values (?, ?, ?)", books.customers())
        shop.executemany(
            "insert into orders (order_number, customer_id, state, total_eur) values (?, ?, ?, ?)", books.orders()
        )
        shop.executemany("insert into sales values (?, ?, ?)", books.sales())
        shop.execute(f"pragma user_version = {_VERSION}")
    shop.commit()
