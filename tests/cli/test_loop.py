"""A command ends when it is done, whatever still runs in it."""

from __future__ import annotations

import subprocess
import sys

STUBBORN = """
import asyncio
from ferrule.cli.loop import run_command


async def stubborn():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass


async def main():
    tasks.append(asyncio.create_task(stubborn()))
    await asyncio.sleep(0)
    return "done"


tasks = []
print(run_command(main()))
"""


def test_a_task_that_catches_its_cancellation_does_not_hold_up_the_end() -> None:
    ran = subprocess.run([sys.executable, "-c", STUBBORN], capture_output=True, text=True, timeout=20, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")


def test_what_goes_wrong_is_raised_and_what_ends_is_waited_for() -> None:
    code = STUBBORN.replace("while True", "for _ in (1,)").replace('return "done"', 'raise ValueError("no")')
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False)
    assert ran.returncode == 1 and ran.stderr.endswith("ValueError: no\n")


ENDING = """
import asyncio, os, signal
from ferrule.cli.loop import run_command


async def main():
    os.kill(os.getpid(), signal.SIGTERM)
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0)
        print("ended what it started")


run_command(main())
"""


def test_sigterm_lets_a_command_end_what_it_started() -> None:
    ran = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=20, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (143, "ended what it started\n", "")
