"""Where a ledger and what belongs to it are kept, and which keys may have signed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.app.custody.paths import LedgerPaths, ledger_paths, load_public_keys, translate_damage, update_witness
from ferrule.contracts.ledger import SourceDamaged
from ferrule.definitions.compiler.seal import load_key, public_half
from ferrule.errors import LedgerError
from ferrule.workspace.workspace import Workspace


def workspace(folder: Path, settings: str = "") -> Workspace:
    (folder / "ferrule.toml").write_text(settings)
    return Workspace.open(folder)


def test_a_workspace_says_where_its_ledger_and_its_witness_are(tmp_path: Path) -> None:
    found = ledger_paths(workspace(tmp_path, '[ledger]\npath = "here.db"\nwitness = "seen.log"\n'))
    assert (found.ledger, found.witness) == (tmp_path / "here.db", tmp_path / "seen.log")
    assert found.key.parent == found.public.parent == tmp_path / ".ferrule/keys"


def test_a_witness_at_an_address_is_no_file(tmp_path: Path) -> None:
    assert ledger_paths(workspace(tmp_path, '[ledger]\nwitness = "https://witness.example"\n')).witness is None


def test_another_ledger_has_the_keys_beside_it_and_no_witness(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (copy / "keys").mkdir(parents=True)
    here = workspace(tmp_path, '[ledger]\nwitness = "seen.log"\n')
    assert ledger_paths(here, str(copy / "ledger.db")).public == tmp_path / ".ferrule/keys/ledger.pub"
    (copy / "keys/ledger.pub").write_text("")
    found = ledger_paths(here, str(copy / "ledger.db"))
    assert (found.public, found.witness) == (copy / "keys/ledger.pub", None)


def test_the_private_key_stands_in_for_a_public_half_that_is_gone(paths: LedgerPaths) -> None:
    paths.public.unlink()
    assert load_public_keys(paths) == (public_half(load_key(paths.key)),)
    paths.key.unlink()
    with pytest.raises(LedgerError, match="there is no key to check with"):
        load_public_keys(paths)


def test_a_key_file_that_somebody_names_is_there_and_holds_a_key(paths: LedgerPaths, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no key file"):
        load_public_keys(paths, str(tmp_path / "none.pub"))
    (tmp_path / "empty.pub").write_text("# nothing\n")
    with pytest.raises(LedgerError, match="holds no public key"):
        load_public_keys(paths, str(tmp_path / "empty.pub"))
    assert load_public_keys(paths, str(paths.public)) == load_public_keys(paths)


def test_the_witness_is_told_the_last_row_and_a_witness_that_cannot_be_written_is_told_of(
    paths: LedgerPaths, tmp_path: Path
) -> None:
    told = paths._replace(witness=tmp_path / "seen.log")
    update_witness(told)
    assert (tmp_path / "seen.log").read_text().strip()
    with pytest.raises(LedgerError, match="it is done, but the witness"):
        update_witness(paths._replace(witness=tmp_path))


def test_damage_is_told_with_the_file_and_what_tells_more(paths: LedgerPaths) -> None:
    with (
        pytest.raises(LedgerError, match=r"is damaged \(it breaks off\); 'ferrule audit verify'"),
        translate_damage(paths.ledger),
    ):
        raise SourceDamaged("it breaks off")
