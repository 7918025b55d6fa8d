"""`ferrule check --watch`: runs again after each change. Uses watchfiles if installed; otherwise polls and says so."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec

from ferrule.cli.run import fail
from ferrule.errors import FerruleError
from ferrule.infra.drivers import EXTRAS, describe_missing_extra
from ferrule.workspace.staleness import read_all_stamps
from ferrule.workspace.workspace import Workspace

_EVERY = 0.5
"""Seconds between looks."""
_EVERY_WITH_HELP = 2.0
"""The same with watchfiles, which tells of changes at once, but not of those before it began to listen."""


def watch(workspace: Workspace, once: Callable[[], int], output: str | None = None) -> int:
    """Calls `once` now and after every change below the workspace, until Ctrl-C. A write to `output` is no change."""
    written = None if output is None else os.path.abspath(output)
    try:
        # Before the check: a file that changes while it runs has to count as changed.
        seen = read_all_stamps(workspace, written)
        _run(once)
        if not _has_watchfiles():
            sys.stderr.write(f"note: {describe_missing_extra(EXTRAS['watch'].used_for, 'watch')}\n")
            sys.stderr.flush()
        for _ in _moments(workspace):
            now = read_all_stamps(workspace, written)
            if now != seen:
                seen = now
                _run(once)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
    return 0


def _run(once: Callable[[], int]) -> None:
    if sys.stdout.isatty():
        sys.stdout.write("\x1b[2J\x1b[H")
    try:
        once()
    except FerruleError as error:  # settings half written, a file gone for a moment: the next change may mend it
        fail(str(error))
    sys.stderr.write("watching for changes; Ctrl-C to end\n")
    sys.stderr.flush()


def _has_watchfiles() -> bool:
    return find_spec("watchfiles") is not None


def _moments(workspace: Workspace) -> Iterator[object]:
    """Yields when to check: after each change that watchfiles reports, and periodically in any case."""
    if _has_watchfiles():
        from watchfiles import watch as moments

        yield from moments(
            workspace.root, raise_interrupt=True, yield_on_timeout=True, rust_timeout=int(_EVERY_WITH_HELP * 1000)
        )
    while True:
        time.sleep(_EVERY)
        yield None
