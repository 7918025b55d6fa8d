"""Sealed records: a file that was changed, swapped or taken elsewhere opens nothing."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from ferrule.errors import AccessError
from ferrule.infra.credentials.oauth import FOLDER
from ferrule.infra.credentials.oauth_tokens import AuthorizationRequired
from ferrule.infra.credentials.sealed import (
    KEY_FILE,
    DamagedRecord,
    RecordBusy,
    SealedFolder,
    hash_words,
    make_key_loader,
)
from ferrule.infra.credentials.tokens import TokenOwner
from tests.infra.credentials.oauth_setup import make_public_provider, oauth_setup
from tests.infra.credentials.provider import Provider
from tests.infra.credentials.redirects import BACK


def test_a_swapped_or_changed_file_is_no_token(
    tmp_path: Path, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            await here.connect(principal="alice")
            folder = tmp_path / FOLDER
            file = folder / TokenOwner("default", "alice", "acme").file_name
            whole = file.read_bytes()
            token = await here.tokens.token("acme", "alice", ["read"])
            assert token.encode() not in whole and file.stat().st_mode & 0o077 == 0
            assert (tmp_path / KEY_FILE).stat().st_mode & 0o077 == 0

            shutil.copy(file, folder / TokenOwner("default", "bob", "acme").file_name)
            with pytest.raises(AuthorizationRequired, match="cannot be used"):
                await here.tokens.token("acme", "bob", ["read"])
            assert [one.principal for one in here.authorizations.list_connections(None)] == ["alice"]

            for place in range(0, len(whole), 7):
                changed = bytearray(whole)
                changed[place] ^= 1
                file.write_bytes(changed)
                with pytest.raises(AuthorizationRequired, match="cannot be used"):
                    await here.tokens.token("acme", "alice", ["read"])
            for data in (b"", whole[:20], whole[:-1], b"{}"):
                file.write_bytes(data)
                with pytest.raises(AuthorizationRequired, match="cannot be used"):
                    await here.tokens.token("acme", "alice", ["read"])
            assert "cannot be used" in caplog.text and token not in caplog.text
            file.write_bytes(whole)
            assert await here.tokens.token("acme", "alice", ["read"]) == token

    asyncio.run(story())


def test_the_folder_alone_tells_nothing(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            challenge = await here.authorizations.begin("acme", "alice", ["read"], redirect_uri=BACK)
            await here.connect()
        kept = b"".join(file.read_bytes() for file in (tmp_path / FOLDER).rglob("*") if file.is_file())
        assert b"alice" not in kept and challenge.state.encode() not in kept
        shutil.copytree(tmp_path / FOLDER, tmp_path / "elsewhere" / FOLDER)
        async with oauth_setup(tmp_path / "elsewhere", {"acme": make_public_provider(provider.issuer)}) as there:
            assert there.authorizations.list_connections(None) == []
            with pytest.raises(AuthorizationRequired, match="another key"):
                await there.tokens.token("acme", "alice", ["read"])

    asyncio.run(story())


def test_a_record_opens_under_its_own_name_in_its_own_folder_alone(tmp_path: Path) -> None:
    key = make_key_loader(tmp_path / "keys" / "x.key")
    first, second = hash_words("a", "b"), hash_words("ab")
    folder = SealedFolder(tmp_path / "records", key)
    assert folder.read(first) is None and folder.names() == []
    folder.write(first, b"canary")
    assert SealedFolder(tmp_path / "records", key).read(first) == b"canary"
    whole = (tmp_path / "records" / first).read_bytes()
    assert b"canary" not in whole
    (tmp_path / "records" / second).write_bytes(whole)
    (tmp_path / "records" / "note.txt").write_bytes(b"")
    assert folder.names() == sorted([first, second])
    with pytest.raises(DamagedRecord, match="belongs to something else"):
        folder.read(second)
    shutil.copytree(tmp_path / "records", tmp_path / "elsewhere")
    with pytest.raises(DamagedRecord):
        SealedFolder(tmp_path / "elsewhere", key).read(first)
    with pytest.raises(DamagedRecord):
        SealedFolder(tmp_path / "records", make_key_loader(tmp_path / "other.key")).read(first)
    folder.remove(first)
    assert folder.read(first) is None


def test_a_record_that_is_cut_or_is_none_of_ours_is_damaged(tmp_path: Path) -> None:
    folder, name = SealedFolder(tmp_path, lambda: bytes(32)), hash_words("a")
    folder.write(name, b"x")
    whole = (tmp_path / name).read_bytes()
    for data in (b"", b"{}", whole[:-1], whole[:20], whole[:-1] + bytes([whole[-1] ^ 1])):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DamagedRecord):
            folder.read(name)


def test_a_file_that_holds_no_key_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "x.key"
    made = make_key_loader(file)()
    assert make_key_loader(file)() == made and len(made) == 32
    file.write_bytes(b"short")
    with pytest.raises(AccessError, match="holds no key"):
        make_key_loader(file)()
    assert file.read_bytes() == b"short"


def test_only_one_is_alone_with_a_record_at_a_time(tmp_path: Path) -> None:
    async def story() -> None:
        folder, name = SealedFolder(tmp_path, lambda: bytes(32)), hash_words("a")
        async with folder.lock(name, 1):
            with pytest.raises(RecordBusy):
                async with folder.lock(name, 0.001):
                    pass
            async with folder.lock(hash_words("b"), 0.001):
                pass
        async with folder.lock(name, 0.001):
            pass
        assert folder.names() == []

    asyncio.run(story())
