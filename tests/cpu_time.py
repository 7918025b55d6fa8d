"""How much work something is, measured so that a busy machine and a full test process do not count."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")


def least_cpu_seconds(work: Callable[[], Made]) -> tuple[float, Made]:
    """The CPU seconds of this thread that some work takes, at the least of three tries, and what it made.

    Threads that other tests left behind do not count, and the garbage of thousands of tests is not collected in every try.
    Work that is too much is so every time.
    """
    seconds = []
    for _ in range(3):
        began = time.thread_time()
        made = work()
        seconds.append(time.thread_time() - began)
    return min(seconds), made
