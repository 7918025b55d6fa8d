"""The group `convert`: an OpenAPI document taken in, beside FastMCP; and many tools written for providers.

Each measurement is a process of its own, in turn with the others. What is timed begins after everything is imported: from the
bytes of the document to tools (ours are texts of files, each request planned once; FastMCP's are objects), and from tools in
memory to the bytes of a list, with every loss. Finding the lines of the losses reads the files once more and is a row of its own,
without a goal. Nobody else that is compared here converts tools and tells what got lost.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.check import WORK, Bench
from bench.measure import Goal, Row, Sample, at_least, at_most, medians, run
from bench.openapi_document import openapi_document

HERE = Path(__file__).parent
FOLDER = WORK / "convert"
PACKAGES = ("fastmcp", "mcp", "pydantic", "httpx2")
OURS, PEER = "ferrule import openapi", "FastMCP.from_openapi"
TARGETS = {
    "openai": "OpenAI",
    "openai --strict": "OpenAI, strict schemas",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "openai --placed": "OpenAI, every loss at its line",
}


def run_group(bench: Bench) -> Iterator[Row]:
    """All of it."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    yield from taken_in(bench)
    yield from written(bench)
    shutil.rmtree(FOLDER)


def taken_in(bench: Bench) -> Iterator[Row]:
    """Seconds from the document to its tools, on the clock and of the processor."""
    file = FOLDER / "openapi.json"
    file.write_bytes(openapi_document(bench.operations))
    contenders: dict[str, Callable[[], Sample]] = {
        OURS: lambda: _ours(bench, "import", str(file)),
        PEER: lambda: run([bench.peers, str(HERE / "peers" / "convert_fastmcp.py"), str(file)], cwd=FOLDER),
    }
    found = _rounds(bench, contenders)
    for one in found.get(OURS, [{}]):
        if one.get("tools") != bench.operations:
            sys.exit(f"of {bench.operations} operations {one.get('tools')} became tools")
    yield from _rows(_import_work(bench), found, "wall")
    yield from _rows(_import_work(bench) + ", CPU", found, "cpu")


def written(bench: Bench) -> Iterator[Row]:
    """Seconds of the processor from tools in memory to the bytes of a list."""
    folder, _ = bench.workspace("aml", bench.size, faulty_percent=0)
    contenders: dict[str, Callable[[], Sample]] = {
        f"to {title}": (lambda words=words: _ours(bench, "convert", str(folder / "tools"), *words.split()))  # type: ignore[misc]  # bound at once
        for words, title in TARGETS.items()
    }
    yield from _rows(_write_work(bench), _rounds(bench, contenders), "cpu")
    shutil.rmtree(folder)


def _import_work(bench: Bench) -> str:
    return f"an OpenAPI document of {bench.operations:,} operations"


def _write_work(bench: Bench) -> str:
    return f"{bench.size:,} AML tools written for a provider, CPU"


def _ours(bench: Bench, *words: str) -> Sample:
    return run([bench.python, "-m", "bench.convert_ours", *words], env=bench.env, cwd=HERE.parent)


def _rounds(bench: Bench, contenders: dict[str, Callable[[], Sample]]) -> dict[str, list[dict[str, Any]]]:
    """What each said of its rounds, taken in turn. A peer that cannot be run is named, never guessed at."""
    taken: dict[str, list[dict[str, Any]]] = {}
    for _ in range(bench.rounds):
        for name, contender in contenders.items():
            sample = contender()
            if sample.code and name != PEER:
                sys.exit(f"our own side failed in {name}:\n{sample.output}")
            if sample.code:
                why = (sample.output.strip().splitlines() or ["it ended without a word"])[-1]
                print(f"  NOT MEASURED: {name}: {why}", flush=True)
                continue
            taken.setdefault(name, []).append(json.loads(sample.output.strip().splitlines()[-1]))
    return taken


def _rows(work: str, found: dict[str, list[dict[str, Any]]], key: str) -> list[Row]:
    numbers = {name: [one[key] for one in said] for name, said in found.items()}
    return medians("convert", work, numbers, "s", is_cpu=key == "cpu")


def goals(table: Sequence[Row]) -> Iterator[Goal]:
    """What is wanted of it."""
    peer = next((row for row in table if row["contender"] == PEER and row["cpu"] is not None), None)
    yield at_least("an import, beside FastMCP's, by CPU", None if peer is None else peer["ratio"], 10, "times as fast")
    for row in table:
        if row["contender"].startswith("to ") and not row["contender"].endswith("line"):
            yield at_most(f"{row['work']} {row['contender']}", row["median"], 2, "s")
