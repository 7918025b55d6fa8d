"""A program and everything it started: who of them is alive, also those that left their parent, and ending them all."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import suppress

import pytest

from ferrule.infra.processes.tree import ProcessTree
from ferrule.infra.tasks import Patience
from tests.driven import driven

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")


class Started:
    """A shell that starts others and says their numbers."""

    def __init__(self, script: str) -> None:
        self.mark = f"FERRULE_TEST={secrets.token_hex(8)}"
        name, _, value = self.mark.partition("=")
        self.child = subprocess.Popen(
            ["/bin/sh", "-c", script],
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={"PATH": os.defpath, name: value},
        )
        assert self.child.stdout is not None
        self.others = [int(number) for number in self.child.stdout.readline().split()]

    async def exited(self) -> asyncio.Future[int]:
        """Done once it is reaped."""
        return asyncio.ensure_future(asyncio.to_thread(self.child.wait))


@pytest.fixture
def started() -> Iterator[list[Started]]:
    """What a test starts, ended whatever happens."""
    all_of_them: list[Started] = []
    yield all_of_them
    for one in all_of_them:
        for pid in (one.child.pid, *one.others):
            with suppress(OSError):
                os.kill(pid, 9)
        one.child.wait()
        assert one.child.stdout is not None
        one.child.stdout.close()


@driven
async def test_children_and_their_children_are_ended_with_it(started: list[Started]) -> None:
    one = Started("sleep 60 & a=$!; sh -c 'sleep 60 & echo '$a' $! $$; wait'")
    started.append(one)
    tree = ProcessTree(one.child.pid, mark=None)
    assert tree.look() == 4
    assert {process.pid for process in tree.list_living(is_reaped=False)} == {one.child.pid, *one.others}
    assert await tree.end(await one.exited(), Patience())
    assert tree.list_living(is_reaped=True) == []
    assert one.child.returncode == -9


@driven
async def test_one_that_left_its_parent_is_found_by_its_mark(started: list[Started]) -> None:
    one = Started("setsid sh -c 'echo $$; exec sleep 60' & wait")
    started.append(one)
    one.child.kill()
    one.child.wait()
    unmarked, marked = ProcessTree(one.child.pid, mark=None), ProcessTree(one.child.pid, mark=one.mark)
    assert unmarked.list_living(is_reaped=True) == []
    assert {process.pid for process in marked.list_living(is_reaped=True)} == set(one.others)
    assert await marked.end(await one.exited(), Patience())
    assert marked.list_living(is_reaped=True) == []


@driven
async def test_those_who_are_asked_may_end_in_their_own_way(started: list[Started]) -> None:
    one = Started("trap 'kill $!; exit 7' TERM; sleep 60 & echo $!; wait")
    started.append(one)
    ProcessTree(one.child.pid, mark=None).ask_to_end()
    assert await (await one.exited()) == 7


def test_a_process_that_was_told_of_counts_only_under_its_name(started: list[Started]) -> None:
    one = Started("echo; exec sleep 60")
    started.append(one)
    tree = ProcessTree(os.getpid(), mark=None)
    tree.add(one.child.pid, "another name")
    tree.add(2**30, "sleep")
    assert tree.list_living(is_reaped=True) == []
