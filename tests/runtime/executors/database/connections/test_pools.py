"""Pools: bounded, lazy, and never the same connection twice at once."""

from __future__ import annotations

import asyncio

import pytest

from ferrule.runtime.executors.database.connections import Pool, PoolClosed
from tests.runtime.executors.database.real_databases import go


class Line:
    def __init__(self) -> None:
        self.is_open = True

    def is_usable(self) -> bool:
        return self.is_open

    async def aclose(self) -> None:
        self.is_open = False


class Switchboard:
    def __init__(self) -> None:
        self.made: list[Line] = []
        self.fails = False

    async def connect(self) -> Line:
        await asyncio.sleep(0)
        if self.fails:
            raise OSError("nobody there")
        self.made.append(Line())
        return self.made[-1]


def test_nothing_is_opened_before_it_is_needed_and_nothing_twice() -> None:
    async def story() -> None:
        board = Switchboard()
        pool = Pool(board.connect, size=2)
        assert not board.made
        one, is_new = await pool.take()
        assert is_new
        pool.give(one)
        again, is_new = await pool.take()
        assert again is one
        assert not is_new
        await pool.aclose()

    go(story)


def test_no_more_than_its_size_are_out_at_once() -> None:
    async def story() -> None:
        board = Switchboard()
        pool = Pool(board.connect, size=2)
        one, _ = await pool.take()
        await pool.take()
        third = asyncio.ensure_future(pool.take())
        await asyncio.sleep(0.01)
        assert not third.done()
        pool.give(one)
        assert (await third)[0] is one
        assert len(board.made) == 2

    go(story)


def test_a_broken_one_is_replaced_and_its_place_is_free_again() -> None:
    async def story() -> None:
        board = Switchboard()
        pool = Pool(board.connect, size=1)
        one, _ = await pool.take()
        pool.drop(one)
        other, is_new = await pool.take()
        assert is_new
        assert other is not one
        other.is_open = False
        pool.give(other)
        third, is_new = await pool.take()
        assert is_new
        assert not one.is_open
        pool.give(third)
        third.is_open = False  # cut off while it was idle
        assert (await pool.take())[1]
        await pool.aclose()

    go(story)


def test_a_failed_connection_takes_no_place() -> None:
    async def story() -> None:
        board = Switchboard()
        pool = Pool(board.connect, size=1)
        board.fails = True
        for _ in range(3):
            with pytest.raises(OSError, match="nobody"):
                await pool.take()
        board.fails = False
        assert (await pool.take())[1]

    go(story)


def test_a_retired_pool_closes_what_comes_back() -> None:
    async def story() -> None:
        board = Switchboard()
        pool = Pool(board.connect, size=2)
        one, _ = await pool.take()
        pool.retire()
        other, _ = await pool.take()  # for a call that has begun already
        pool.give(one)
        pool.give(other)
        await pool.aclose()
        assert not one.is_open
        assert not other.is_open
        with pytest.raises(PoolClosed):
            await pool.take()

    go(story)


def test_what_is_idle_too_long_is_closed() -> None:
    async def story() -> None:
        board = Switchboard()
        pool = Pool(board.connect, size=2, idle_seconds=0.02)
        pool.give((await pool.take())[0])
        for _ in range(500):
            if not board.made[0].is_open:
                break
            await asyncio.sleep(0.01)
        assert not board.made[0].is_open
        await pool.aclose()

    go(story)
