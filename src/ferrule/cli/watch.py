"""`ferrule check --watch`: runs again after each change. Uses watchfiles if installed, and looks itself if not."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ferrule.settings import FILE_NAME
from ferrule.workspace import Workspace

_EVERY = 0.5
"""Seconds between looks."""


def watch(workspace: Workspace, once: Callable[[], int]) -> int:
    """Call `once` now and after every change below the workspace, until Ctrl-C."""
    try:
        _run(once)
        for _ in _changes(workspace):
            _run(once)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
    return 0


def _run(once: Callable[[], int]) -> None:
    if sys.stdout.isatty():
        sys.stdout.write("\x1b[2J\x1b[H")
    once()
    sys.stderr.write("watching for changes; Ctrl-C to end\n")
    sys.stderr.flush()


def _changes(workspace: Workspace) -> Iterator[object]:
    if find_spec("watchfiles") is not None:
        yield from import_module("watchfiles").watch(workspace.root, raise_interrupt=True)
        return
    before = _look(workspace)
    while True:
        time.sleep(_EVERY)
        after = _look(workspace)
        if after != before:
            before = after
            yield None


def _look(workspace: Workspace) -> dict[str, tuple[int, int]]:
    """Every file that could matter, with its time and size."""
    seen = {}
    for path in [str(workspace.root / FILE_NAME), *(task.path for task in workspace.select().everything)]:
        try:
            facts = Path(path).stat()
            seen[path] = (facts.st_mtime_ns, facts.st_size)
        except OSError:  # gone, or never there
            continue
    return seen
