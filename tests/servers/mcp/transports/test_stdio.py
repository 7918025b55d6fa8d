"""MCP over standard streams: a real process, started as a desktop client starts it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ferrule.access.keys import Access
from tests.cli.test_serve import TRANSPORT
from tests.contracts.transports.fake_upstream import aml
from tests.servers.mcp.session_client import ALL, REVISIONS, make_initialize, make_message
from tests.servers.mcp.stdio_client import META, WAIT_SECONDS, PipeClient, running_stdio_server, write_workspace

SHUTDOWN_SECONDS = 2.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_workspace(tmp_path)


@pytest.fixture
def client(folder: Path) -> Iterator[PipeClient]:
    with running_stdio_server(folder) as opened:
        yield opened


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] != "Z"


def gone(pid: int) -> bool:
    """True when a process ends, in the end."""
    until = time.monotonic() + WAIT_SECONDS
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not is_alive(pid)


def test_a_session_over_standard_streams(client: PipeClient) -> None:
    """MCP-28, MCP-93: the handshake of each revision, calls, errors, and a polite end."""
    for revision in REVISIONS:
        said = client.begin(revision)
        assert said["protocolVersion"] == revision
        assert "42" in client.call("add", a=20, b=22)["content"][0]["text"]
        assert client.ask("ping")["result"] == {}
        assert client.ask("no/such")["error"]["code"] == -32601
        assert client.ask("tools/call", name="nobody")["error"]["code"] == -32602
    assert client.close() < SHUTDOWN_SECONDS + 1


def test_every_message_is_of_its_own_era(client: PipeClient) -> None:
    """MCP-10, MCP-11, MCP-35, MCP-79: decided for each message, whatever came before."""
    assert client.ask("ping")["result"] == {}
    assert client.ask("tools/list")["error"]["code"] == -32600
    assert client.ask("server/discover")["error"]["code"] == -32602
    found = client.ask("server/discover", _meta=META)["result"]
    assert found["resultType"] == "complete"
    assert "2026-07-28" in found["supportedVersions"]
    assert client.ask("server/discover", _meta={**META, next(iter(META)): "v999"})["error"]["code"] == -32022
    modern = client.ask("tools/call", _meta=META, name="add", arguments={"a": 1, "b": 2})["result"]
    assert modern["resultType"] == "complete"
    assert modern["structuredContent"] == 3
    assert client.ask("ping", _meta=META)["error"]["code"] == -32601
    client.begin("2025-06-18")
    session = client.call("add", a=1, b=2)
    assert "resultType" not in session
    assert session["structuredContent"] == {"result": 3}
    assert client.ask("tools/list", _meta=META)["result"]["resultType"] == "complete"
    assert "resultType" not in client.ask("tools/list")["result"]
    assert client.ask("server/discover", _meta=META)["result"]["supportedVersions"] == found["supportedVersions"]


def test_nothing_but_messages_reaches_the_client(client: PipeClient, folder: Path) -> None:
    """MCP-29, MCP-30: what tools, libraries and children print goes to standard error; none of them reads the client's words."""
    client.begin()
    assert client.call("noisy")["content"][0]["text"] == "quiet"
    assert client.call("reader")["content"][0]["text"] == "('', '')"
    assert client.ask("ping")["result"] == {}
    client.close()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in client.lines)
    assert "forged" not in b"".join(client.lines).decode()
    told = (folder / "stderr.txt").read_text()
    for printed in ("loading prints", "and writes", "printed", "written", "from a child"):
        assert printed in told


def test_a_hundred_calls_at_once(client: PipeClient) -> None:
    """MCP-31, MCP-37: every line is a message, every request is answered once; in both eras at the same time."""
    client.begin()
    asked = []
    for number in range(100):
        name = ("add", "steps", "long_text", "slow")[number % 4]
        arguments = {"add": {"a": number, "b": 1}, "steps": {}, "long_text": {"size": 20_000}, "slow": {"seconds": 0.2}}
        meta = {**META, "progressToken": f"p{number}"} if number % 3 == 0 else {}
        params: dict[str, Any] = {"name": name, "arguments": arguments[name], "_meta": meta}
        asked.append(make_message("tools/call", number, params=params))
    client.write(b"".join(json.dumps(each).encode() + b"\n" for each in asked))
    answered: list[int] = []
    while len(answered) < 100:
        said = client.read_message()
        assert said["jsonrpc"] == "2.0"
        if "id" in said:
            assert "result" in said, said
            answered.append(said["id"])
        else:
            assert said["method"] == "notifications/progress"
            assert int(said["params"]["progressToken"][1:]) not in answered
    assert sorted(answered) == list(range(100))


