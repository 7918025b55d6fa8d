"""Keys: made private, never overwritten, and trusted only when a workspace lists them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from ferrule.definitions.compiler.seal import load_key, make_key, public_half, read_trusted_keys, trust
from ferrule.errors import SealError, WorkspaceError

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
TRUSTED = (public_half(KEY),)


def test_a_new_key_is_private_ignored_by_git_and_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / ".ferrule" / "keys" / "workspace.key"
    public = make_key(file)
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert (file.parent / ".gitignore").read_text() == "*\n"
    assert public_half(load_key(file)) == public
    with pytest.raises(SealError, match="never overwritten"):
        make_key(file)


def test_several_keys_may_be_trusted_and_a_broken_line_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "ferrule.pub"
    assert read_trusted_keys(file) == ()
    first, second = bytes(32), bytes([1] * 32)
    assert trust(file, first) and trust(file, second) and not trust(file, first)
    assert read_trusted_keys(file) == (first, second)
    file.write_text(file.read_text() + "ed25519 short\n")
    with pytest.raises(SealError, match="line 4"):
        read_trusted_keys(file)


def test_a_file_that_is_no_key_is_named_but_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "workspace.key"
    file.write_text("hunter2")
    with pytest.raises(SealError) as caught:
        load_key(file)
    assert "workspace.key" in str(caught.value) and "hunter2" not in str(caught.value)


def test_a_full_disk_leaves_the_trusted_keys_and_no_half_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tmp_path / "ferrule.pub"
    trust(listed, TRUSTED[0])

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkspaceError, match="No space left"):
        trust(listed, bytes(32))
    assert read_trusted_keys(listed) == TRUSTED
    with pytest.raises(OSError, match="No space left"):
        make_key(tmp_path / "workspace.key")
    assert [path.name for path in tmp_path.iterdir()] == ["ferrule.pub"]


def test_a_list_of_keys_that_is_no_text_is_refused(tmp_path: Path) -> None:
    listed = tmp_path / "ferrule.pub"
    listed.write_bytes(b"\xff\xfe")
    with pytest.raises(SealError, match="not UTF-8"):
        read_trusted_keys(listed)


def test_a_key_is_written_as_the_library_would_and_read_in_any_form(tmp_path: Path) -> None:
    make_key(tmp_path / "own.key")
    key = load_key(tmp_path / "own.key")
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    assert (tmp_path / "own.key").read_bytes() == pem
    (tmp_path / "other.key").write_bytes(b"a note before it\r\n" + pem.replace(b"\n", b"\r\n"))
    assert load_key(tmp_path / "other.key").private_bytes_raw() == key.private_bytes_raw()
