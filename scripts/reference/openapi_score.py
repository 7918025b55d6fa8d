"""The page about how OpenAPI documents fare, from what `python -m tests.definitions.openapi.scoring.score --write` left."""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).parent.parent.parent / "tests" / "definitions" / "openapi" / "scoring" / "score.json"
_INTRODUCTION = """\
# OpenAPI documents, taken all the way

Each document is imported, what was written is checked, and tools are called through the whole pipeline against a server that is
made from the same document. The server knows nothing of the importer: it reads each request by the document (path, style of
every parameter, cookies, body, security) and refuses what does not obey. A tool counts as callable when three calls, with
the least, the most and some of the arguments its schema allows, were accepted there, and the answers by its output schema.

The documents are written for this purpose, after what services really publish. Those called `broken` are wrong in places or as a
whole; what can be saved of them becomes tools. Of the large one {called} tools are called. CI fails when a number gets worse.

| document | version | operations | tools | called | callable | errors told | warnings told | `check` errors | `check` warnings |
|---|---|---|---|---|---|---|---|---|---|
"""
_COLUMNS = ("operations", "tools", "called", "callable", "errors", "warnings", "check_errors", "check_warnings")


def page() -> str:
    """One line for each document, and one for all."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    lines = [_line(row["document"], row["version"], [row[name] for name in _COLUMNS]) for row in rows]
    lines.append(_line(f"**{len(rows)} documents**", "", [sum(row[name] for row in rows) for name in _COLUMNS]))
    called = max((row["called"] for row in rows if row["tools"] > row["called"] > 0), default=0)
    return _INTRODUCTION.replace("{called}", str(called)) + "\n".join(lines) + "\n"


def _line(name: str, version: str, numbers: list[int]) -> str:
    return f"| {name} | {version} | {' | '.join(f'{number:,}' for number in numbers)} |"