def test_a_slow_tool_holds_nobody_up(client: PipeClient) -> None:
    """MCP-37, MCP-173, MCP-176: other requests are answered meanwhile; a cancelled one never is."""
    client.begin()
    slow = client.start("tools/call", name="slow", arguments={})
    thread = client.start("tools/call", name="stubborn", arguments={"seconds": 1.0})
    assert client.call("add", a=1, b=1)["structuredContent"] == {"result": 2}
    modern = client.start("tools/call", name="slow", arguments={}, _meta=META)
    for request_id in (slow, modern, 999, "1", None):
        client.send(make_message("notifications/cancelled", params={"requestId": request_id}))
    client.send(make_message("notifications/cancelled", params=[1]))
    client.send(make_message("notifications/cancelled"))
    assert client.ask("ping")["result"] == {}
    said = client.read_message()
    assert said["id"] == thread
    client.close()
    assert {slow, modern}.isdisjoint(json.loads(line).get("id") for line in client.lines)


def test_what_cannot_be_read_is_answered_and_forgotten(client: PipeClient) -> None:
    """MCP-18, MCP-19, MCP-24, MCP-28, MCP-32: an error each, without an id where there is none; then it goes on."""
    client.begin()
    for line, code, request_id in (
        (b"garbage", -32700, None),
        (b"\xff\xfe\x00", -32700, None),
        (b'{"jsonrpc":"2.0","id":1', -32700, None),
        (b'"text"', -32600, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
        (b'{"jsonrpc":"2.0","id":1,"methodX":"a"}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"id":"x","method":"ping"}', -32600, "x"),
        (b"[" * 100_000, -32700, None),
        (
            rb'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":"\ud83d"}}}',
            -32700,
            7,
        ),
        (rb'{"jsonrpc":"2.0","id":8,"method":"ping","params":{"a":"\ud83d"},}', -32700, None),
        (rb'{"jsonrpc":"2.0","id":"\ud83d","method":"ping"}', -32700, None),
        (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{},"params":{}}', -32600, 9),
        (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"id":1},"id":10}', -32600, None),
    ):
        client.write(line + b"\n")
        said = client.read_message()
        assert said["error"]["code"] == code, line[:60]
        assert said.get("id") == request_id
        assert ("id" in said) == (request_id is not None)
    client.write(b"\n  \n\r\n")
    client.send(make_message("notifications/nonsense", params=5))
    client.write(b'{"jsonrpc":"1.0","method":"notifications/wrong"}\n')
    client.send(make_message(id=12345, result={}))
    client.write(json.dumps(make_message("ping", "crlf")).encode() + b"\r\n")
    assert client.read_message() == make_message(id="crlf", result={})


def test_an_id_in_use_is_refused_by_its_name(client: PipeClient) -> None:
    """MCP-17, MCP-18: also where the request is plainly right otherwise."""
    client.begin()
    asked = make_message("tools/call", 5, params={"name": "slow", "arguments": {"seconds": 0.3}})
    for said in (asked, asked):
        client.send(said)
    refused = client.read_message()
    assert (refused["id"], refused["error"]["code"]) == (5, -32600)
    assert client.read_message()["result"]["content"][0]["text"] == "done"


def test_sessions_can_be_switched_off(folder: Path) -> None:
    """MCP-13: the error names what is served, and what was asked for."""
    with (folder / "ferrule.toml").open("a") as settings:
        settings.write("[serve.mcp]\nsessions = false\n")
    with running_stdio_server(folder) as client:
        client.send(make_initialize("2025-11-25"))
        error = client.read_message()["error"]
        assert error["data"] == {"supported": ["2026-07-28"], "requested": "2025-11-25"}
        assert client.ask("server/discover", _meta=META)["result"]["supportedVersions"] == ["2026-07-28"]


def test_a_line_has_a_bound(folder: Path) -> None:
    """MCP-32: one that is too long is refused, in whatever pieces it comes, and the next one is read."""
    (folder / "ferrule.toml").write_text(
        '[functions]\nmodules = ["functions.py"]\n[serve.limits]\nbody_bytes = 10000\n'
    )
    with running_stdio_server(folder) as client:
        client.begin()
        for size in (10_001, 70_000, 500_000):
            client.write(b"x" * size + b"\n")
            assert client.read_message()["error"]["code"] == -32600
            assert client.ask("ping")["result"] == {}
        long = make_message("ping", 1, params={"text": "y" * 9000})
        client.send(long)
        assert client.read_message() == make_message(id=1, result={})
        assert client.call("long_text", size=20_000)["content"][0]["text"] == "x" * 20_000


