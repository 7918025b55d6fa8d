"""The hash of a row covers every column and the row before; a commitment stands for a payload that may be destroyed."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.ledger.chain import NO_PAYLOAD, START, compute_commitment, compute_row_hash, format_head, to_kind_number
from ferrule.model.journal import KINDS

ROW: dict[str, Any] = {
    "before": START, "seq": 1, "kind": 2, "call": "inv_1", "at": 5, "tool": "demo.add", "outcome": "ok", "body": b"body",
    "payload_commitment": NO_PAYLOAD, "mark": b"mark",
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"before": b"\1" * 32}, {"seq": 2}, {"kind": 3}, {"call": "inv_2"}, {"at": 6}, {"tool": "demo.sub"}, {"outcome": "no"},
        {"body": b"bodies"}, {"payload_commitment": compute_commitment(b"x")}, {"mark": b""},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_any_other_value_is_another_hash(change: dict[str, Any]) -> None:
    assert compute_row_hash(**ROW) != compute_row_hash(**{**ROW, **change})


def test_letters_that_move_from_one_column_to_the_next_are_noticed() -> None:
    def moved(**columns: Any) -> bytes:
        return compute_row_hash(**{**ROW, **columns})

    assert moved(call="ab", tool="c") != moved(call="a", tool="bc")
    assert moved(outcome="ab", mark=b"c") != moved(outcome="a", mark=b"bc")
    assert moved(mark=b"ab", body=b"c") != moved(mark=b"a", body=b"bc")


def test_equal_payloads_with_other_salts_do_not_look_equal() -> None:
    first, second = (compute_commitment(bytes([salt]) * 16 + b"the payload") for salt in (1, 2))
    assert first != second and len(first) == len(NO_PAYLOAD)
    assert compute_row_hash(**{**ROW, "payload_commitment": first}) != compute_row_hash(
        **{**ROW, "payload_commitment": second}
    )


def test_a_head_names_its_ledger_its_last_row_and_when() -> None:
    texts = {
        format_head(*head)
        for head in (("l1", 1, START, 2), ("l2", 1, START, 2), ("l1", 2, START, 1), ("l1", 1, b"\1" * 32, 2))
    }
    assert len(texts) == 4


def test_kinds_keep_the_numbers_that_rows_on_disk_have() -> None:
    assert [to_kind_number(kind) for kind in KINDS] == list(range(len(KINDS)))
    assert (to_kind_number("call"), to_kind_number("news")) == (0, 13)
