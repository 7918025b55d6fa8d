"""The file of secrets: private from the first byte on, read back as it was written, and out of version control."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.app.imports.secret_file import append_text, keep_secrets, list_variables
from ferrule.errors import SettingsError
from ferrule.infra.secrets.env import parse_env_file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ferrule.toml").write_text('[secrets]\nenv_file = ".env"\n')
    return tmp_path


def test_nobody_else_may_read_it_and_version_control_leaves_it_out(root: Path) -> None:
    keep_secrets(root, {"CRM_TOKEN": "x"})
    keep_secrets(root, {"ERP_TOKEN": "y"})
    assert (root / ".env").stat().st_mode & 0o777 == 0o600
    assert (root / ".gitignore").read_text().split() == [".env", ".ferrule/keys/"]


def test_a_file_that_others_could_read_is_closed_to_them(root: Path) -> None:
    (root / ".env").write_text("OLD=1")
    (root / ".env").chmod(0o644)
    keep_secrets(root, {"NEW": "2"})
    assert (root / ".env").stat().st_mode & 0o777 == 0o600
    assert (root / ".env").read_text() == 'OLD=1\nNEW="2"\n', "the last line of somebody else stays whole"


def test_without_a_place_for_them_secrets_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text('[secrets]\nenv_file = ""\n')
    with pytest.raises(SettingsError, match="set a file"):
        keep_secrets(tmp_path, {"A": "b"})
    keep_secrets(tmp_path, {})
    assert [file.name for file in tmp_path.iterdir()] == ["ferrule.toml"]


def test_variables_are_those_of_the_environment_and_of_the_file(root: Path) -> None:
    (root / ".env").write_text("# no=comment\nexport ONE=1\n TWO = 2\n")
    assert list_variables(root, {"HOME": "/"}) == {"HOME", "ONE", "TWO"}


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot write"):
        append_text(tmp_path / "nowhere" / "file", "x\n")


@pytest.mark.parametrize("value", ["plain", 'a "quoted" one', "back\\slash", "two\nlines", "$HOME ${X}", "# none", ""])
def test_a_value_is_read_back_as_it_was(root: Path, value: str) -> None:
    keep_secrets(root, {"ONE": value})
    assert parse_env_file((root / ".env").read_text())[0] == {"ONE": value}
