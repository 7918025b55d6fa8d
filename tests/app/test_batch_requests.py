"""What is no batch is refused before anything is called."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.app.batch_requests import read_requests
from ferrule.app.batches import BatchRun
from ferrule.errors import BatchError


@pytest.mark.parametrize("calls", ["look", b"look", {"name": "look"}, {}])
def test_a_single_call_is_not_taken_for_a_list_of_calls(calls: Any) -> None:
    with pytest.raises(BatchError, match="put a single call into a list"):
        read_requests(calls)


def test_any_iterable_of_calls_is_a_batch() -> None:
    made = read_requests(given for given in ("look", ("look", {"a": 1}), {"name": "look"}))
    assert [each.name for each in made] == ["look"] * 3
    assert read_requests(()) == []


def test_the_earlier_name_of_waiting_for_a_batch_still_works() -> None:
    assert BatchRun.ended is BatchRun.wait
