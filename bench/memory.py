"""Memory and time to hold a catalog: ours (sealed bytes, decoded on demand) against the same tools as pydantic models."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.measure import Row, Sample, interleaved, run
from ferrule.definitions.compiler.pack import pack
from ferrule.definitions.compiler.seal import public_half
from ferrule.workspace.workspace import Workspace

RSS = """
import gc, json, sys, time
def rss():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
"""
LOAD_OURS = """
from ferrule.model.catalog import Catalog
key = bytes.fromhex(sys.argv[2])
before, started = rss(), time.perf_counter()
catalog = Catalog.load(sys.argv[1], [key])
seconds = time.perf_counter() - started
assert len(catalog) == int(sys.argv[3])
print(json.dumps([rss() - before, seconds]))
"""
LOAD_PYDANTIC = """
from pydantic import BaseModel, TypeAdapter
class Tool(BaseModel):
    tool_id: str
    namespace: str
    name: str
    description: str
    lifecycle: str
    tool_kind: str
    dialect: str
    version: str | None = None
    title: str | None = None
    tags: list[str] = []
    owner: str | None = None
    input_schema: dict = {}
    output_schema: dict | None = None
    facts: dict = {}
    inferred_facts: list[str] = []
    payload: dict = {}
adapter = TypeAdapter(list[Tool])
before, started = rss(), time.perf_counter()
with open(sys.argv[1], "rb") as file:
    tools = adapter.validate_json(file.read())
seconds = time.perf_counter() - started
assert len(tools) == int(sys.argv[3])
print(json.dumps([rss() - before, seconds]))
"""


def catalogued(folder: Path, python: str, peers: str, rounds: int) -> Iterator[Row]:
    """Load the tools of a workspace both ways, each in a process of its own. Linux only: it reads /proc."""
    if not Path("/proc/self/statm").exists():
        return
    compiled = [item for file in Workspace.open(folder).compile() for item in file.compiled]
    tools = [tool for item in compiled for tool in item.tools]
    key = Ed25519PrivateKey.generate()
    sealed, plain = folder.parent / "memory.catalog", folder.parent / "memory.json"
    sealed.write_bytes(pack(tools, [], {}, key))
    plain.write_bytes(msgspec.json.encode(tools))
    words = [public_half(key).hex(), str(len(tools))]
    samples = interleaved(
        rounds,
        {
            "ferrule": lambda: run([python, "-c", RSS + LOAD_OURS, str(sealed), *words]),
            "pydantic models": lambda: run([peers, "-c", RSS + LOAD_PYDANTIC, str(plain), *words]),
        },
    )
    yield from _rows(f"memory of a catalogued tool ({len(tools):,} of them)", samples, 0, 1 / 1024 / len(tools), "KB")
    yield from _rows(f"load a catalog of {len(tools):,} tools", samples, 1, 1e3, "ms")


def _rows(work: str, samples: dict[str, list[Sample]], position: int, scale: float, unit: str) -> Iterator[Row]:
    values = {
        name: [json.loads(sample.output)[position] * scale for sample in taken] for name, taken in samples.items()
    }
    medians = {name: statistics.median(taken) for name, taken in values.items()}
    for name, median in medians.items():
        yield Row(
            group="check",
            work=work,
            contender=name,
            median=round(median, 4),
            unit=unit,
            cpu=None,
            ratio=round(median / medians["ferrule"], 3),
            cpu_ratio=None,
            samples=[round(value, 4) for value in values[name]],
        )
