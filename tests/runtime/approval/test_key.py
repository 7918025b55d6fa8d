"""The approval key is made once, kept for its owner alone, and opens only what belongs together."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.errors import AccessError
from ferrule.runtime.approval.key import ApprovalKey


def test_a_key_is_made_on_first_use_and_found_again(tmp_path: Path) -> None:
    file = tmp_path / ".ferrule" / "keys" / "approval.key"
    first = ApprovalKey.load(file)
    again = ApprovalKey.load(file)
    assert first.secret == again.secret
    assert again.open("inv_1", first.seal("inv_1", b"secret")) == b"secret"
    assert file.stat().st_mode & 0o777 == 0o600
    assert (file.parent / ".gitignore").read_text() == "*\n"
    assert sorted(path.name for path in file.parent.iterdir()) == [".gitignore", "approval.key"]


def test_processes_that_start_together_agree_on_one_key(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "approval.key"
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: ApprovalKey.load(file).secret, range(16)))
    assert len(set(keys)) == 1


def test_a_key_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "approval.key"
    ApprovalKey.load(file)
    file.chmod(0o644)
    with pytest.raises(AccessError, match="chmod 600"):
        ApprovalKey.load(file)


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_damaged_key_is_not_replaced_by_a_new_one(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "approval.key"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(AccessError, match="32 bytes"):
        ApprovalKey.load(file)
    assert file.read_bytes() == content


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("a file where the folder should be")
    with pytest.raises(AccessError, match=r"approval\.key"):
        ApprovalKey.load(tmp_path / "keys" / "approval.key")


@given(st.binary(max_size=60), st.integers(0, 10**6), st.integers(1, 255))
def test_a_sealed_input_with_any_byte_changed_does_not_open(plain: bytes, place: int, flip: int) -> None:
    key = ApprovalKey(b"r" * 32)
    sealed = bytearray(key.seal("inv_1", plain))
    sealed[place % len(sealed)] ^= flip
    with pytest.raises(ValueError, match="inv_1"):
        key.open("inv_1", bytes(sealed))


def test_a_sealed_input_opens_for_its_own_invocation_and_key_alone() -> None:
    key = ApprovalKey(b"r" * 32)
    sealed = key.seal("inv_1", b"secret")
    assert b"secret" not in sealed
    assert key.seal("inv_1", b"secret") != sealed
    for opener, call in ((key, "inv_2"), (ApprovalKey.generate(), "inv_1")):
        with pytest.raises(ValueError, match="cannot be opened"):
            opener.open(call, sealed)
    for damaged in (b"", sealed[:5], os.urandom(12)):
        with pytest.raises(ValueError, match="cannot be opened"):
            key.open("inv_1", damaged)
