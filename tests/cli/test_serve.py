"""`ferrule serve` as a person starts and stops it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests import ROOT
from tests.contracts.transports.fake_upstream import aml
from tests.runtime.executors.mcp.servers import command as upstream
from tests.servers.local_server import WAIT_SECONDS, ServerProcess, running_process

FUNCTIONS = '''
import time
from pathlib import Path

import ferrule


@ferrule.tool(read_only=True)
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello, {name}!"


@ferrule.tool(read_only=True)
def nap(seconds: float) -> str:
    """Takes a while."""
    Path(__file__).with_name("begun").touch()
    time.sleep(seconds)
    return "rested"
'''
TRANSPORT = "  type: rest-api\n  base_url: https://api.example.com\n  endpoint: GET /x\n  credentials: {scheme: none}\n"
TASKS = "io.modelcontextprotocol/tasks"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def workspace(folder: Path, toml: str = "") -> Path:
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "ferrule.toml").write_text(f'namespace = "place"\n[functions]\nmodules = ["functions.py"]\n{toml}')
    return folder


def ask(url: str, method: str, params: dict[str, Any], token: str) -> Any:
    """One request of the modern revision; gives its result."""
    name = {"Mcp-Name": params.get("name") or params.get("taskId")}
    request = Request(
        f"{url}/mcp",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META, **params}}).encode(),
        {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            **{key: value for key, value in name.items() if value},
        },
    )
    with urlopen(request, timeout=WAIT_SECONDS) as answer:
        return json.loads(answer.read())["result"]


def until(check: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not check():
        assert time.monotonic() < end
        time.sleep(0.05)


def run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ferrule", "serve", *words],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        env={**os.environ, **(env or {})},
    )


def test_the_first_start_makes_tokens_and_an_agent_can_call(tmp_path: Path) -> None:
    with running_process(workspace(tmp_path)) as server:
        with pytest.raises(HTTPError, match="401"):
            ask(server.url, "tools/list", {}, "frl_none")
        token = server.token(tmp_path)
        result = ask(server.url, "tools/call", {"name": "greet", "arguments": {"name": "Ada"}}, token)
        assert result["content"] == [{"type": "text", "text": "Hello, Ada!"}]
        for path in ("health", "ready"):
            with urlopen(f"{server.url}/{path}", timeout=WAIT_SECONDS) as answer:
                assert answer.status == 200
        (tmp_path / "policy.toml").write_text("[[rules]]\nnonsense = 1\n")

        def is_unready() -> bool:
            try:
                with urlopen(f"{server.url}/ready", timeout=WAIT_SECONDS):
                    return False
            except HTTPError as error:
                with error:
                    return error.code == 503 and "policy" in json.loads(error.read())["reason"]

        until(is_unready)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_roles_that_nothing_defines_are_told_once_at_the_start(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], processes: str
) -> None:
    grants = "".join(f'[[serve.grants]]\ngroup = "{group}"\nrole = "clerk"\n' for group in ("a", "b"))
    with running_process(workspace(tmp_path, grants), "--processes", processes):
        pass
    assert (
        capfd.readouterr().err.count("warning: there is no role 'clerk' in the catalog, and [[serve.grants]] names")
        == 1
    )


def test_a_polite_stop_lets_a_call_end_and_takes_no_more(tmp_path: Path) -> None:
    with running_process(workspace(tmp_path)) as server:
        token = server.token(tmp_path)
        script = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + (
            "from tests.cli.test_serve import ask\n"
            f"print(ask({server.url!r}, 'tools/call', dict(name='nap', arguments=dict(seconds=2)), {token!r}))"
        )
        calling = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        until((tmp_path / "begun").exists)
        server.process.send_signal(signal.SIGTERM)
        said, _ = calling.communicate(timeout=WAIT_SECONDS)
        assert "rested" in said
        assert server.process.wait(WAIT_SECONDS) == 0
        with pytest.raises(OSError, match="refused"):
            urlopen(f"{server.url}/health", timeout=WAIT_SECONDS)


def test_changed_definitions_are_taken_and_broken_ones_are_not(tmp_path: Path) -> None:
    with running_process(workspace(tmp_path)) as server:
        token = server.token(tmp_path)

        def names() -> set[str]:
            return {tool["name"] for tool in ask(server.url, "tools/list", {}, token)["tools"]}

        assert "look-up" not in names()
        file = tmp_path / "look-up.tool.md"
        file.write_text(aml("look-up", TRANSPORT))
        until(lambda: "look-up" in names())
        file.write_text("---\ntool_id: [\n---\n")
        other = tmp_path / "find-it.tool.md"
        other.write_text(aml("find-it", TRANSPORT))
        time.sleep(1)
        assert names() >= {"look-up", "greet"}
        file.unlink()
        until(lambda: "find-it" in names() and "look-up" not in names())


def test_a_task_has_time_to_end_when_the_server_stops(tmp_path: Path) -> None:
    """MCP-85: it has no connection that could be waited for."""
    knows_tasks = {**META, "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}}}
    toml = "[serve.mcp]\ntask_after_seconds = 0.1\n"
    with running_process(workspace(tmp_path, toml)) as server:
        token = server.token(tmp_path)
        asked = {"name": "nap", "arguments": {"seconds": 1.5}, "_meta": knows_tasks}
        task = ask(server.url, "tools/call", asked, token)
        assert task["resultType"] == "task"
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(WAIT_SECONDS) == 0
    with running_process(tmp_path) as server:
        ended = ask(server.url, "tasks/get", {"taskId": task["taskId"], "_meta": knows_tasks}, token)
        assert (ended["status"], ended["result"]["content"][0]["text"]) == ("completed", "rested")


def test_a_stream_that_ended_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """MCP-236: a client that keeps its connection is not waited for once its stream is over."""
    with running_process(workspace(tmp_path)) as server:
        token = server.token(tmp_path)
        host, _, port = server.url.removeprefix("http://").partition(":")
        head = (
            f"Host: {host}:{port}\r\nAuthorization: Bearer {token}\r\nAccept: application/json, text/event-stream\r\n"
        )
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        with socket.create_connection((host, int(port)), timeout=WAIT_SECONDS) as client:
            post = f"POST /mcp HTTP/1.1\r\n{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall((post + body).encode())
            session = client.recv(65536).decode().partition("mcp-session-id: ")[2].partition("\r\n")[0]
            client.sendall(f"GET /mcp HTTP/1.1\r\n{head}Mcp-Session-Id: {session}\r\n\r\n".encode())
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(WAIT_SECONDS) == 0
            assert time.monotonic() - began < 5  # of the ten that calls in flight get


@pytest.mark.parametrize("options", [(), ("--no-reload",)], ids=["reload", "no-reload"])
def test_what_changed_while_nobody_served_is_taken_at_the_next_start(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = workspace(tmp_path) / "look-up.tool.md"
    file.write_text(aml("look-up", TRANSPORT))
    with running_process(tmp_path, *options) as server:
        assert "look-up" in _names(server, tmp_path)
    (tmp_path / "find-it.tool.md").write_text(aml("find-it", TRANSPORT))
    file.unlink()
    with running_process(tmp_path, *options) as server:
        assert _names(server, tmp_path) >= {"find-it", "greet"}
        assert "look-up" not in _names(server, tmp_path)


def _names(server: ServerProcess, folder: Path) -> set[str]:
    return {tool["name"] for tool in ask(server.url, "tools/list", {}, server.token(folder))["tools"]}


def test_several_processes_serve_one_port_and_end_together(tmp_path: Path) -> None:
    with running_process(workspace(tmp_path), "--processes", "2") as server:
        token = server.token(tmp_path)  # there as soon as somebody is told where to connect

        def is_there() -> bool:
            try:
                return bool(ask(server.url, "tools/call", {"name": "greet", "arguments": {"name": "x"}}, token))
            except OSError:
                return False

        until(is_there)
        children = subprocess.run(
            ["ps", "--ppid", str(server.process.pid), "-o", "pid="], capture_output=True, text=True, check=True
        ).stdout.split()
        assert len(children) == 2
        os.kill(int(children[0]), signal.SIGKILL)
        until(lambda: is_there())
        server.process.terminate()
        assert server.process.wait(WAIT_SECONDS) == 0
        until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP])
def test_processes_do_not_outlive_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    """However it ends: nobody would look after them, and they hold the port."""
    with running_process(workspace(tmp_path), "--processes", "2") as server:
        until(lambda: len(_children(server)) == 2)
        children = _children(server)
        until(lambda: _answers(server.url))
        server.process.send_signal(how)
        server.process.wait(WAIT_SECONDS)
        until(lambda: not any(_lives(child) for child in children))


def _answers(url: str) -> bool:
    try:
        return bool(urlopen(f"{url}/health", timeout=WAIT_SECONDS).status == 200)
    except OSError:
        return False


def _children(server: ServerProcess) -> list[str]:
    words = ["ps", "--ppid", str(server.process.pid), "-o", "pid="]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_port_that_is_taken_is_told_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run("--workspace", str(workspace(tmp_path)), env={"FERRULE_SERVE_PORT": port})
    assert ended.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr
    assert "--port" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_public_address_needs_authentication(tmp_path: Path) -> None:
    ended = run("--workspace", str(workspace(tmp_path)), "--host", "0.0.0.0", "--port", "0", "--no-auth")
    assert ended.returncode == 2
    assert "--dangerously-open" in ended.stderr


def test_the_address_of_a_proxy_is_told_and_where_it_listens(tmp_path: Path) -> None:
    with running_process(workspace(tmp_path), "--public-url", "https://tools.example.com/shop/") as server:
        assert server.told["mcp"] == "https://tools.example.com/shop/mcp"
        with urlopen(f"http://{server.told['listening']}/health", timeout=WAIT_SECONDS) as answer:
            assert answer.status == 200


def test_a_word_for_a_port_is_told_by_its_variable(tmp_path: Path) -> None:
    ended = run("--workspace", str(workspace(tmp_path)), env={"FERRULE_SERVE_PORT": "many"})
    assert (ended.returncode, ended.stderr) == (2, "ferrule: FERRULE_SERVE_PORT is 'many'; write a whole number\n")


@pytest.mark.parametrize("client", ["claude-code", "claude-desktop", "cursor", "vscode", "curl", "python"])
def test_every_client_has_a_snippet_and_none_shows_the_token(client: str, tmp_path: Path) -> None:
    with running_process(workspace(tmp_path)) as server:
        secret = server.token(tmp_path)
    ended = run("--workspace", str(tmp_path), "--snippet", client)
    assert ended.returncode == 0
    assert secret not in ended.stdout
    assert ("8787" in ended.stdout) == (client != "claude-desktop")
    if client == "claude-desktop":
        assert json.loads(ended.stdout)["mcpServers"]["place"]["args"][2:4] == ["serve", "--stdio"]


@pytest.mark.parametrize(
    "words",
    [
        ("--port", "9000", "--stdio"),
        ("--processes", "2", "--stdio"),
        ("--host", "::1", "--stdio"),
        ("--public-url", "https://tools.example.com", "--stdio"),
        ("--open", "--stdio"),
        ("--json", "--stdio"),
        ("--no-auth", "--stdio"),
        ("--dangerously-open", "--stdio"),
        ("--dangerously-open", "--no-auth"),
        ("--processes", "2", "--snippet"),
        ("--stdio", "--snippet"),
    ],
    ids=" ".join,
)
def test_an_option_that_would_do_nothing_is_refused_with_the_one_it_clashes_with(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    given = {"--snippet": (*words, "curl"), "--no-auth": words[:-1]}.get(words[-1], words)  # it needs --no-auth
    ended = run("--workspace", str(workspace(tmp_path)), *given)
    assert ended.returncode == 2 and ended.stdout == ""
    assert words[0] in ended.stderr and words[-1] in ended.stderr and "does nothing" in ended.stderr


def test_an_open_server_may_be_said_in_the_settings_and_accepted_by_option(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    with (folder / "ferrule.toml").open("a") as file:
        file.write("\n[serve]\nauth = false\n")
    with running_process(folder, "--dangerously-open") as server:
        assert server.process.poll() is None


def test_a_pipe_at_a_terminal_says_what_it_is_for(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "ferrule", "serve", "--stdio", "--workspace", str(workspace(tmp_path))]
    ours, its = os.openpty()
    try:
        with subprocess.Popen(words, stdin=its, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            told = process.stderr.readline()
            process.terminate()
            process.communicate(timeout=WAIT_SECONDS)
    finally:
        os.close(ours)
        os.close(its)
    assert "JSON-RPC" in told and "ferrule serve --snippet claude-desktop" in told
    piped = subprocess.run(words, input="", capture_output=True, text=True, timeout=WAIT_SECONDS)
    assert (piped.returncode, piped.stdout, piped.stderr) == (0, "", "")


def test_the_servers_of_a_desktop_client_are_taken_over_and_governed(tmp_path: Path) -> None:
    words = list(upstream("changing", "first"))
    config = tmp_path / "client.json"
    config.write_text(
        json.dumps({"mcpServers": {"far": {"command": words[0], "args": words[1:], "env": {"KEY": "s3"}}}})
    )
    folder = tmp_path / "place"
    folder.mkdir()
    with running_process(folder, "--import-config", str(config)) as server:
        tools = ask(server.url, "tools/list", {}, server.token(folder))["tools"]
        assert tools
    assert "s3" not in (folder / "ferrule.toml").read_text()
    assert (folder / ".env").read_text() == 'FAR_KEY="s3"\n'
    assert (folder / ".env").stat().st_mode & 0o777 == 0o600
