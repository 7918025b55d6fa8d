"""Factories of services, as a workspace's module has them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from ferrule.runtime.functions import service

events: list[str] = []
"""What was made and closed, in order."""


class Reader:
    def find(self, order: str) -> str:
        return f"found {order}"


class Repo:
    def __init__(self, url: str) -> None:
        self.url = url
        self.reader = Reader()

    def find(self, order: str) -> str:
        return f"{order} from {self.url}"

    async def aclose(self) -> None:
        events.append("repo closed")


def NewCustomerRepo(database_config: Mapping[str, Any], logger: logging.Logger) -> Repo:  # noqa: N802  # as a manifest says
    events.append(f"repo made by {logger.name}")
    return Repo(database_config["url"])


@service("mailer")
class Mailer:
    def __init__(self, customer_repo: Repo, limit: int = 3) -> None:
        events.append("mailer made")
        self.repo, self.limit = customer_repo, limit

    def close(self) -> None:
        events.append("mailer closed")


async def new_queue(config: Mapping[str, Any]) -> dict[str, Any]:
    events.append("queue made")
    return {"sections": sorted(config)}


@asynccontextmanager
async def new_session() -> AsyncIterator[str]:
    events.append("session opened")
    yield "a session"
    events.append("session closed")


@contextmanager
def new_lock() -> Iterator[str]:
    events.append("lock taken")
    yield "a lock"
    events.append("lock freed")


def new_yielded() -> Iterator[str]:
    yield "yielded"
    events.append("yielded closed")


async def new_async_yielded() -> AsyncIterator[str]:
    yield "async yielded"
    events.append("async yielded closed")


def new_broken() -> Repo:
    raise RuntimeError("the password is hunter2")


def new_nothing() -> None:
    return None


def new_egg(hen: Any) -> str:
    return f"egg of {hen}"


def new_hen(egg: Any) -> str:
    return f"hen of {egg}"


def new_needy(weather: str) -> str:
    return weather


def notify(logger: Any = None) -> str:
    return "notifications"
