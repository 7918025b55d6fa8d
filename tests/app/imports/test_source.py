"""The source of an import: what it is called, whether it was made before, and which files it may read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.app.imports.source import (
    PIPE,
    decode_source,
    encode_source,
    identify_import,
    list_repeatable,
    load_document,
    make_file_reader,
)
from ferrule.app.imports.store import ImportRecord, StoredImport, save_import
from ferrule.errors import WorkspaceError
from ferrule.workspace.workspace import Workspace


def store_import(root: Path, name: str, source: str, kind: str = "openapi") -> None:
    record = ImportRecord(name=name, kind=kind, source=source, out="tools", imported_at="2026-01-01T00:00:00Z")
    save_import(root, StoredImport(record=record))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("https://pets.example.com/v1/openapi.json", "pets"),
        ("https://api.example.com/pet%20shop/swagger.yaml", "pet-20shop"),
        ("https://www.example.com/2024/Orders.v2.json", "orders-v2"),
        ("https://api/v1/openapi.json", "tools"),
    ],
)
def test_an_import_is_called_after_what_says_most(source: str, name: str, tmp_path: Path) -> None:
    assert identify_import(tmp_path, "openapi", source, "") == (name, source, None)


def test_what_comes_through_a_pipe_needs_a_name_and_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="set one with --name"):
        identify_import(tmp_path, "openapi", PIPE, "")
    store_import(tmp_path, "piped", PIPE)
    store_import(tmp_path, "pets", "https://pets.example.com/x.json")
    assert [record.name for record in list_repeatable(tmp_path, "openapi")] == ["pets"]


def test_an_import_is_known_by_its_source_and_by_its_name(tmp_path: Path) -> None:
    address = "https://pets.example.com/x.json"
    store_import(tmp_path, "mine", address)
    for words in ((address, ""), ("mine", ""), (address, "mine")):
        found = identify_import(tmp_path, "openapi", *words)
        assert (found.name, found.source) == ("mine", address) and found.last is not None


def test_a_name_that_another_source_has_is_refused_with_what_helps(tmp_path: Path) -> None:
    store_import(tmp_path, "pets", "https://other.example.com/x.json")
    with pytest.raises(
        WorkspaceError, match=r"there is an import 'pets' already.*--name pets imports that one from here"
    ):
        identify_import(tmp_path, "openapi", "https://x.example.com/pets.json", "")


def test_a_file_is_written_down_as_seen_from_the_workspace(tmp_path: Path) -> None:
    file = tmp_path / "api" / "pets.json"
    assert encode_source(tmp_path, str(file)) == "api/pets.json"
    assert decode_source(tmp_path, "api/pets.json") == str(file)
    assert encode_source(tmp_path, "https://x.example.com/a.json#/paths") == "https://x.example.com/a.json"


def test_a_document_reads_files_of_its_folder_and_of_the_workspace_and_no_others(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "ferrule.toml").write_text("")
    (root / "part.json").write_bytes(b"1")
    (tmp_path / "secret.json").write_bytes(b"2")
    (root / "link.json").symlink_to(tmp_path / "secret.json")
    read = make_file_reader(Workspace.open(root), str(root / "pets.json"))
    assert read is not None and read("part.json") == b"1"
    assert read("../secret.json") is None and read("link.json") is None and read("none.json") is None
    assert make_file_reader(Workspace.open(root), "https://x.example.com/a.json") is None


@pytest.mark.parametrize(
    "source", ["ftp://x.example.com/a.json", "nowhere.json", "https://ann:pw@x.example.com/a.json"]
)
def test_what_cannot_be_read_is_told(source: str, tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    with pytest.raises(WorkspaceError):
        load_document(Workspace.open(tmp_path), source)
