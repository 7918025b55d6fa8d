"""The page about what generators of types get wrong: bench/stub_faults.json, as `python -m bench.stub_faults --write` left it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent.parent / "bench" / "stub_faults.json"
_INTRODUCTION = """\
# Stubs, compared

Written by `python -m bench.stub_faults --write`.
Each generator writes types for the schemas of `tests/definitions/stubs/languages/nasty.py`.
The types are loaded; values that the schema accepts are decoded and encoded again, and values that it refuses are decoded. A
cell says how many values were **refused** although the schema accepts them, came out **changed**, or were **let through**
although the schema refuses them; `ok` says none. Types alone cannot refuse everything a schema refuses. What ours let through
never comes to a tool: Ferrule holds every call to its schema before the tool runs. quicktype's JavaScript has the same checks at
run time as its TypeScript. Our stubs in Go, TypeScript and Rust take the same catalog in `tests/definitions/stubs/languages`.

"""


def page() -> str:
    """A line for each schema, a column for each generator."""
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    cases = list(next(iter(found.values())))
    lines = [f"| schema | {' | '.join(found)} |", f"|---|{'---|' * len(found)}"]
    lines += [f"| {case} | {' | '.join(_cell(verdicts[case]) for verdicts in found.values())} |" for case in cases]
    right = [sum(not any(verdict.values()) for verdict in verdicts.values()) for verdicts in found.values()]
    lines.append(f"| **right** | {' | '.join(f'**{number} of {len(cases)}**' for number in right)} |")
    return _INTRODUCTION + "\n".join(lines) + "\n"


def _cell(verdict: dict[str, Any]) -> str:
    if "failed" in verdict:
        return str(verdict["failed"])
    told = [f"{number} {what.replace('_', ' ')}" for what, number in verdict.items() if number]
    return ", ".join(told) or "ok"
