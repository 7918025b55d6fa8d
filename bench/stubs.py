"""The group `stubs`: typed code for many tools, beside quicktype and datamodel-code-generator.

Each measurement is a process of its own, in turn with the others, and what is timed begins after everything is imported: from
tools in memory (the peers: texts of their schemas) to the texts of source files. The peers write types; ours are the types,
checks of everything the schema says, a stub to fill in and its registration, or the functions of a client. The peers are used as
libraries, all tools in one process, which is the fastest way they have.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.check import WORK, Bench
from bench.measure import Goal, Row, Sample, at_least, medians, run
from bench.stub_schemas import tool_schemas

HERE = Path(__file__).parent
FOLDER = WORK / "stubs"
PACKAGES = ("datamodel-code-generator", "pydantic")
NODE = HERE / "peers" / "quicktype"
QUICKTYPE = "quicktype-core@26.0.0"
LANGUAGES = {"go": "Go", "typescript": "TypeScript", "rust": "Rust", "python": "Python"}
MODELS = {"msgspec": "msgspec.Struct", "pydantic": "pydantic_v2.BaseModel"}
OURS = "ferrule gen"


def run_group(bench: Bench) -> Iterator[Row]:
    """All of it."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    file = FOLDER / "schemas.json"
    file.write_text(json.dumps(tool_schemas(bench.tools)))
    has_quicktype = quicktype_installed()
    for language, title in LANGUAGES.items():
        contenders = _contenders(bench, language, file, has_quicktype)
        yield from _rows(f"{title} for {bench.tools:,} tools, CPU", _rounds(bench, contenders))
    shutil.rmtree(FOLDER)


def quicktype_installed() -> bool:
    """Install quicktype, once, where npm can bring it."""
    if not (NODE / "node_modules").exists():
        NODE.mkdir(exist_ok=True)
        words = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(NODE), QUICKTYPE]
        try:
            subprocess.run(words, capture_output=True, timeout=300, check=True)
        except (OSError, subprocess.SubprocessError) as mishap:
            print(f"  NOT MEASURED: quicktype: {mishap}", flush=True)
            return False
    shutil.copy(HERE / "peers" / "stubs_quicktype.mjs", NODE)  # it looks for its packages beside itself
    return True


def _contenders(bench: Bench, language: str, file: Path, has_quicktype: bool) -> dict[str, Callable[[], Sample]]:
    flavours = tuple(MODELS) if language == "python" else ("",)
    found: dict[str, Callable[[], Sample]] = {}
    for flavour in flavours:
        found[f"{OURS} {flavour}".strip()] = _bound(_ours, bench, language, flavour, file)
    if has_quicktype:
        found["quicktype, types only"] = lambda: run(
            ["node", str(NODE / "stubs_quicktype.mjs"), "time", str(file), language]
        )
    if language == "python":
        script = str(HERE / "peers" / "stubs_dmcg.py")
        for flavour, model in MODELS.items():
            name = f"datamodel-code-generator {flavour}, types only"
            found[name] = _bound(run, [bench.peers, script, "time", str(file), model])
    return found


def _bound(function: Callable[..., Sample], *arguments: Any) -> Callable[[], Sample]:
    return lambda: function(*arguments)


def _ours(bench: Bench, language: str, flavour: str, file: Path) -> Sample:
    words = [bench.python, "-m", "bench.stubs_ours", str(file), language, *([flavour] if flavour else [])]
    return run(words, env=bench.env, cwd=HERE.parent)


def _rounds(bench: Bench, contenders: dict[str, Callable[[], Sample]]) -> dict[str, list[float]]:
    """Seconds of the processor of each, taken in turn. A peer that cannot be run is named, never guessed at."""
    taken: dict[str, list[float]] = {}
    for _ in range(bench.rounds):
        for name, contender in contenders.items():
            sample = contender()
            if sample.code and name.startswith(OURS):
                sys.exit(f"our own side failed in {name}:\n{sample.output}")
            if sample.code:
                why = (sample.output.strip().splitlines() or ["it ended without a word"])[-1]
                print(f"  NOT MEASURED: {name}: {why}", flush=True)
                continue
            taken.setdefault(name, []).append(json.loads(sample.output.strip().splitlines()[-1])["cpu"])
    return taken


def _rows(work: str, found: dict[str, list[float]]) -> list[Row]:
    return medians("stubs", work, found, "s", is_cpu=True)


def goals(table: Sequence[Row]) -> Iterator[Goal]:
    """What is wanted of it."""
    for row in table:
        if not row["contender"].startswith(OURS):
            yield at_least(f"{row['work']}, beside {row['contender']}", row["ratio"], 10, "times as fast")
