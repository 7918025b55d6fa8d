"""Lines in, lines out: what one turn answers does not wait for all of it."""

from __future__ import annotations

import asyncio
import os

from ferrule.servers.mcp.transports.pipe import LineQueue, Pipe


def test_many_answers_of_one_turn_are_written_as_they_come() -> None:
    asyncio.run(_many_answers_of_one_turn())


async def _many_answers_of_one_turn() -> None:
    client_reads, write_to = os.pipe()
    read_from, client_writes = os.pipe()
    os.set_blocking(client_reads, False)
    pipe = Pipe(read_from, write_to, 1000)
    answered, came_before_the_end = 0, 0

    def take(line: bytes | None) -> None:
        nonlocal answered, came_before_the_end
        assert line is not None
        if answered == 39:
            came_before_the_end = os.read(client_reads, 10_000).count(b"\n")
        pipe.send(line)
        answered += 1

    try:
        pipe.begin(take)
        os.write(client_writes, b"".join(b"%d\n" % number for number in range(40)))
        async with asyncio.timeout(5):
            while answered < 40:
                await asyncio.sleep(0)
        assert 16 <= came_before_the_end < 40
        rest = os.read(client_reads, 10_000).split()
        assert rest[-1] == b"39" and len(rest) == 40 - came_before_the_end
    finally:
        await pipe.aclose(1)
        for descriptor in (client_reads, client_writes, read_from, write_to):
            os.close(descriptor)


def test_nothing_more_is_answered_while_much_is_not_read() -> None:
    asyncio.run(_much_is_not_read())


async def _much_is_not_read() -> None:
    client_reads, write_to = os.pipe()
    read_from, client_writes = os.pipe()
    os.set_blocking(client_reads, False)
    os.set_blocking(write_to, False)
    pipe = Pipe(read_from, write_to, 1000)
    answered = 0

    def answer(line: bytes | None) -> None:
        nonlocal answered
        answered += 1
        pipe.send(b"x" * 100_000)

    lines = LineQueue(answer, pipe.room)
    pipe.begin(lines.put)
    try:
        os.write(client_writes, b"line\n" * 400)
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert 40 <= answered < 80  # some four megabytes wait; the other lines do
        read = 0
        async with asyncio.timeout(20):
            while read < 400 * 100_001:
                try:
                    read += len(os.read(client_reads, 1 << 20))
                except BlockingIOError:
                    await asyncio.sleep(0)
        assert answered == 400
    finally:
        lines.close()
        await pipe.aclose(1)
        for descriptor in (client_reads, client_writes, read_from, write_to):
            os.close(descriptor)


def test_lines_behind_an_obstacle_wait_for_it_in_order() -> None:
    asyncio.run(_lines_behind_an_obstacle())


async def _lines_behind_an_obstacle() -> None:
    obstacle: asyncio.Future[None] | None = None
    taken: list[bytes | None] = []

    def take(line: bytes | None) -> None:
        nonlocal obstacle
        taken.append(line)
        if line == b"first":
            obstacle = asyncio.get_running_loop().create_future()

    lines = LineQueue(take, lambda: obstacle)
    for line in (b"first", b"second", None):
        lines.put(line)
    await asyncio.sleep(0)
    assert taken == [b"first"] and not lines.is_idle
    assert obstacle is not None
    done, obstacle = obstacle, None
    done.set_result(None)
    await asyncio.sleep(0)
    assert taken == [b"first", b"second", None] and lines.is_idle
