"""Configurations of desktop clients that do harm when they are taken over: `ferrule serve --import-config`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ferrule.cli import import_config
from ferrule.errors import SettingsError
from ferrule.settings import load_settings


def taken_over(folder: Path, servers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Take servers over, without looking at what they offer."""
    monkeypatch.setattr(import_config, "_pin", lambda root: None)
    file = folder / "client.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    import_config.import_servers(str(folder), str(file))


def secrets(folder: Path) -> dict[str, str]:
    lines = (folder / ".env").read_text().splitlines()
    return {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}


def test_a_secret_goes_to_its_own_server_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers whose names differ in a sign do not share a variable, nor does one take another's that is there."""
    (tmp_path / "ferrule.toml").write_text('namespace = "x"\n')
    (tmp_path / ".env").write_text("MY_API_TOKEN=mine\n")
    monkeypatch.setenv("MY_API_TOKEN_2", "of the shell")
    servers = {
        name: {"url": f"https://{place}.example/mcp", "headers": {"Authorization": f"Bearer {place}"}}
        for name, place in (("my-api", "first"), ("my_api", "second"))
    }
    taken_over(tmp_path, servers, monkeypatch)
    found, kept = load_settings(tmp_path).mcp.servers, secrets(tmp_path)
    assert kept["MY_API_TOKEN"] == "mine"
    assert "MY_API_TOKEN_2" not in kept
    assert [kept[found[name].credentials["name"]] for name in servers] == ["first", "second"]


def test_files_without_an_end_of_line_keep_their_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a secret would be lost, and the file of secrets would not be ignored by git."""
    (tmp_path / "ferrule.toml").write_text('namespace = "x"')
    (tmp_path / ".env").write_text("OLD=value")
    (tmp_path / ".gitignore").write_text("node_modules")
    taken_over(tmp_path, {"a": {"command": "a", "env": {"KEY": "new"}}}, monkeypatch)
    assert secrets(tmp_path) == {"OLD": "value", "A_KEY": "new"}
    assert (tmp_path / ".gitignore").read_text().split() == ["node_modules", ".env", ".ferrule/keys/"]


def test_nothing_in_a_configuration_becomes_a_setting_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names and values stay what they are, whatever signs are in them."""
    (tmp_path / "ferrule.toml").write_text('namespace = "x"\n')
    evil = 'a"]\n[serve]\nauth = false\n#\x7f\x85\u2028'
    taken_over(tmp_path, {evil: {"command": evil, "args": [evil], "env": {evil: f"{evil}\nEVIL=1"}}}, monkeypatch)
    settings = load_settings(tmp_path)
    (server,) = settings.mcp.servers.values()
    assert server.command == (evil, evil)
    assert list(server.env) == [evil]
    assert settings.serve.auth
    assert "EVIL" not in secrets(tmp_path)


def test_what_no_file_can_hold_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ferrule.toml").write_text('namespace = "x"\n')
    with pytest.raises(SettingsError, match="cannot be imported"):
        taken_over(tmp_path, {"a": {"command": "a", "args": ["\ud800"]}}, monkeypatch)
    assert (tmp_path / "ferrule.toml").read_text() == 'namespace = "x"\n'


def test_a_header_of_several_variables_is_told_and_not_made_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ferrule.toml").write_text('namespace = "x"\n')
    server = {"url": "https://a.example/mcp", "headers": {"X-Key": "${USER_PART}-${OTHER}"}}
    taken_over(tmp_path, {"a": server}, monkeypatch)
    assert not load_settings(tmp_path).mcp.servers["a"].credentials
    assert "X-Key" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://user:pw@h/", "not a url", "ftp://x/y", "http://h:99999/x"])
def test_an_address_that_cannot_be_used_does_not_get_into_the_settings(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ferrule.toml").write_text('namespace = "x"\n')
    taken_over(tmp_path, {"good": {"command": "a"}, "odd": {"url": url}}, monkeypatch)
    assert list(load_settings(tmp_path).mcp.servers) == ["good"]
    told = capsys.readouterr().err
    assert "'odd'" in told
    assert "pw" not in told


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "Ctrl-C"])
def test_a_program_that_never_answers_ends_with_the_import(number: int, code: int, tmp_path: Path) -> None:
    """It does not care that nobody listens any more; it is ended all the same."""
    (tmp_path / "ferrule.toml").write_text('namespace = "x"\n')
    begun = tmp_path / "begun"
    script = f"echo $$ > {begun}.new; mv {begun}.new {begun}; exec sleep 1000"
    file = tmp_path / "client.json"
    file.write_text(json.dumps({"mcpServers": {"mute": {"command": "sh", "args": ["-c", script]}}}))
    words = ["serve", "--workspace", str(tmp_path), "--import-config", str(file)]
    running = subprocess.Popen(
        [sys.executable, "-c", "import sys; from ferrule.cli import main; sys.exit(main())", *words],
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 30
        while not begun.exists() and time.monotonic() < until:
            time.sleep(0.05)
        child = int(begun.read_text())
        running.send_signal(number)
        assert running.wait(20) == code
    finally:
        running.kill()
        running.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(child, signal.SIGKILL)


ODD = """
import json, sys
names = ["echo g", "na\\u00efve", "good"]
for line in sys.stdin:
    message = json.loads(line)
    answer = {"error": {"code": -32601, "message": "no"}}
    if message["method"] == "initialize":
        info = {"name": "odd", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


def test_tools_that_cannot_be_used_are_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ferrule.toml").write_text('namespace = "x"\n')
    file = tmp_path / "client.json"
    file.write_text(json.dumps({"mcpServers": {"odd": {"command": sys.executable, "args": ["-c", ODD]}}}))
    import_config.import_servers(str(tmp_path), str(file))
    told = capsys.readouterr().err
    assert "odd: 1 tool\n" in told
    for name in ("echo g", "na\u00efve"):
        assert f'  ! "{name}" cannot become a tool: its name has characters' in told