def test_a_message_is_one_line(client: PipeClient) -> None:
    """MCP-28: what has line breaks in it is escaped; ids keep their type (MCP-16)."""
    client.begin()
    for request_id in ("a\nb", "\u2028", "ü", 0, -7, 2**53):
        client.send(make_message("ping", params={}, id=request_id))
        assert client.read_message() == make_message(id=request_id, result={})


def test_the_client_is_asked(client: PipeClient) -> None:
    """MCP-177, MCP-207, MCP-208: over the same pipe; a cancelled call takes its question back."""
    client.begin(capabilities=ALL)
    client.start("tools/call", name="who", arguments={})
    asked = client.read_message()
    assert asked["method"] == "elicitation/create"
    client.send(make_message(id=asked["id"], result={"action": "accept", "content": {"name": "Ann"}}))
    assert client.read_message()["result"]["content"][0]["text"] == "hello Ann"
    number = client.start("tools/call", name="who", arguments={})
    asked = client.read_message()
    client.send(make_message("notifications/cancelled", params={"requestId": number}))
    taken_back = client.read_message()
    assert taken_back["method"] == "notifications/cancelled"
    assert taken_back["params"]["requestId"] == asked["id"]
    client.begin()
    assert client.ask("tools/call", name="who", arguments={})["result"]["isError"]


def test_batches_are_for_the_oldest_revision(client: PipeClient) -> None:
    """MCP-21, MCP-22: one answer for all of its requests."""
    client.begin("2025-03-26")
    slow = make_message("tools/call", 2, params={"name": "slow", "arguments": {"seconds": 0.05}})
    client.send([make_message("ping", 1), make_message("notifications/x"), slow, make_message("ping", "3")])
    assert sorted(str(each["id"]) for each in client.read_message()) == ["1", "2", "3"]
    client.send([make_message("notifications/x")])
    client.send([])
    assert client.read_message()["error"]["code"] == -32600
    client.send([make_message("ping", 1), make_initialize("2025-03-26")])
    assert client.read_message()["error"]["code"] == -32600


def test_changes_are_told(client: PipeClient, folder: Path) -> None:
    """MCP-153, MCP-240, MCP-236: a session hears of them; so does a subscription, which ends with the pipe."""
    client.begin()
    listening = client.start("subscriptions/listen", _meta=META, notifications={"toolsListChanged": True})
    acknowledged = client.read_message()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    subprocess.run(
        [sys.executable, "-m", "ferrule", "disable", "add", "--workspace", str(folder)], check=True, capture_output=True
    )
    told = [client.read_message(), client.read_message()]
    assert [each["method"] for each in told] == ["notifications/tools/list_changed"] * 2
    tags = [each.get("params", {}).get("_meta", {}) for each in told]
    assert sorted(map(len, tags)) == [0, 1]
    client.close()
    last = json.loads(client.lines[-1])
    assert last["id"] == listening
    assert last["result"]["resultType"] == "complete"


def test_changed_definitions_are_taken_and_told(tmp_path: Path) -> None:
    """MCP-153, MCP-163: those that changed since the catalog was built, and those that change meanwhile."""
    write_workspace(tmp_path)
    (tmp_path / "one.tool.md").write_text(aml("one", TRANSPORT))
    with running_stdio_server(tmp_path) as client:
        client.begin()
        client.close()
    (tmp_path / "two.tool.md").write_text(aml("two", TRANSPORT))
    with running_stdio_server(tmp_path) as client:
        client.begin()
        for name in ("two", "three"):
            (tmp_path / f"{name}.tool.md").write_text(aml(name, TRANSPORT))
            assert client.read_message()["method"] == "notifications/tools/list_changed"
            listed = {tool["name"] for tool in client.ask("tools/list")["result"]["tools"]}
            assert name in listed and "one" in listed
        client.close()


@pytest.mark.parametrize("how", ["closed", "SIGTERM", "SIGINT"])
def test_the_end_is_prompt_and_leaves_nobody_behind(folder: Path, how: str) -> None:
    """MCP-33: exit 0 within two seconds, whatever is going on; children are ended, too."""
    with running_stdio_server(folder) as client:
        client.begin()
        client.start("tools/call", name="parent", arguments={})
        client.start("tools/call", name="stubborn", arguments={})
        client.start("tools/call", name="slow", arguments={})
        until = time.monotonic() + WAIT_SECONDS
        while not (found := re.search(r"child (\d+)", (folder / "stderr.txt").read_text())):
            assert time.monotonic() < until
            time.sleep(0.02)
        begun = time.monotonic()
        if how == "closed":
            took = client.close()
        else:
            client.process.send_signal(getattr(signal, how))
            assert client.process.wait(WAIT_SECONDS) == 0
            took = time.monotonic() - begun
        assert took < SHUTDOWN_SECONDS + 3  # of other work on this machine
        assert gone(int(found[1]))
        assert "Traceback" not in (folder / "stderr.txt").read_text()


