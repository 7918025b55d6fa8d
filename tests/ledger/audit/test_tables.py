"""The replayed tables: the model's own word on marks, with memory that does not grow."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.ledger import RawRow
from ferrule.ledger.audit.findings import Findings
from ferrule.ledger.audit.tables import TableReplay, compare_table
from ferrule.ledger.chain import to_kind_number
from ferrule.ledger.tables import Tables
from ferrule.model.journal import Kind, Mark, encode

KINDS: tuple[Kind, ...] = ("call", "started", "parked", "ended", "switch")


def random_marks(seed: int, count: int) -> Iterable[tuple[Kind, str, Mark]]:
    rng = random.Random(seed)
    for _ in range(count):
        kind = rng.choice(KINDS)
        call = "" if kind == "switch" else f"inv_{rng.randrange(count)}"
        state = rng.choice(["", "running", "awaiting_approval"])
        key = b"%d" % rng.randrange(count * 2) if rng.random() < 0.6 else b""
        run = f"run-{rng.randrange(count)}" if rng.random() < 0.6 else ""
        tool = f"tool.{rng.randrange(3)}"
        yield kind, call, Mark(state, tool_id=tool, key=key, counted_run=run, switch=rng.choice(["", "on", "off"]))


@given(st.integers(0, 10_000), st.integers(1, 60))
def test_it_gives_what_the_model_gives(seed: int, count: int) -> None:
    check(seed, count)


def test_also_when_keys_and_counters_go_to_the_scratch_database() -> None:
    check(1, 12_000)


def check(seed: int, count: int) -> None:
    replay, model = TableReplay(), Tables()
    for seq, (kind, call, mark) in enumerate(random_marks(seed, count), start=1):
        model.apply_mark(kind, call, seq, mark)
        replay.feed(RawRow(seq, to_kind_number(kind), call, seq, "", "", b"", None, None, encode(mark), b""))
    expected: dict[Any, list[tuple[Any, ...]]] = {
        "open_calls": [msgspec.structs.astuple(model.open_calls[call]) for call in sorted(model.open_calls)],
        "idempotency": [(key, *model.keys[key]) for key in sorted(model.keys)],
        "runs": [(run, *used) for run in sorted(model.runs) for used in sorted(model.runs[run].items())],
        "switches": sorted(model.switches.items()),
    }
    for name, wanted in expected.items():
        assert [tuple(row) for row in replay.rows(name)] == wanted, name
    replay.close()


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_every_difference_between_tables_is_told_once(both: set[int], more: set[int], less: set[int]) -> None:
    wanted = {f"t{number:02d}": 1 for number in both | less}
    found = {f"t{number:02d}": 1 if number in both else 2 for number in (both | more) - (less - more)}
    findings = Findings()
    compare_table("switches", sorted(wanted.items()), sorted(found.items()), findings)
    different = {name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)}
    assert findings.count == len(different)
    assert all(any(repr(name) in finding.message for finding in findings.kept) for name in different)
