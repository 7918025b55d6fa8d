"""The connection that writes, when somebody cuts rows off or takes the file away."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.errors import LedgerError, LedgerUnavailable
from ferrule.ledger.stores.sqlite import connection as connection_module
from ferrule.ledger.stores.sqlite.transaction import Transactions
from tests.ledger.stores.entries import check_file, make_entry
from tests.ledger.stores.sqlite.ledgers import KEY, change_file, open_store, retry_until_written, run_bounded


def test_rows_cut_off_while_it_is_open_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with open_store(path) as store:
            await store.commit(make_entry("a"))
            change_file(path, "DELETE FROM journal WHERE seq = 2")
            with pytest.raises(LedgerUnavailable, match="audit verify"):
                await store.commit(make_entry("b"))

    run_bounded(story)
    transactions = Transactions(path, connection_module.connect(path), connection_module.LedgerKeys(KEY))
    with pytest.raises(LedgerError, match="audit verify"):
        transactions.probe()
    transactions.disconnect()


def test_a_ledger_deleted_while_it_is_open_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with open_store(path) as store:
            await store.commit(make_entry("a"))
            path.rename(tmp_path / "away")
            with pytest.raises(LedgerUnavailable):
                await store.commit(make_entry("b"))
            (tmp_path / "away").rename(path)
            await retry_until_written(store, "c")

    run_bounded(story)
    assert check_file(path) == ["", "a", "c"]
