"""Releases: numbered, signed, never rewritten."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.definitions.compiler.release import Release, hash_record, read_releases, record
from ferrule.definitions.compiler.seal import public_half
from ferrule.errors import CatalogError, SealError, WorkspaceError
from ferrule.workspace.releases import publish
from ferrule.workspace.workspace import Workspace
from tests.definitions.compiler.definitions import shop, tool, write

NOW = "2026-02-01"


AT = "2026-02-01T12:00:00Z"


def test_publishing_records_who_and_what_and_repeats_nothing(tmp_path: Path) -> None:
    workspace = Workspace.open(write(tmp_path, shop()))
    first = publish(workspace, by="ada", at=AT, message="begin", approved_by="grace", now=NOW)
    again = publish(workspace, by="ada", at=AT, now=NOW)
    write(tmp_path, {"tools/find-order.tool.md": tool(version="1.0.1", name="Find an order")})
    second = publish(workspace, by="bob", at=AT, now=NOW)
    assert (first.is_new, again.is_new, second.is_new) == (True, False, True)
    assert again.release == first.release and second.release.number == 2
    record = json.loads((tmp_path / ".ferrule/releases/0001.json").read_text())
    assert (record["released_by"], record["approved_by"], record["message"]) == ("ada", "grace", "begin")
    names = sorted(path.name for path in (tmp_path / ".ferrule/releases").iterdir())
    assert names == sorted(
        ["0001.json", "0002.json", f"{first.release.digest}.ferrule", f"{second.release.digest}.ferrule"]
    )


def test_an_edited_or_removed_release_record_is_noticed(tmp_path: Path) -> None:
    workspace = Workspace.open(write(tmp_path, shop()))
    publish(workspace, by="ada", at=AT, now=NOW)
    write(tmp_path, {"tools/find-order.tool.md": tool(version="1.0.1", name="Find an order")})
    publish(workspace, by="ada", at=AT, now=NOW)
    record = tmp_path / ".ferrule/releases/0001.json"
    text = record.read_text()
    record.write_text(text.replace('"ada"', '"eve"'))
    with pytest.raises(SealError, match="changed after"):
        publish(workspace, by="ada", at=AT, now=NOW)
    record.unlink()
    with pytest.raises(SealError, match="does not follow"):
        publish(workspace, by="ada", at=AT, now=NOW)


KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def test_a_release_is_read_as_it_was_recorded(tmp_path: Path) -> None:
    given = Release(number=1, digest="ab", released_at=AT, released_by="ada", tools={"a": "1.0.0"})
    sealed = record(tmp_path, given, b"catalog", KEY)
    following = record(
        tmp_path, msgspec.structs.replace(given, number=2, previous=hash_record(tmp_path, sealed)), b"catalog", KEY
    )
    assert read_releases(tmp_path, [public_half(KEY)]) == [sealed, following]
    assert (tmp_path / "ab.ferrule").read_bytes() == b"catalog"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0001.json", "0002.json", "ab.ferrule"]


def test_of_two_who_release_at_once_the_second_has_to_try_again(tmp_path: Path) -> None:
    given = Release(number=1, digest="ab", released_at=AT, released_by="ada")
    record(tmp_path, given, b"", KEY)
    with pytest.raises(WorkspaceError, match="publish again"):
        record(tmp_path, msgspec.structs.replace(given, released_by="eve"), b"", KEY)
    assert [each.released_by for each in read_releases(tmp_path, [public_half(KEY)])] == ["ada"]


def test_a_record_of_a_stranger_and_a_damaged_one_are_refused(tmp_path: Path) -> None:
    record(tmp_path, Release(number=1, digest="ab", released_at=AT, released_by="eve"), b"", KEY)
    with pytest.raises(SealError, match="does not trust"):
        read_releases(tmp_path, [bytes(32)])
    (tmp_path / "0001.json").write_text("{")
    with pytest.raises(CatalogError, match="is no release record"):
        read_releases(tmp_path, [public_half(KEY)])
