"""A quick look for ids: the newest first, by how they begin and the state they are in, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

from ferrule.ledger.stores.sqlite.peek import NewestCall, find_newest_calls
from tests.ledger.stores.entries import make_ended, make_entry, make_parked, make_running
from tests.ledger.stores.sqlite.ledgers import open_store, run_bounded


def fill(path: Path) -> None:
    async def story() -> None:
        async with open_store(path) as store:
            for one in (
                make_entry("inv_1"),
                make_parked("inv_2"),
                make_running("inv_3", store.instance),
                make_ended("inv_3"),
                make_parked("job_4"),
            ):
                await store.commit(one)

    run_bounded(story)


def test_the_newest_calls_come_first_and_no_more_than_were_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    fill(path)
    before = sorted(tmp_path.iterdir())
    assert [seen.call for seen in find_newest_calls(path, "inv_", 9)] == ["inv_3", "inv_2", "inv_1"]
    assert [seen.call for seen in find_newest_calls(path, "", 2)] == ["job_4", "inv_3"]
    assert find_newest_calls(path, "inv_1", 9) == [NewestCall("inv_1", "demo.add")]
    assert find_newest_calls(path, "nothing", 9) == []
    assert sorted(tmp_path.iterdir()) == before


def test_only_calls_in_a_state_are_seen_where_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    fill(path)
    assert find_newest_calls(path, "", 9, ["awaiting_approval", "running"]) == [
        NewestCall("job_4", "demo.pay"),
        NewestCall("inv_2", "demo.pay"),
    ]
    assert find_newest_calls(path, "", 9, ["running"]) == []


def test_what_cannot_be_read_has_no_calls_and_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no ledger" * 100)
    for path in (tmp_path / "missing.db", tmp_path / "text.db", tmp_path):
        assert find_newest_calls(path, "inv_", 9) == []
    assert find_newest_calls(tmp_path / "text.db", "\ud800", 9) == []
    assert [path.name for path in tmp_path.iterdir()] == ["text.db"]
