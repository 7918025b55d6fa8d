"""The steps from an older ledger to the newest, and the indexes they bring."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.ledger.stores.sqlite import connection as connection_module
from ferrule.ledger.stores.sqlite import schema
from tests.ledger.stores.entries import check_file, make_news
from tests.ledger.stores.sqlite.ledgers import make_ledger, open_store, run_bounded


def test_a_ledger_of_the_first_version_learns_to_find_requests_to_cancel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    with monkeypatch.context() as old:
        old.setattr(connection_module, "MIGRATIONS", schema.MIGRATIONS[:1])
        make_ledger(path, "a")

    async def story() -> None:
        async with open_store(path) as store:
            assert [row.outcome for row in await store.rows_before(None, kinds=("opened",))] == ["migrated", "created"]
            await store.commit(make_news("a", "cancel_requested"))
            assert [row.call for row in await store.cancel_requests(0)] == ["a"]

    run_bounded(story)
    assert check_file(path) == ["", "a", "", "a"]
