"""`ferrule import mcp`: real servers over both transports, their tools in settings and lock, and nothing secret in either."""

from __future__ import annotations

import asyncio
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ferrule.app.imports.mcp import parse_server
from ferrule.app.opening import open_app
from ferrule.cli import main
from ferrule.errors import SettingsError
from ferrule.infra.lockfile.file import LOCK_FILE, read_lock
from ferrule.model.result import Result
from tests.runtime.executors.mcp.servers import command, http_server

SETTINGS = '# ours\nnamespace = "shop"\n\n[policy]  # for tests\nmode = "trusted"\n'


class ImportFolder:
    """A workspace into which servers are imported."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys
        self.settings.write_text(SETTINGS)

    @property
    def settings(self) -> Path:
        return self.root / "ferrule.toml"

    def run(self, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        code = main(["import", "mcp", "--workspace", str(self.root), *words])
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def call(self, name: str, arguments: dict[str, Any]) -> Result:
        async def whole() -> Result:
            async with asyncio.timeout(60), open_app(self.root, tends=False) as app:
                found = await app.surface().call(name, arguments)
                assert isinstance(found, Result), found
                return found

        return asyncio.run(whole())


@pytest.fixture
def import_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ImportFolder:
    return ImportFolder(tmp_path, capsys)


def test_a_program_is_asked_shown_written_and_pinned(import_folder: ImportFolder) -> None:
    words = command("fast", "stdio")
    code, out, _ = import_folder.run("--name", "fast", "--dry-run", *words)
    assert code == 0
    assert "Adds two numbers." in out
    assert import_folder.settings.read_text() == SETTINGS
    code, out, err = import_folder.run("--name", "fast", "--yes", *words)
    assert code == 0, err
    text = import_folder.settings.read_text()
    assert text.startswith(SETTINGS)
    assert tomllib.loads(text)["mcp"]["servers"]["fast"] == {"command": words}
    assert set(read_lock(import_folder.root).servers["fast"].tools) == {"add", "steps"}
    assert import_folder.call("fast.add", {"one": 1, "other": 2}).status == "succeeded"
    code, out, _ = import_folder.run("fast")
    assert code == 0
    assert "as accepted" in out


def test_only_tools_that_fit_a_pattern_are_taken_and_the_pattern_can_change(import_folder: ImportFolder) -> None:
    import_folder.run("--name", "fast", "--yes", "--tool", "a*", *command("fast", "stdio"))
    assert set(read_lock(import_folder.root).servers["fast"].tools) == {"add"}
    import_folder.run("--yes", "--tool", "st*", "--tool", "add", "fast")
    assert set(read_lock(import_folder.root).servers["fast"].tools) == {"add", "steps"}
    assert tomllib.loads(import_folder.settings.read_text())["mcp"]["servers"]["fast"]["tools"] == ["st*", "add"]


def test_a_server_over_http_with_a_token_of_the_environment(
    import_folder: ImportFolder, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with http_server("official", tmp_path_factory.mktemp("notes")) as server:
        import_folder.settings.write_text(f'{SETTINGS}[network]\nallow = ["127.0.0.1:{server.port}"]\n')
        url = server.url("/private/mcp")
        code, out, _ = import_folder.run("--name", "far", "--yes", url)
        assert code == 2, out
        assert "mcp" not in tomllib.loads(import_folder.settings.read_text())
        assert not (import_folder.root / LOCK_FILE).exists()
        monkeypatch.setenv("FAR_TOKEN", "let-me-in")
        code, out, err = import_folder.run("--name", "far", "--yes", "--bearer", "FAR_TOKEN", "--tool", "echo", url)
        assert code == 0, out + err
        assert import_folder.call("far.echo", {"text": "x"}).status == "succeeded"
    written = tomllib.loads(import_folder.settings.read_text())["mcp"]["servers"]["far"]
    assert written["credentials"] == {"scheme": "bearer-token", "source": "env", "name": "FAR_TOKEN"}
    for file in import_folder.root.rglob("*"):
        assert not file.is_file() or b"let-me-in" not in file.read_bytes() or ".ferrule" in file.parts


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_lists_in_pages_of_every_revision_with_sessions(
    import_folder: ImportFolder, revision: str, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    words = ["--env", f"NOTES={tmp_path / 'notes'}", *command("odd", revision, "paged")]
    code, _, err = import_folder.run("--name", "odd", "--yes", *words)
    assert code == 0, err
    lock = read_lock(import_folder.root).servers["odd"]
    assert set(lock.tools) == {"t0", "t1", "t2", "t3", "t4"}
    assert lock.protocol_version == revision


def test_values_of_variables_go_into_the_file_of_secrets_alone(
    import_folder: ImportFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIN", "not-a-secret")
    words = command("fast", "stdio")
    code, out, err = import_folder.run(
        "--name", "fast", "--yes", "--env", "TOKEN=s3cret-value", "--env", "PLAIN", *words
    )
    assert code == 0
    assert (
        "s3cret-value"
        not in import_folder.settings.read_text() + out + err + (import_folder.root / LOCK_FILE).read_text()
    )
    assert tomllib.loads(import_folder.settings.read_text())["mcp"]["servers"]["fast"]["env"] == {
        "TOKEN": "${FAST_TOKEN}",
        "PLAIN": "${PLAIN}",
    }
    assert (import_folder.root / ".env").read_text() == 'FAST_TOKEN="s3cret-value"\n'
    assert (import_folder.root / ".env").stat().st_mode & 0o777 == 0o600
    assert ".env" in (import_folder.root / ".gitignore").read_text()


def test_what_a_server_changed_is_shown_and_accepted_only_when_somebody_agrees(import_folder: ImportFolder) -> None:
    import_folder.run("--name", "far", "--yes", *command("changing", "first"))
    text = import_folder.settings.read_text().replace('"first"', '"edited"')
    import_folder.settings.write_text(text)
    before = (import_folder.root / LOCK_FILE).read_bytes()
    code, out, err = import_folder.run("far")
    assert code == 2
    assert "its definition changed (description)" in out
    assert "add --yes" in err
    assert (import_folder.root / LOCK_FILE).read_bytes() == before
    code, out, _ = import_folder.run("--json", "--dry-run", "far")
    assert [each["tool"] for each in json.loads(out)["differences"]] == ["send"]
    assert import_folder.run("--yes", "far")[0] == 0
    assert "password" in read_lock(import_folder.root).servers["far"].tools["send"].definition["description"]


def test_a_server_that_cannot_be_started_leaves_nothing_behind(import_folder: ImportFolder) -> None:
    for words in (command("changing", "dead"), ["/nowhere/at-all"]):
        code, out, _ = import_folder.run("--name", "dead", "--yes", "--env", "KEY=hidden-value", *words)
        assert code == 2
        assert "cannot be looked at" in out
    assert import_folder.settings.read_text() == SETTINGS
    assert not (import_folder.root / ".env").exists()
    assert not (import_folder.root / LOCK_FILE).exists()


def test_another_server_of_the_same_name_is_refused(import_folder: ImportFolder) -> None:
    import_folder.run("--name", "far", "--yes", *command("changing", "first"))
    code, _, err = import_folder.run("--name", "far", "--yes", *command("fast", "stdio"))
    assert code == 2
    assert "--name" in err


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["https://mcp.crm.example.com/mcp"], "crm"),
        (["npx", "-y", "@modelcontextprotocol/server-github@1.2"], "github"),
        (["uvx", "mcp-server-time"], "time"),
        (["python", "servers/weather.py", "--fast"], "weather"),
    ],
)
def test_a_server_is_called_after_what_says_most(words: list[str], name: str) -> None:
    assert parse_server(words).name == name


def test_nothing_secret_is_taken_on_the_command_line_of_an_address() -> None:
    with pytest.raises(SettingsError, match="password"):
        parse_server(["https://me:secret@crm.example.com/mcp"])
    with pytest.raises(SettingsError, match="--env is for programs"):
        parse_server(["https://crm.example.com/mcp"], env=["A=b"])
    with pytest.raises(SettingsError, match="for addresses"):
        parse_server(["crm-server"], credentials={"scheme": "none"})
    with pytest.raises(SettingsError, match="cannot be used"):
        parse_server(["https://crm.example.com/mcp"], credentials={"scheme": "nonsense"})
