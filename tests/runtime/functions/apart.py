"""Functions that run in processes of their own."""

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ferrule import ToolFailed, tool
from ferrule.contracts.executor import Context, Output

SECRET_HERE: list[str] = []


@dataclass
class Item:
    name: str
    count: int = 1


@tool(isolation="process", read_only=True, namespace="apart")
def whoami() -> dict[str, int]:
    """Which process this is."""
    return {"pid": os.getpid(), "parent": os.getppid(), "known": len(SECRET_HERE)}


@tool(isolation="process", read_only=True, namespace="apart", env=("DECLARED",))
def seen() -> dict[str, Any]:
    """What the environment holds, and what is open."""
    return {"env": sorted(os.environ), "fds": sorted(os.listdir("/proc/self/fd"), key=int)}


@tool(isolation="process", namespace="apart")
def order(item: Item, when: float = 1) -> dict[str, Any]:
    """Order something."""
    print("this is no answer")
    return {"name": item.name, "count": item.count, "when": when}


@tool(isolation="process", namespace="apart")
async def later(text: str, context: Context) -> Output:
    """Give a text, later."""
    context.progress("half", percent=50)
    context.hide("hush-hush-9")
    return Output({"text": text, "for": context.principal}, ui_summary="done")


@tool(isolation="process", namespace="apart")
def crash(how: str) -> str:
    """End the process."""
    if how == "exit":
        os._exit(3)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "raise":
        raise ToolFailed("not today", error_class="rate_limited", code="busy", retry_after=2.0)
    if how == "value":
        raise ValueError("secret-text")
    if how == "system":
        sys.exit(4)
    return how


@tool(isolation="process", namespace="apart", env=("API_SECRET",))
def tells(how: str) -> str:
    """Tell a secret with a text that is not Unicode."""
    secret, name = os.environ["API_SECRET"], os.fsdecode(b"caf\xe9")
    if how == "raise":
        raise ValueError(f"{secret} is not in {name}")
    if how == "log":
        logging.getLogger("ferrule.tools").error("%s is not in %s", secret, name)
        logging.getLogger("ferrule.tools").error("%d of %s", secret, name)
    if how == "failed":
        raise ToolFailed(f"nothing is in {name}")
    return name if how == "give" else how


@tool(isolation="process", namespace="apart", timeout_seconds=60)
def hang(mark: str) -> str:
    """Never end, and leave a child behind."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    Path(mark).write_text(f"{os.getpid()} {child.pid}", encoding="utf-8")
    while True:
        time.sleep(0.01)


@tool(isolation="process", namespace="apart")
def large(size: int) -> str:
    """Give a long text."""
    return "x" * size


def plain(number: int) -> dict[str, int]:
    """Twice a number."""
    return {"twice": number * 2, "pid": os.getpid()}
