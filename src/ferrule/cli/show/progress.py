"""A progress bar on stderr for runs that take a while. Draws nothing unless a person is watching a terminal."""

from __future__ import annotations

import sys
import time

_FIRST_AFTER, _EVERY = 0.5, 0.1
"""Seconds: short runs stay quiet, and drawing must not slow long ones."""
_CELLS = 30


class ProgressBar:
    """Call it with how much is done; it draws now and then. As a context manager it wipes itself at the end."""

    def __init__(self, noun: str = "files") -> None:
        self.noun = noun
        self._next = time.monotonic() + _FIRST_AFTER
        self._is_drawn = False
        self._is_watched = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        if not self._is_watched or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY
        self._is_drawn = True
        filled = _CELLS * done // max(total, 1)
        bar = "━" * filled + "╌" * (_CELLS - filled)
        sys.stderr.write(f"\r\x1b[2K{bar} {done:,} of {total:,} {self.noun}")
        sys.stderr.flush()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
