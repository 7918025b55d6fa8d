"""Decoding large JSON without pauses."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_LARGE = 64 * 1024


@contextmanager
def no_garbage(text: bytes) -> Iterator[None]:
    """While a large text is decoded, nobody looks for garbage: a million members are none, and looking through them again and
    again takes longer than everything else."""
    is_paused = len(text) > _LARGE and gc.isenabled()
    if is_paused:
        gc.disable()
    try:
        yield
    finally:
        if is_paused:
            gc.enable()
