"""The group `together`: calls side by side and in the queue, one large result, hooks and secrets, beside what others have.

Programs of their own, round by round. Where a cost is the difference of two ways of doing the same, both ways are rows and
take turns; a goal counts the difference of their medians. Of the others only calling at once is comparable: they have no
queue, no locks, no hooks that are recorded, and nothing that a large result goes to.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench import redaction
from bench.call import YARDSTICK, yardstick
from bench.check import WORK, Bench
from bench.measure import Goal, Row, Sample, at_most, medians, run
from bench.together_calls import AT_ONCE, SECONDS
from bench.together_stream import WAYS

HERE = Path(__file__).parent
FOLDER = WORK / "together"
PEERS = ("fastmcp", "langchain")
PACKAGES = ("fastmcp", "mcp", "langchain-core", "pydantic")
IDEAL = f"the bare waits, asyncio.Semaphore({AT_ONCE})"
OURS = "ferrule call_many, governed and recorded"
APART, TOGETHER = "one after the other", "in one batch"
WITHOUT, WITH = "without a hook", "with a hook in this process"
SECRETS = 200
STREAMS = {
    f"{how}, {about}": (way, count)
    for way, how in (("stream", "a generator"), ("writer", "context.open_output"))
    for count, about in ((0, "nothing secret"), (SECRETS, f"{SECRETS} secrets"))
}
assert {way for way, _ in STREAMS.values()} == set(WAYS)


def run_group(bench: Bench) -> Iterator[Row]:
    """All of it."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    paces = [yardstick()]
    ours, peers = _calls(bench), _peers(bench)
    paces.append(yardstick())
    yield from _rows("the machine itself, before and after", {YARDSTICK: paces}, "µs")
    yield from side_by_side(bench, ours["parallel"], peers)
    yield from queued(bench, ours["queue"])
    yield from hooked(ours["hook"])
    yield from streamed(bench)
    yield from redacted(bench)
    shutil.rmtree(FOLDER)


def _calls(bench: Bench) -> dict[str, Any]:
    """What `bench.together_calls` says; its rounds are interleaved by itself."""
    sizes = {"parallel": bench.parallel, "queued": bench.queued, "hooked": bench.calls, "rounds": bench.rounds}
    words = [word for name, size in sizes.items() for word in (f"--{name}", str(size))]
    return _ours(bench, "bench.together_calls", str(FOLDER / "calls"), *words)


def _ours(bench: Bench, module: str, *words: str) -> dict[str, Any]:
    sample = run([bench.python, "-m", module, *words], env=bench.env, cwd=HERE.parent)
    if sample.code:
        sys.exit(f"our own side failed in {module}:\n{sample.output}")
    return _last_line(sample)


def _last_line(sample: Sample) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sample.output.strip().splitlines()[-1])
    return found


def _peers(bench: Bench) -> dict[str, list[float]]:
    """Milliseconds of as many calls at once, for those that can be run. Who cannot is named, never guessed at."""
    taken: dict[str, list[float]] = {}
    for peer in PEERS:
        script = HERE / "peers" / f"together_{peer}.py"
        words = ["--calls", str(bench.parallel), "--rounds", str(bench.rounds)]
        sample = run([bench.peers, str(script), *words], cwd=FOLDER)
        if sample.code:
            why = (sample.output.strip().splitlines() or ["it ended without a word"])[-1]
            print(f"  NOT MEASURED: {peer}: {why}", flush=True)
            continue
        taken.update(_last_line(sample))
    return taken


def _parallel_work(bench: Bench) -> str:
    return f"{bench.parallel:,} calls of a tool that takes {SECONDS * 1000:g} ms, {AT_ONCE} at once"


def side_by_side(
    bench: Bench, ours: Mapping[str, Sequence[float]], peers: Mapping[str, Sequence[float]]
) -> Iterator[Row]:
    """Milliseconds until every result is there."""
    waves = -(-bench.parallel // AT_ONCE) * SECONDS * 1000
    contenders = {IDEAL: ours["bare"], "in theory, no time but the waits": [waves], OURS: ours["ferrule"], **peers}
    yield from _rows(_parallel_work(bench), contenders, "ms")


def queued(bench: Bench, found: Mapping[str, Mapping[str, Sequence[float]]]) -> Iterator[Row]:
    """Processor time a call, apart and together."""
    for kind, ways in found.items():
        yield from _rows(
            _queue_work(bench, kind), {APART: ways["apart"], TOGETHER: ways["together"]}, "µs", is_cpu=True
        )


def _queue_work(bench: Bench, kind: str) -> str:
    return f"{bench.queued:,} {kind}, CPU a call"


def hooked(found: Mapping[str, Sequence[float]]) -> Iterator[Row]:
    """Processor time of the calling thread, a call."""
    yield from _rows(_HOOK_WORK, {WITHOUT: found["without"], WITH: found["with"]}, "µs", is_cpu=True)


_HOOK_WORK = "one call of add(a, b), the calling thread's CPU"
_GROWTH_WORK = "memory that a streamed result takes"


def streamed(bench: Bench) -> Iterator[Row]:
    """Megabytes a second into the payload store, and the memory that took."""
    rates: dict[str, list[float]] = {}
    grown: dict[str, list[float]] = {}
    for name, (way, count) in STREAMS.items():
        place = FOLDER / "stream"
        sizes = ["--megabytes", str(bench.megabytes), "--secrets", str(count)]
        found = _ours(bench, "bench.together_stream", way, str(place), *sizes)
        rates[name], grown[name] = [found["rate"]], [found["grown"]]
        shutil.rmtree(place)
    yield from _rows(f"a streamed result of {bench.megabytes:,} MB, stored", rates, "MB/s")
    yield from _rows(_GROWTH_WORK, grown, "MB")


def _redaction_work() -> str:
    return f"1 MB searched for {SECRETS} secrets in all spellings"


def redacted(bench: Bench) -> Iterator[Row]:
    """Milliseconds a megabyte, by what is in it."""
    yield from _rows(_redaction_work(), redaction.taken(SECRETS, bench.rounds), "ms", is_cpu=True)


_rows = partial(medians, "together")


def goals(rows: Sequence[Row]) -> Iterator[Goal]:
    """What we want of these numbers, and what they are."""
    found = {(row["work"], row["contender"]): row["median"] for row in rows}
    for work, contender in found:
        if contender == OURS:
            times = found[work, OURS] / found[work, IDEAL]
            yield at_most(f"{work}: as a multiple of the bare waits", times, 1.5, "times")
    for work, contender in found:
        if contender == TOGETHER:
            yield at_most(f"{work}: the batch adds", found[work, TOGETHER] - found[work, APART], 15, "µs of CPU")
    yield at_most("a hook in this process adds", found[_HOOK_WORK, WITH] - found[_HOOK_WORK, WITHOUT], 5, "µs of CPU")
    for name in STREAMS:
        yield at_most(f"{_GROWTH_WORK}: {name}", found[_GROWTH_WORK, name], 50, "MB")
    for (work, contender), median in found.items():
        if work == _redaction_work():
            yield at_most(f"{work}: {contender}", median, 10, "ms")
