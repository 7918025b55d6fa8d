"""Our side of the group `call`: one way of calling `add`, governed and recorded on disk. Prints its batches as JSON.

python -m bench.governed read-only FOLDER [--calls 2000] [--batches 7]

Every batch ends with a flush, so that the processor time of the whole process includes the ledger rows of its calls.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import ferrule
from ferrule.app.surface import SurfaceHandle
from ferrule.model.approval import APPROVE, Identity

Call = Callable[[int], Awaitable[Any]]
"""Makes one call of `add(number, 1)` and gives its answer."""
Batches = dict[str, list[float]]
RULES = 500


@ferrule.tool(read_only=True, open_world=False)
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


@ferrule.tool(name="add", read_only=True, open_world=False, inline=True)
def add_inline(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


@ferrule.tool(name="add", destructive=False, open_world=False, concurrency_safe=True)
async def add_as_action(a: int, b: int) -> int:
    """Add two whole numbers, as if that changed something."""
    return a + b


class Variant(NamedTuple):
    """One way of calling, and what is arranged for it."""

    tool: Any = add
    policy: str = ""
    how: str = "plain"
    """`plain`, `text` (numbers sent as text, to be mended) or `approved` (parked, then approved in the inbox)."""
    divisor: int = 1
    """How many times fewer calls a batch has, for what takes longer."""


def rules_elsewhere() -> str:
    """A table of rules as a company has it: about other tools, in every kind of words; a few look at this call too."""
    kinds = (
        'decision = "deny"\ntool = "tool-{n}"',
        'decision = "ask"\ntool = "crm-{n}-*"\nwhen = {{ amount = {{ above = {n} }} }}',
        'decision = "allow"\ntool = "report-{n}"\nprincipal = ["group:staff"]',
        'decision = "deny"\nnamespace = "team-{n}"\npath = ["/srv/{n}/**"]',
        'decision = "ask"\nprincipal = "person-{n}"',
    )
    groups = '[groups]\nstaff = ["eve", "mallory"]\n'
    return groups + _table(lambda number: kinds[number % len(kinds)].format(n=number))


def rules_about_it() -> str:
    """The worst table: every rule is about this tool and has to look at the arguments of each call."""
    return _table(lambda number: f'decision = "deny"\ntool = "add"\nwhen = {{ a = {{ equals = {-number - 1} }} }}')


def _table(rule: Callable[[int], str]) -> str:
    return "\n".join(f'[[rules]]\nid = "r{number}"\n{rule(number)}\n' for number in range(RULES))


ALLOW = '[[rules]]\nid = "yes"\ndecision = "allow"\ntool = "add"\n'
ASK = '[[rules]]\nid = "people"\ndecision = "ask"\ntool = "add"\n'
VARIANTS: dict[str, Callable[[], Variant]] = {
    "read-only": lambda: Variant(),
    "read-only, a plain inline function": lambda: Variant(tool=add_inline),
    f"{RULES} rules, most about other tools": lambda: Variant(policy=rules_elsewhere()),
    f"{RULES} rules, all about its arguments": lambda: Variant(policy=rules_about_it(), divisor=4),
    "numbers sent as text, mended": lambda: Variant(how="text"),
    "parked, approved, resumed": lambda: Variant(policy=ASK, how="approved", divisor=10),
    "an action, durable before and after": lambda: Variant(tool=add_as_action, policy=ALLOW, divisor=5),
}


@asynccontextmanager
async def opened(
    folder: Path,
    tools: Sequence[Any] = (add,),
    policy: str = "",
    *,
    settings: str = "",
    hooks: Sequence[Any] = (),
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[ferrule.App]:
    """An app as anybody opens it, on a workspace with settings, a policy and a ledger of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ferrule.toml").write_text(f'namespace = "bench"\n{settings}')
    (folder / "policy.toml").write_text(policy)
    async with ferrule.open(folder, tools=tools, hooks=hooks, environment=environment or {}) as app:
        yield app


def caller(app: ferrule.App, how: str) -> Call:
    """The way of calling."""
    handle = app.surface(principal="ann")
    if how == "approved":
        return _approved(app, handle)

    async def plain(number: int) -> Any:
        return (await handle.call("add", {"a": number, "b": 1})).structured_content  # type: ignore[union-attr]

    async def text(number: int) -> Any:
        return (await handle.call("add", {"a": str(number), "b": "1"})).structured_content  # type: ignore[union-attr]

    return text if how == "text" else plain


def _approved(app: ferrule.App, handle: SurfaceHandle) -> Call:
    inbox = app.inbox(Identity("bob", "bench:bob", frozenset({APPROVE})))

    async def approved(number: int) -> Any:
        pending = await handle.call("add", {"a": number, "b": 1})
        return (await inbox.approve(pending.invocation_id)).result.structured_content  # type: ignore[union-attr]

    return approved


async def measure(folder: Path, variant: Variant, calls: int, batches: int) -> Batches:
    """Microseconds a call: on the calling thread, in the whole process with the rows on disk, and on the clock."""
    taken: Batches = {"thread": [], "cpu": [], "wall": []}
    async with opened(folder, [variant.tool], variant.policy) as app:
        call = caller(app, variant.how)
        for number in range(batches + 1):
            cost = await _batch(app, call, calls)
            if number:  # the first one warms up
                for name, seconds in cost.items():
                    taken[name].append(seconds / calls * 1e6)
        rows = (await app.store.rows_before(None, 1))[0].seq
    if rows < calls * (batches + 1):
        raise SystemExit(f"{calls * (batches + 1)} calls left {rows} rows in the ledger")
    return taken


async def _batch(app: ferrule.App, call: Call, calls: int) -> dict[str, float]:
    gc.collect()
    cpu, thread, wall = time.process_time(), time.thread_time(), time.perf_counter()
    for number in range(calls):
        if await call(number) != number + 1:
            raise SystemExit(f"add({number}, 1) was answered wrongly")
    thread, wall = time.thread_time() - thread, time.perf_counter() - wall
    await app.store.flush()
    return {"thread": thread, "cpu": time.process_time() - cpu, "wall": wall}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variant", choices=sorted(VARIANTS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--batches", type=int, default=7)
    options = parser.parse_args()
    variant = VARIANTS[options.variant]()
    calls = max(1, options.calls // variant.divisor)
    taken = asyncio.run(measure(options.folder, variant, calls, options.batches))
    print(json.dumps({options.variant: taken}))


if __name__ == "__main__":
    main()
