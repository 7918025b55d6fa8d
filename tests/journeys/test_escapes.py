"""Built-in tools in a real workspace, and everything that could lead out of it: each attempt fails and is on record.

One workspace on disk, opened as anybody opens one, with a ledger. What the tools themselves do with odd arguments is tried in
`tests/runtime/builtins`; here is what only shows when all parts are put together (ADL-23 to ADL-28, promise 9).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ferrule.app.app import App
from ferrule.app.opening import open_app
from ferrule.infra.processes.sandbox import Bubblewrap, find_bubblewrap
from ferrule.model.result import Result
from ferrule.model.story import Story
from tests.runtime.builtins.builtin_tools import expect_refusal, run, write_manifest
from tests.spec.running_app import run_async

SECRET = "c4nary-of-the-escape-artist"
TOOLS: dict[str, dict[str, Any]] = {
    "read": {"enabled": True},
    "write": {"enabled": True},
    "edit": {"enabled": True},
    "bash": {"enabled": True, "timeout_seconds": 1},
    "fetch": {
        "enabled": True,
        "allow_downloads": True,
        "download_dir": "downloads",
        "timeout_seconds": 2,
        "max_bytes": 4_096,
    },
}
SETTINGS = """
namespace = "shop"
[functions]
paths = ["code"]
modules = ["tools/orders.py", "stock"]
[policy]
mode = "trusted"
[[hooks]]
id = "look"
event = "pre_tool_use"
kind = "command"
command = ["{python}", "-S", "hooks/look.py"]
tools = ["nothing"]
[[hooks]]
id = "check"
event = "pre_tool_use"
kind = "function"
function = "checks.py:check"
tools = ["nothing"]
"""
NAMED_CODE = ("tools/orders.py", "code/stock.py", "code/later.py", "checks.py", "hooks/look.py")
CONFINED = pytest.mark.skipif(not isinstance(find_bubblewrap(), Bubblewrap), reason="there is no sandbox here")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with something to protect in it and beside it, and ways that seem to lead there."""
    root = tmp_path / "ws"
    for folder in ("tools", "hooks", "code", "notes/deep", "downloads"):
        (root / folder).mkdir(parents=True)
    (root / "ferrule.toml").write_text(SETTINGS.format(python=sys.executable))
    (root / "policy.toml").write_text("")
    (root / "shop.adl.yaml").write_text(write_manifest(**TOOLS))
    (root / "tools/orders.py").write_text("import tools.prices\n")
    (root / "tools/prices.py").write_text("RATE = 1\n")
    (root / "code/stock.py").write_text("LEFT = 3\n")
    (root / "code/later.py").write_text("LEFT = 4\n")
    (root / "checks.py").write_text("def check(told):\n    return None\n")
    (root / "hooks/look.py").write_text("print('{}')\n")
    (root / "notes/a.txt").write_text("inside\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    asyncio.run(_built(root))
    (root / "absolute").symlink_to(outside / "secret.txt")
    (root / "relative").symlink_to("../outside/secret.txt")
    (root / "notes/up").symlink_to("../..")
    (root / "chain1").symlink_to("chain2")
    (root / "chain2").symlink_to("notes/../chain3")
    (root / "chain3").symlink_to(outside)
    (root / "proc").symlink_to("/proc")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.getcwd()
        os.chdir(root)  # such a name must be short
        listener.bind("socket")
        os.chdir(before)
    return root


async def _built(root: Path) -> None:
    """The catalog is there before anybody leaves links behind."""
    async with shop(root):
        pass


@asynccontextmanager
async def shop(root: Path) -> AsyncIterator[App]:
    before, known = list(sys.path), set(sys.modules)
    try:
        async with open_app(root, environment={"PATH": os.environ["PATH"], "SHOP_TOKEN": SECRET}) as app:
            yield app
    finally:
        sys.path[:] = before
        for name in set(sys.modules) - known:
            if name.startswith(("tools", "checks", "stock")):
                del sys.modules[name]


class Tried(NamedTuple):
    """One attempt, and what came of it."""

    tool: str
    arguments: dict[str, Any]
    result: Result

    @property
    def told(self) -> str:
        return f"{self.tool} {str(self.arguments)[:120]}: {self.result.status} {self.result.error} {self.result.text[:200]}"


async def tried(app: App, tool: str, **arguments: Any) -> Tried:
    result = await app.surface(principal="mallory").call(tool, arguments)
    assert isinstance(result, Result)
    return Tried(tool, arguments, result)


async def check_refused(app: App, attempts: list[Tried], *classes: str) -> None:
    """Each failed with one of these classes, told nothing, and is on record with its class."""
    await app.store.flush()
    for attempt in attempts:
        assert attempt.result.error is not None, attempt.told
        assert attempt.result.error.error_class in classes, attempt.told
        assert SECRET not in str(attempt.result), attempt.told
        rows = await app.store.rows_of(attempt.result.invocation_id)
        story = Story(rows)
        assert story.error is not None and story.error.error_class == attempt.result.error.error_class, attempt.told
        assert all(SECRET.encode() not in row.body + (row.payload or b"") for row in rows), attempt.told


def picture_of(root: Path) -> dict[str, bytes | None]:
    """Every file of the workspace and beside it, but for what Ferrule itself writes."""
    found: dict[str, bytes | None] = {}
    for path in sorted(root.parent.rglob("*")):
        if ".ferrule" not in path.parts and not path.is_symlink():
            found[str(path)] = path.read_bytes() if path.is_file() else None
    return found


@run_async
async def test_no_path_leads_out(workspace: Path) -> None:
    """ADL-23, ADL-24, ADL-26, ADL-27: read, write and edit; nothing outside is read, made or changed."""
    outside = workspace.parent / "outside" / "secret.txt"
    paths = [
        str(outside), "../outside/secret.txt", "notes/../../outside/secret.txt", "notes/up/outside/secret.txt",
        "absolute", "relative", "chain1/secret.txt", f"//{outside}", f"/./{outside}", f"{workspace}/../outside/secret.txt",
        "notes/./.././../outside/secret.txt", f"/proc/self/root{outside}", f"proc/self/root{outside}",
        f"/proc/self/cwd/{outside}", "proc/self/environ", "/proc/self/environ", f"/proc/{os.getpid()}/environ",
        "/proc/self/mem", "/proc/1/environ", "/proc/self/fd/0", "/dev/stdin", "/dev/fd/0", "/dev/tty", "/dev/null",
        "/etc/passwd", "/etc/../etc/shadow", "~/.ssh/id_rsa", "~root/.bashrc", "$HOME/.bashrc", "file:///etc/passwd",
        "notes\\..\\..\\outside", "notes/．．/．．/outside/secret.txt", "notes/\u2025/outside", "notes/%2e%2e/%2e%2e/outside",
        "..", "../", ".", "/", "", "   ", "notes", "notes/", "notes/a.txt/", "notes/a.txt/.",
        "notes/a.txt/../../../outside/secret.txt",
        "loop", "loop/x", "pipe", "socket", "x\0y", "x" * 300, "d/" * 3000, "\ud800", "notes/a.txt\0.png",
    ]  # fmt: skip
    before = picture_of(workspace)
    async with shop(workspace) as app:
        attempts = []
        for path in paths:
            attempts.append(await tried(app, "read", file_path=path))
            attempts.append(await tried(app, "edit", file_path=path, old_string="c4nary", new_string="x"))
            if path not in ("notes/%2e%2e/%2e%2e/outside", "notes/\u2025/outside", "~/.ssh/id_rsa", "~root/.bashrc",
                            "$HOME/.bashrc", "notes\\..\\..\\outside", "notes/．．/．．/outside/secret.txt",
                            "file:///etc/passwd"):  # fmt: skip  # plain names inside, for whoever writes
                attempts.append(await tried(app, "write", file_path=path, content="planted"))
        await check_refused(app, attempts, "sandbox_violation", "invalid_arguments", "execution_failed",
                            "schema_validation_failed")  # fmt: skip
        assert picture_of(workspace) == before
        assert json.loads((await tried(app, "read", file_path="notes/a.txt")).result.text)["content"] == "inside\n"


@run_async
async def test_nothing_that_decides_what_is_allowed_is_reached(workspace: Path) -> None:
    """Keys, ledger, settings and policy cannot be read or written; neither can code that the settings name, nor anything
    that Python would run in its place."""
    hidden = [
        ".ferrule/keys/approval.key", ".ferrule/keys/ledger.key", ".ferrule/ledger.db", ".ferrule/ledger.db-wal",
        ".ferrule/policy.local.toml", ".ferrule/new", "ferrule.toml", "ferrule.pub", "policy.toml", "FERRULE.TOML",
        "ｆerrule.toml", "./ferrule.toml", "notes/../ferrule.toml", "notes/up/ws/ferrule.toml", *NAMED_CODE,
        "hooks/json.py", "tools/__pycache__/orders.cpython-311.pyc", "__pycache__/checks.cpython-311.pyc",
    ]  # fmt: skip
    fixed = ["shop.adl.yaml", "notes/../shop.adl.yaml", "notes/up/ws/shop.adl.yaml", "tools/prices.py"]
    os.link(workspace / "checks.py", workspace / "notes/linked.py")
    async with shop(workspace) as app:
        before = picture_of(workspace)
        attempts = [await tried(app, "write", file_path=path, content="planted") for path in hidden + fixed]
        attempts += [
            await tried(app, "read", file_path=path) for path in [*hidden, "notes/linked.py"] if path != "ｆerrule.toml"
        ]
        attempts += [
            await tried(app, "edit", file_path=path, old_string="e", new_string="x") for path in hidden + fixed
        ]
        await check_refused(app, attempts, "sandbox_violation", "invalid_arguments")
        assert picture_of(workspace) == before
        assert (await tried(app, "read", file_path="shop.adl.yaml")).result.error is None, "reading them does no harm"
        assert (await tried(app, "write", file_path="notes/new.py", content="x = 1")).result.error is None


@CONFINED
def test_commands_come_to_nothing_outside(workspace: Path) -> None:
    """ADL-25: whatever a program does, it does in its folder."""
    asyncio.run(asyncio.wait_for(_commands(workspace), 120))


async def _commands(workspace: Path) -> None:
    outside = workspace.parent / "outside"
    planted = str(outside / "planted")
    lines = [
        f"cat {outside}/secret.txt", "cat absolute", "cat relative", "cat chain1/secret.txt",
        f"cat proc/self/root{outside}/secret.txt", "cat ferrule.toml", "cat policy.toml", "cat .ferrule/keys/approval.key",
        "cat .ferrule/ledger.db", "cat tools/orders.py",
        f"touch {planted}", f"cp notes/a.txt {planted}", f"ln -s notes {planted}", f"ln {outside}/secret.txt notes/hard",
        f"tee {planted}", f"dd if=notes/a.txt of={planted}", "cat /proc/1/environ", f"cat /proc/{os.getpid()}/environ",
        f"kill -9 {os.getpid()}", f"kill -TERM {os.getppid()}", "chmod u+s /usr/bin/env", "mount -t tmpfs x notes",
        "unshare -r id",
        "touch ferrule.toml", "rm ferrule.toml", "mv ferrule.toml x", "rm -r .ferrule", "mv .ferrule x", "mv hooks hooks2",
        "rm hooks/look.py", "touch hooks/json.py", "touch tools/__pycache__/orders.cpython-311.pyc", "rm -r tools/__pycache__",
        "mv tools tools2", "rm tools/prices.py", "touch tools/prices.py", "sed -i s/1/2/ tools/prices.py",
        "mv -f notes/a.txt tools/prices.py",
        "rm shop.adl.yaml", "sed -i s/Sells/Steals/ shop.adl.yaml", "tee shop.adl.yaml", "cp notes/a.txt shop.adl.yaml",
        "env", "find . -maxdepth 1 -name ferrule.toml -exec cat {{}} +", "git -c core.pager=id -c alias.x=!id x",
        "tar -cf notes/x.tar --checkpoint=1 --checkpoint-action=exec=id notes/a.txt", "sh -c 'cat ../outside/secret.txt'",
        "xargs -a notes/a.txt cat", "setsid sleep 1000", "sh -c 'sleep 1000 & exec sleep 0'", "timeout 1 cat pipe",
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', 80), 1)\"", "getent hosts example.com",
    ]  # fmt: skip
    async with shop(workspace) as app:
        await tried(app, "bash", command="true")  # what is not there yet is made with the first command
        before = picture_of(workspace)
        before.pop(str(workspace / "notes/x.tar"), None)
        for line in lines:
            attempt = await tried(app, "bash", command=line.replace("{{}}", "{}"))
            assert SECRET not in str(attempt.result), attempt.told
            now = picture_of(workspace)
            now.pop(str(workspace / "notes/x.tar"), None)
            assert now == before, attempt.told
            assert (await app.store.rows_of(attempt.result.invocation_id))[-1].outcome, attempt.told
        floods = [
            await tried(app, "bash", command="sh -c 'cat pipe'"),
            await tried(app, "bash", command="sh -c ':(){ :|:& };:'"),
        ]
        assert all(SECRET not in str(flood.result) for flood in floods)
        assert (await tried(app, "bash", command="cat notes/a.txt")).result.error is None


@run_async
async def test_a_folder_that_is_swapped_all_the_time_never_leads_out(workspace: Path) -> None:
    """A thread exchanges a folder and a link to the outside while calls of three tools go through it."""
    inside, outside = workspace / "notes/deep", workspace.parent / "outside"
    (inside / "secret.txt").write_text("harmless")
    spare = workspace / "notes/spare"
    is_over = threading.Event()

    def swap() -> None:
        for number in itertools.count():
            made = workspace / f"notes/made-{number}"  # the folder that was missing when a call wrote
            for step in (
                partial(os.rename, inside, spare), partial(os.symlink, outside, inside), partial(os.unlink, inside),
                partial(os.rename, inside, made), partial(os.rename, spare, inside),
            ):  # fmt: skip
                with suppress(OSError):
                    step()
            if is_over.is_set():
                return

    async with shop(workspace) as app:
        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            for number in range(60):
                seen = await tried(app, "read", file_path="notes/deep/secret.txt")
                assert SECRET not in str(seen.result), seen.told
                await tried(app, "write", file_path="notes/deep/planted.txt", content=str(number))
                await tried(app, "edit", file_path="notes/deep/secret.txt", old_string="c4nary", new_string="x")
        finally:
            is_over.set()
            swapper.join(10)
    assert [file.name for file in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == SECRET


class _Trap(BaseHTTPRequestHandler):
    """Answers that want to be followed, never end, or are larger than they say."""

    def do_GET(self) -> None:
        kind = self.path.strip("/").split("?")[0]
        if kind.startswith("to-"):
            self._head(302, Location=bytes.fromhex(kind[3:]).decode())
        elif kind == "gzip":
            self._head(200, **{"Content-Encoding": "gzip", "Content-Type": "text/plain"})
            self.wfile.write(b"\x1f\x8b" + b"\0" * 100)
        elif kind == "header":
            self._head(200, **{f"X-{number}": "y" * 1000 for number in range(200)})
        elif kind == "drip":
            self._head(200)
            self._pour(b".", 0.2)
        elif kind == "endless":
            self._head(200)
            self._pour(b"x" * 65_536, 0)
        else:
            self._head(200)
            self.wfile.write(SECRET.encode())

    def _head(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _pour(self, piece: bytes, pause: float) -> None:
        try:
            while True:
                self.wfile.write(piece)
                self.wfile.flush()
                if pause:
                    threading.Event().wait(pause)
        except OSError:
            pass

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # so the parent names it
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def trap() -> Iterator[int]:
    server = _Server(("127.0.0.1", 0), _Trap)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


@run_async
async def test_no_address_leads_in(workspace: Path) -> None:
    """ADL-28, promise 9: no spelling of a private address is dialled, and no name that leads to one."""
    with trap() as port:
        hosts = [
            "127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1",
            "0177.0.0.1", "017700000001", "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
            "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]",
            "[fe80::1%25lo]", "[fc00::1]",
            "169.254.169.254", "10.0.0.1", "192.168.0.1", "100.64.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "127.0.0.1.", "127%2e0.0.1",
        ]  # fmt: skip
        urls = [f"http://{host}:{port}/" for host in hosts]
        urls += [
            f"http://example.com@127.0.0.1:{port}/", f"http://127.0.0.1:{port}#@example.com/", f"http://127.0.0.1:{port}\\@example.com/",
            f"http:\\\\127.0.0.1:{port}/", f"http://127.0.0.1\t:{port}/", f" http://127.0.0.1:{port}/", f"http:///127.0.0.1:{port}/",
            f"http:127.0.0.1:{port}/", "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:70/x", "data:text/plain,x",
            f"http://[::1:{port}/", "http://", "http://exa mple.com/", "http://x" + "a" * 9000,
            f"http://127.0.0.1:{port}/\r\nX: y",
        ]  # fmt: skip
        async with shop(workspace) as app:
            attempts = [await tried(app, "fetch", url=url) for url in urls]
            public = f"http://93.184.215.14:{port}/"
            for headers in ({"Host": "127.0.0.1"}, {"X": "a\r\nHost: b"}, {"X\r\nY": "a"}, {"Transfer-Encoding": "chunked"},
                            {"X": "a\nb"}, {"X": "\0"}, {"Proxy-Authorization": "x"}, {"": "x"}, {"a b": "x"}):  # fmt: skip
                attempts.append(await tried(app, "fetch", url=public, headers=headers))
            for path in ("../x", "/etc/x", "a/../../x", "x\0", "", "./../x", "a/b/../../../x", "..", "notes\0/x"):
                attempts.append(await tried(app, "fetch", url=public, save_path=path))
            await check_refused(app, attempts, "sandbox_violation", "invalid_arguments", "schema_validation_failed")
    assert not list((workspace / "downloads").iterdir())


@run_async
async def test_a_listed_host_opens_itself_and_nothing_else(workspace: Path) -> None:
    """`[network] allow` names a host and a port: other ports, other spellings of it, redirects from it, and endless, huge or
    compressed answers get nowhere."""
    with trap() as port, trap() as other:
        settings = workspace / "ferrule.toml"
        settings.write_text(f'{settings.read_text()}\n[network]\nallow = ["127.0.0.1:{port}"]\n')
        async with shop(workspace) as app:
            assert (await tried(app, "fetch", url=f"http://127.0.0.1:{port}/")).result.error is None
            away = [f"http://127.0.0.1:{other}/", f"http://localhost:{other}/", "http://[::1]/", "http://169.254.169.254/latest",
                    "file:///etc/passwd", "//localhost/", "http://0/", "http://a@127.0.0.1/", "gopher://x"]  # fmt: skip
            urls = [f"http://localhost:{port}/", f"http://[::ffff:127.0.0.1]:{port}/", f"http://127.0.0.1:{other}/"]
            urls += [f"http://127.0.0.1:{port}/to-{place.encode().hex()}" for place in away]
            attempts = [await tried(app, "fetch", url=url) for url in urls]
            await check_refused(app, attempts, "sandbox_violation", "invalid_arguments")
            gzip, header, drip = [
                (await tried(app, "fetch", url=f"http://127.0.0.1:{port}/{kind}")).result
                for kind in ("gzip", "header", "drip")
            ]
            assert gzip.error is not None and header.error is not None
            assert drip.error is not None and drip.error.error_class == "timeout"
            endless = (await tried(app, "fetch", url=f"http://127.0.0.1:{port}/endless")).result
            assert endless.error is None and endless.structured_content["truncated"] is True
            assert endless.structured_content["bytes_read"] == 4_096
            saved = await tried(app, "fetch", url=f"http://127.0.0.1:{port}/x", save_path="../ferrule.toml")
            await check_refused(app, [saved], "sandbox_violation")


@run_async
async def test_a_name_that_changes_its_address_is_dialled_where_it_was_judged(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise 9: a name that leads to a public address when it is looked up first, and inside a moment later."""
    dialled: list[str] = []
    answers = iter([["93.184.215.14"], ["127.0.0.1"], ["127.0.0.1"], ["93.184.215.14", "127.0.0.1"]])

    def resolve(host: str, *given: Any, **named: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in next(answers)]

    async def connect(protocol: Any, host: str, *given: Any, **named: Any) -> Any:
        dialled.append(host)
        raise ConnectionRefusedError

    monkeypatch.setattr("ferrule.infra.network.guard.socket.getaddrinfo", resolve)
    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", connect)
    async with shop(workspace) as app:
        first = (await tried(app, "fetch", url="http://rebind.example/")).result
        assert first.error is not None and first.error.error_class == "dependency_unavailable"
        await check_refused(
            app, [await tried(app, "fetch", url="http://rebind.example/") for _ in range(3)], "sandbox_violation"
        )
    assert dialled == ["93.184.215.14"]


def test_the_workspace_is_no_place_to_import_from_without_code_of_its_own(tmp_path: Path) -> None:
    """A file that a tool leaves behind is not found by a library that looks for an optional module."""
    (tmp_path / "ferrule.toml").write_text("")
    before = list(sys.path)

    async def story() -> None:
        async with open_app(tmp_path):
            assert str(tmp_path.resolve()) not in sys.path

    try:
        asyncio.run(story())
    finally:
        sys.path[:] = before


@pytest.mark.parametrize(
    "path", ["/proc/self/environ", "/proc/1/environ", "/proc/self/root/etc/hostname", "/proc/version"]
)
def test_what_processes_hold_is_out_of_reach_of_every_root(tmp_path: Path, path: str) -> None:
    """ADL-24: whoever gives a tool the whole disk does not give it the environment of the process."""
    with expect_refusal("sandbox_violation", "path_protected"):
        run(tmp_path, "read", {"allowed_roots": ["/"]}, file_path=path)
