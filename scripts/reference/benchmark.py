"""The page of measured numbers, from bench/results.json as `make bench` left it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent.parent / "bench" / "results.json"
HEADINGS = {
    "check": "Checking definitions",
    "call": "Calling tools",
    "together": "Calls together and over time",
    "transports": "Tools behind a network",
    "serve": "Serving",
    "console": "The console",
    "convert": "Taking tools in and giving them out",
    "stubs": "Typed stubs",
}
INTRODUCTIONS = {
    "check": "Medians. A ratio says how many times as much the contender takes, measured against the first row of its work.",
    "call": (
        "The same `add(a: int, b: int) -> int` everywhere, as an `async` function. Medians of interleaved rounds. The"
        " median is on the clock until the answer is there; CPU is of the whole process, ours with the ledger row on"
        " disk; the best is the best batch. None of the others decides, records or seals a call. A durable action is on"
        " disk twice, before it runs and before its answer is told, so the floors (rows a second of a bare group commit,"
        " see `bench/actions.py`) count half. A ratio is to the first row of its work."
    ),
    "together": (
        "Medians of interleaved rounds, on the clock unless it says CPU. The ideal of calls side by side is the same waits"
        " through a bare semaphore; ours are judged, scheduled, recorded and given in call order. What a batch adds is the"
        " processor time of the whole process, rows on disk included, less that of the same calls one after the other;"
        " every tool waits once for the event loop, so that all of a batch stand in the queue. Of a streamed result the"
        " memory is the process's peak, less what it held after an empty one. The others have nothing to compare with but"
        " calling many at once. A ratio is to the first row of its work."
    ),
    "transports": (
        "One HTTP server, in a process of its own, answers every REST contender; PostgreSQL runs beside. The bare rows are the"
        " very client and driver that ours use, without anything of ours around them. CPU is of the calling process, ours"
        " with its ledger rows; calls a second are with 64 in flight, callers and servers sharing the machine's cores. None of"
        " the others decides or records a call, and httpx2 is no tool at all. MCP Toolbox runs in a process of its own, so"
        " only its calls a second count. A ratio is to the first row of its work."
    ),
    "serve": (
        "The same `add(a, b)` over MCP. Over HTTP wrk keeps connections busy that stay open; over standard streams a raw client"
        " keeps calls in flight. CPU is of the server's processes, children included, read from /proc. Ours asks for a token,"
        " decides by a policy and records every call in its ledger; of the others only ContextForge asks for a token, and none"
        " decides or records. ContextForge has no functions as tools: its tool is one more request, to a server beside it. The"
        " floors give a fixed answer. Load and server share the machine's cores. A ratio is to the first row of its work."
    ),
    "console": (
        "Pages of one workspace with many tools and many invocations, served by a process of its own on a machine that also runs"
        " the client. First byte and whole answer are of the page itself, one request at a time; CPU is of the server's process."
        " Complete is until the page and every part that it fetches by itself stand in Chromium, which has the styles and scripts"
        " already; work is the server's and that of the browser's thread for the page. Then calls"
        " are made at a steady rate while a page is looked at: the longest task is the longest time the page"
        " did nothing else. Nobody else is measured; a ratio is to the first row of its work."
    ),
    "convert": (
        "Each measurement is a process of its own, timed after everything is imported. An import is from the bytes of the"
        " document to tools: ours are texts of AML files, each request planned once, FastMCP's are objects of a server,"
        " listed once. Tools are written from memory to the bytes of a list, with every loss told; nobody else here does"
        " that. To find the lines of the losses the files are read once more. A ratio is to the first row of its work."
    ),
    "stubs": (
        "From tools in memory (the others: texts of schemas) to the texts of source files, in a process of its own, timed after"
        " everything is imported. Ours are types, the checks of the schema, a stub to fill in and its registration; the others'"
        " are types. The others are used as libraries with all tools in one process, the fastest way they have. What each of"
        " them gets wrong is in [stubs-compared.md](stubs-compared.md). A ratio is to the first row of its work."
    ),
}


def page() -> str:
    """The last results as tables, with the machine and the versions."""
    lines = ["# Benchmark", ""]
    if not RESULTS.is_file():
        return "\n".join([*lines, "Not measured yet: run `make bench`, then `make docs`.", ""])
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for name, heading in HEADINGS.items():
        if name in results:
            lines += [f"## {heading}", "", *_group(name, results[name])]
    return "\n".join(lines)


def _group(name: str, group: Mapping[str, Any]) -> Iterator[str]:
    machine = group["machine"]
    where = f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}"
    how = ", ".join(f"{setting} {value:,}" for setting, value in group["how"].items())
    yield from (f"Written by `make bench ONLY={name}` ({how}) on {where}.", "")
    yield from (", ".join(f"{package} {version}" for package, version in group["versions"].items()) + ".", "")
    yield from (INTRODUCTIONS[name], "")
    yield from _table(group["rows"])
    yield from _goals(group["goals"])


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    has_best = any("best" in row for row in rows)
    yield f"| work | contender | median | CPU |{' best CPU |' if has_best else ''} ratio | CPU ratio |"
    yield f"|---|---|---:|---:|{'---:|' if has_best else ''}---:|---:|"
    last = ""
    for row in rows:
        work, last = (row["work"] if row["work"] != last else ""), row["work"]
        best = f" {_value(row.get('best'), row['unit'])} |" if has_best else ""
        cpu_ratio = "" if row["cpu_ratio"] is None else f"{row['cpu_ratio']:.2f}"
        values = f"{_value(row['median'], row['unit'])} | {_value(row['cpu'], row['unit'])} |{best}"
        yield f"| {work} | {row['contender']} | {values} {row['ratio']:.2f} | {cpu_ratio} |"
    yield ""


def _value(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,.3f} {unit}"


def _goals(goals: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not goals:
        return
    yield from ("| goal | wanted | measured | |", "|---|---|---:|---|")
    for goal in goals:
        measured = f"{goal['measured']:,.2f} {goal['unit']}"
        yield f"| {goal['what']} | {goal['wanted']} | {measured} | {'met' if goal['is_met'] else 'missed'} |"
    yield ""
