"""The page of measured numbers, from bench/results.json as `make bench` left it."""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).parent.parent.parent / "bench" / "results.json"


def page() -> str:
    """The last results as a table, with the machine and the versions."""
    lines = ["# Benchmark", ""]
    if not RESULTS.is_file():
        return "\n".join([*lines, "Not measured yet: run `make bench`, then `make docs`.", ""])
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    machine = results["machine"]
    where = f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}"
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines += [
        f"Written by `make bench` (`SIZE={results['size']}`) on {where}.",
        "",
        f"{versions}.",
        "",
        "Medians. A ratio says how many times as much the contender takes, measured against the first row of its work.",
        "",
        "| work | contender | median | CPU | ratio | CPU ratio |",
        "|---|---|---:|---:|---:|---:|",
    ]
    last = ""
    for row in results["rows"]:
        work = row["work"] if row["work"] != last else ""
        last = row["work"]
        cpu = "" if row["cpu"] is None else f"{row['cpu']:,.3f} {row['unit']}"
        cpu_ratio = "" if row["cpu_ratio"] is None else f"{row['cpu_ratio']:.2f}"
        median = f"{row['median']:,.3f} {row['unit']}"
        lines.append(f"| {work} | {row['contender']} | {median} | {cpu} | {row['ratio']:.2f} | {cpu_ratio} |")
    return "\n".join([*lines, ""])
