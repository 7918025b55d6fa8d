"""The tokens users gave: each its owner's alone, listed without their secrets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.infra.credentials.sealed import DamagedRecord, SealedFolder
from ferrule.infra.credentials.tokens import Grant, TokenOwner, TokenStore

ALICE, BOB = TokenOwner("default", "alice", "acme"), TokenOwner("default", "bob", "acme")
GRANT = Grant(access_token="canary-a", refresh_token="canary-r", scopes=("read",), connected_at=5.0, client="c")
KEY = os.urandom(32)


def store_in(folder: Path) -> TokenStore:
    return TokenStore(SealedFolder(folder, lambda: KEY))


def test_a_grant_is_kept_for_its_owner_until_it_is_forgotten(tmp_path: Path) -> None:
    store = store_in(tmp_path / "oauth")
    assert store.read(ALICE) is None
    store.write(ALICE, GRANT)
    assert store_in(tmp_path / "oauth").read(ALICE) == GRANT
    assert store.read(BOB) is None and store.read(ALICE._replace(tenant="other")) is None
    store.forget(ALICE)
    assert store.read(ALICE) is None


def test_owners_whose_words_run_together_are_two() -> None:
    assert TokenOwner("a", "b", "c").file_name != TokenOwner("ab", "", "c").file_name
    assert TokenOwner("a", "b", "c").file_name != TokenOwner("a", "bc", "").file_name


def test_a_file_under_another_owners_name_is_damaged_and_not_listed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = store_in(tmp_path)
    store.write(ALICE, GRANT)
    (tmp_path / BOB.file_name).write_bytes((tmp_path / ALICE.file_name).read_bytes())
    with pytest.raises(DamagedRecord):
        store.read(BOB)
    assert [one.principal for one in store.list_connections()] == ["alice"]
    assert BOB.file_name[:12] in caplog.text and "canary" not in caplog.text


def test_connections_are_listed_by_person_without_their_tokens(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    for owner in (BOB, ALICE, ALICE._replace(tenant="other")):
        store.write(owner, GRANT)
    assert [(one.tenant, one.principal) for one in store.list_connections()] == [
        ("default", "alice"), ("default", "bob"), ("other", "alice"),
    ]  # fmt: skip
    (found,) = store.list_connections("alice")
    assert found.is_renewable and found.scopes == ("read",) and "canary" not in str(found) + repr(GRANT)


def test_a_token_is_fresh_until_it_is_time_for_another() -> None:
    assert GRANT.is_fresh(1e12)
    ends = Grant(access_token="x", connected_at=0.0, refresh_at=100.0, client="c")
    assert ends.is_fresh(99.0) and not ends.is_fresh(100.0)