def test_what_was_asked_before_the_end_is_answered(folder: Path) -> None:
    """A client may write, close, and then read."""
    with running_stdio_server(folder) as client:
        client.send(make_initialize())
        for number in range(20):
            client.send(make_message("tools/call", number, params={"name": "add", "arguments": {"a": number, "b": 0}}))
        client.close()
        assert len(client.lines) == 21


def test_a_file_can_stand_in_for_a_client(folder: Path) -> None:
    """Standard input and output may be files."""
    words = [make_message("ping", number) for number in range(3)]
    (folder / "in.txt").write_text("".join(json.dumps(each) + "\n" for each in words))
    with open(folder / "in.txt") as given, open(folder / "out.txt", "w") as taken:
        command = [sys.executable, "-m", "ferrule", "serve", "--stdio", "--workspace", str(folder)]
        subprocess.run(command, stdin=given, stdout=taken, stderr=subprocess.DEVNULL, check=True, timeout=WAIT_SECONDS)
    assert [json.loads(line)["id"] for line in (folder / "out.txt").read_text().splitlines()] == [0, 1, 2]


def test_a_client_that_is_killed_leaves_no_server_behind(folder: Path) -> None:
    """MCP-33: with a call that is running, too."""
    call = make_message("tools/call", 1, params={"name": "slow", "arguments": {}})
    program = (
        "import subprocess, sys, time\n"
        f"p = subprocess.Popen([sys.executable, '-m', 'ferrule', 'serve', '--stdio', '--workspace', {str(folder)!r}],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)\n"
        f"p.stdin.write({(json.dumps(make_initialize()) + chr(10)).encode()!r}); p.stdin.flush()\n"
        "p.stdout.readline()\n"
        f"p.stdin.write({(json.dumps(call) + chr(10)).encode()!r})\n"
        "p.stdin.flush()\n"
        "print(p.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    client = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert client.stdout is not None
        server = int(client.stdout.readline())
        assert is_alive(server)
        client.kill()
        client.wait()
        assert gone(server)
    finally:
        client.kill()
        client.wait()
        if client.stdout is not None:
            client.stdout.close()


def test_a_client_that_does_not_read_is_waited_for(client: PipeClient) -> None:
    """Answers wait, and nothing is lost: more than any pipe holds, written before anything is read."""
    client.begin()
    for number in range(100):
        client.send(make_message("tools/call", number, params={"name": "long_text", "arguments": {"size": 10_000}}))
    sizes = [len(client.read_message()["result"]["content"][0]["text"]) for _ in range(100)]
    assert sizes == [10_000] * 100


def test_the_caller_is_whoever_the_environment_says(folder: Path) -> None:
    """MCP-36: a token in the environment, else the agents'; one that may not call is refused before anything is served."""
    access = Access(folder)
    owner = access.local_owner()
    _, ann = access.add(owner, "ann", ["call"])
    _, only_approves = access.add(owner, "ben", ["approve"])
    with running_stdio_server(folder, {"FERRULE_TOKEN": ann}) as client:
        client.begin()
        client.call("add", a=1, b=1)
        client.close()
    command = [sys.executable, "-m", "ferrule", "log", "--workspace", str(folder), "--json"]
    assert '"ann"' in subprocess.run(command, capture_output=True, text=True, check=True, timeout=WAIT_SECONDS).stdout
    for token in (only_approves, "frl_nonsense"):
        with running_stdio_server(folder, {"FERRULE_TOKEN": token}) as client:
            client.send(make_initialize())
            assert client.read_line() is None
            assert client.process.wait(WAIT_SECONDS) == 2


def test_a_conversation_ends_with_its_key(folder: Path) -> None:
    """A revoked key counts nowhere any more, over a pipe neither."""
    access = Access(folder)
    owner = access.local_owner()
    token, ann = access.add(owner, "ann", ["call"])
    with running_stdio_server(folder, {"FERRULE_TOKEN": ann}) as client:
        client.begin()
        client.call("add", a=1, b=1)
        access.rotate(owner, token.id, 0)  # the same key
        time.sleep(1.2)
        client.call("add", a=1, b=1)
        access.revoke(owner, token.id)
        assert client.process.wait(WAIT_SECONDS) == 0
    assert f"the conversation ends: the key {token.id} of ann" in (folder / "stderr.txt").read_text()
