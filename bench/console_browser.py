"""A browser for the group `console`: how long a page takes until it is complete, and what live news cost it.

Chromium by playwright, as in the tests (`pip install playwright`, Debian's chromium). Knows nothing of what is on a page.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

from bench.serve_load import NotMeasured

_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
_WATCH = """
window.long = []; window.swaps = []; window.shifts = 0;
new PerformanceObserver(list => list.getEntries().forEach(one => window.long.push([one.startTime, one.duration])))
  .observe({ type: 'longtask', buffered: true });
new PerformanceObserver(list => list.getEntries().forEach(one => { if (!one.hadRecentInput) window.shifts += one.value; }))
  .observe({ type: 'layout-shift', buffered: true });
document.addEventListener('htmx:afterSwap', () => window.swaps.push(performance.now()));
"""
_COMPLETE = "() => document.readyState === 'complete' && !document.querySelector('.htmx-request')"
_LOADED = "() => Math.max(performance.getEntriesByType('navigation')[0].loadEventEnd, ...window.swaps)"
_BATCH = 20
"""Calls that are sent at once; so many times a second as make up the rate."""


class Watched(NamedTuple):
    """What happened in a page while calls were made."""

    swaps: int
    """Parts that were put in anew."""
    longest_pause: float
    """Milliseconds between two of them."""
    long_tasks: int
    """Times that the page did nothing else for more than 50 ms."""
    longest_task: float
    shift: float
    """How far things moved (cumulative layout shift)."""


@contextmanager
def browser(url: str, token: str) -> Iterator[Any]:
    """A signed-in page. Raises NotMeasured where there is no browser."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        start = import_module("playwright.sync_api").sync_playwright
    except ImportError:
        raise NotMeasured("playwright is not installed") from None
    if path is None:
        raise NotMeasured("chromium is not installed")
    with start() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        try:
            page = opened.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.add_init_script(_WATCH)
            page.goto(f"{url}/console/login")
            page.fill("#token", token)
            page.click("button[type=submit]")
            page.wait_for_url(f"{url}/console/**")
            yield page
        finally:
            opened.close()


class Completed(NamedTuple):
    """How a page came to stand there with all its parts, in a browser that has the styles and scripts already."""

    wall: float
    """Milliseconds."""
    busy: float
    """Milliseconds that the browser's own thread for this page was busy."""


def complete(page: Any, address: str) -> Completed:
    """Go to a page, and wait for all of it."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    before = _busy(session)
    page.goto(address, wait_until="load")
    page.wait_for_function(_COMPLETE)
    done = Completed(float(page.evaluate(_LOADED)), 1e3 * (_busy(session) - before))
    session.detach()
    return done


def _busy(session: Any) -> float:
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def watched(page: Any, address: str, traffic: Callable[[], None]) -> Watched:
    """Look at a page while something else makes calls."""
    complete(page, address)
    page.wait_for_selector(".side [data-live-state]:text-is('live')", state="attached")
    began = page.evaluate("() => { window.shifts = 0; return performance.now(); }")
    traffic()
    page.wait_for_function(_COMPLETE)
    tasks = [took for at, took in page.evaluate("() => window.long") if at >= began]
    swaps = [began, *(at for at in page.evaluate("() => window.swaps") if at >= began)]
    pauses = [after - before for before, after in pairwise(swaps)]
    shift = float(page.evaluate("() => window.shifts"))
    return Watched(len(swaps) - 1, max(pauses, default=0.0), len(tasks), max(tasks, default=0.0), shift)


def calls(url: str, token: str, tool: str, rate: int, seconds: float, *, pause: Callable[[float], None]) -> int:
    """Make calls at a rate, by batches; gives how many there were. `pause` waits, and lets whoever looks do so."""
    body = {"calls": [{"tool": tool, "arguments": {"a": number, "b": 1}} for number in range(_BATCH)]}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data, made, began = json.dumps(body).encode(), 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        if made < rate * passed:
            with urlopen(Request(f"{url}/v1/batches", data, headers), timeout=60) as answer:
                answer.read()
            made += _BATCH
        else:
            pause(1000 * (made / rate - passed))
    return made
