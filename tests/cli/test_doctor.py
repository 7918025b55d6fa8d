"""`ferrule doctor` on a workspace where nearly everything is broken, each tool in a way of its own."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ferrule.cli.init import write_workspace
from tests.cli.mail import COUNT, FUNCTIONS
from tests.cli.run import Ran, ferrule
from tests.contracts.transports.fake_upstream import aml
from tests.runtime.executors.database.real_databases import mariadb, postgres, tool
from tests.runtime.executors.mcp.servers import HttpServer, Notes

CANARY = "canary-3b1f77d0"
SECRETS = {"BLANK": "two\nlines", "GIVEN": CANARY, "NOT_JSON": CANARY}
_BLOCKED = "import sys; sys.modules['snowflake'] = None; from ferrule.cli import main; sys.exit(main())"


def _rest(tool_id: str, url: str, credentials: str = "{scheme: none}") -> str:
    lines = ("  type: rest-api", f'  base_url: "{url}"', "  endpoint: GET /x", f"  credentials: {credentials}")
    return aml(tool_id, "\n".join(lines))


def _mcp(tool_id: str, url: str, name: str) -> str:
    lines = ("  type: mcp", f'  url: "{url}"', f"  tool_name: {name}", "  credentials: {scheme: none}")
    return aml(tool_id, "\n".join(lines))


def _oxp(name: str) -> str:
    return json.dumps({**COUNT, "id": f"Mail.{name}@1.0.0", "name": f"Mail_{name}"})


def _written(folder: Path, files: dict[str, str], settings: str = "") -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "ferrule.toml").write_text(
        f'namespace = "test"\n[network]\nallow = ["127.0.0.1"]\n{settings}', encoding="utf-8"
    )
    return folder


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def http_port() -> Iterator[int]:
    """A web server of plain HTTP that knows one path."""
    code = (
        "import http.server\n"
        "class H(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(401 if self.headers.get('Authorization') else 200)\n"
        "        self.send_header('Content-Length', '0')\n"
        "        self.end_headers()\n"
        "    do_HEAD = do_GET\n"
        "    def log_message(self, *a): pass\n"
        "s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)\n"
        "print(s.server_port, flush=True)\n"
        "s.serve_forever()\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        yield int(child.stdout.readline())
    finally:
        child.kill()
        child.wait(timeout=10)
        child.stdout.close()


@pytest.fixture
def mcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A real MCP server."""
    server = HttpServer("official", Notes(tmp_path_factory.mktemp("mcp")))
    try:
        yield server
    finally:
        server.close()


def _doctor(folder: Path, *options: str, environment: dict[str, str] | None = None) -> Ran:
    """Run it where the driver of Snowflake is not installed."""
    finished = subprocess.run(
        [sys.executable, "-c", _BLOCKED, "doctor", *options],
        cwd=folder,
        env={**os.environ, "PYTHONUTF8": "1", **SECRETS, **(environment or {})},
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ran(finished.returncode, finished.stdout.decode(), finished.stderr.decode())


def test_each_broken_tool_tells_its_cause_in_one_line(tmp_path: Path, http_port: int, mcp: HttpServer) -> None:
    here = f"http://127.0.0.1:{http_port}"
    bearer = "{{scheme: bearer-token, source: env, name: {}}}"

    async def story() -> None:
        async with postgres() as orders, mariadb() as stock:
            wrong = {**stock.members, "password": f"{CANARY}-wrong"}
            place: dict[str, Any] = {"scheme": "service-account", "source": "env"}
            files = {
                "tools/unset.tool.md": _rest("unset", here, bearer.format("NOT_SET_ANYWHERE")),
                "tools/blank.tool.md": _rest("blank", here, bearer.format("BLANK")),
                "tools/refused.tool.md": _rest("refused", here, bearer.format("GIVEN")),
                "tools/nowhere.tool.md": _rest("nowhere", "https://no-such-host.invalid"),
                "tools/private.tool.md": _rest("private", "https://10.255.255.1"),
                "tools/gone.tool.md": _rest("gone", f"http://127.0.0.1:{_free_port()}"),
                "tools/plain.tool.md": _rest("plain", f"https://127.0.0.1:{http_port}"),
                "tools/fine.tool.md": _rest("fine", here),
                "tools/locked.tool.md": tool(
                    "locked", "SELECT 1 AS a", engine="mysql", credentials={**place, "name": "WRONG_DB"}
                ),
                "tools/shapeless.tool.md": tool(
                    "shapeless", "SELECT 1 AS a", credentials={**place, "name": "NOT_JSON"}
                ),
                "tools/table.tool.md": tool(
                    "table", "SELECT * FROM no_such_table", credentials={**place, "name": "DB"}
                ),
                "tools/rows.tool.md": tool("rows", "SELECT 1 AS a", credentials={**place, "name": "DB"}),
                "tools/driver.tool.md": tool(
                    "driver", "SELECT 1 AS a", engine="snowflake", credentials={**place, "name": "SNOW"}
                ),
                "tools/echo.tool.md": _mcp("echo", mcp.url("/mcp"), "echo"),
                "tools/absent.tool.md": _mcp("absent", mcp.url("/mcp"), "no_such_tool"),
                "tools/unbound.json": _oxp("Unbound"),
                "tools/count.json": _oxp("Count"),
                "tools/mistake.tool.md": _rest("mistake", here).replace("version: 1.0.0", "version: one"),
                "functions.py": FUNCTIONS,
            }
            settings = '[functions]\nmodules = ["functions.py"]\n[oauth.acme]\nclient_id = "c"\n'
            settings += 'authorization_url = "https://id.example.com/a"\ntoken_url = "https://id.example.com/t"\n'
            _written(tmp_path, files, settings)
            snow = {
                "account": "a",
                "username": "u",
                "password": CANARY,
                "database": "d",
                "warehouse": "w",
                "schema": "s",
            }
            environment = {name: json.dumps(value) for name, value in
                           (("WRONG_DB", wrong), ("DB", orders.members), ("SNOW", snow))}  # fmt: skip
            ran = await asyncio.to_thread(_doctor, tmp_path, environment=environment)
            _judge(ran)
            told = json.loads((await asyncio.to_thread(_doctor, tmp_path, "--json", environment=environment)).out)
            assert told["summary"]["tools"] == 18 and told["summary"]["works"] == 3

    asyncio.run(story())


CAUSES = {
    "unset": ("✗", "NOT_SET_ANYWHERE", "not set"),
    "blank": ("✗", "BLANK", "header"),
    "refused": ("✗", "GIVEN", "401"),
    "nowhere": ("✗", "no-such-host.invalid", "address"),
    "private": ("✗", "10.255.255.1", "[network] allow"),
    "gone": ("✗", "127.0.0.1", "reached"),
    "plain": ("✗", "127.0.0.1", "TLS"),
    "fine": ("✓", "127.0.0.1", "answers"),
    "locked": ("✗", "WRONG_DB", "accept"),
    "shapeless": ("✗", "NOT_JSON", "JSON object"),
    "table": ("✗", "no_such_table"),
    "rows": ("✓", "127.0.0.1"),
    "driver": ("✗", "pip install", "ferrule[snowflake]"),
    "echo": ("✓",),
    "absent": ("✗", "no_such_tool"),
    "Mail.Unbound": ("✗", "no function is bound", "@ferrule.tool('Mail.Unbound')"),
    "Mail.Count": ("✗", "acme", "ferrule connect acme"),
    "mistake": ("✗", "AML-", "tools/mistake.tool.md", "ferrule check"),
}


def _judge(ran: Ran) -> None:
    assert ran.code == 1, ran.err
    assert CANARY not in ran.out + ran.err
    lines = {line.split()[1]: line for line in ran.out.splitlines()}
    assert len(ran.out.splitlines()) == len(lines)
    wrong = {
        name: lines.get(name)
        for name, words in CAUSES.items()
        if not all(word in lines.get(name, "") for word in words)
    }
    assert not wrong, ran.out
    assert "18 tools, 15 broken" in ran.out
    assert ran.err == ""


def test_a_workspace_that_works_says_so(tmp_path: Path, http_port: int) -> None:
    folder = _written(tmp_path, {"tools/fine.tool.md": _rest("fine", f"http://127.0.0.1:{http_port}")})
    ran = _doctor(folder)
    assert ran.code == 0 and ran.out.endswith("1 tool, none broken\n"), ran.out + ran.err
    assert not (folder / ".ferrule").exists()


def test_only_named_tools_are_told(tmp_path: Path, http_port: int) -> None:
    here = f"http://127.0.0.1:{http_port}"
    files = {
        "tools/fine.tool.md": _rest("fine", here),
        "tools/other.tool.md": _rest("other", "https://no-such-host.invalid"),
    }
    folder = _written(tmp_path, files)
    assert _doctor(folder, "--tool", "fine").code == 0
    both = json.loads(_doctor(folder, "--json", "--tool", "fine", "--tool", "other").out)
    assert [(one["name"], one["health"], one["code"]) for one in both["tools"]] == [
        ("fine", "works", ""),
        ("other", "broken", both["tools"][1]["code"]),
    ]
    assert both["workspace"] == [] and both["tools"][1]["code"]
    unknown = _doctor(folder, "--tool", "fin")
    assert unknown.code == 2 and "no tool 'fin'" in unknown.err


def test_roles_that_grants_and_keys_name_in_vain_are_told_once(tmp_path: Path) -> None:
    write_workspace(tmp_path / "shop")
    settings = tmp_path / "shop" / "ferrule.toml"
    granted = [("a", "support-rol"), ("b", "support-rol"), ("c", "support-role")]
    grants = "".join(f'\n[[serve.grants]]\ngroup = "{group}"\nrole = "{role}"\n' for group, role in granted)
    settings.write_text(settings.read_text() + grants)
    assert ferrule("key", "add", "bot", "--role", "support-rol", folder=tmp_path / "shop").code == 0
    (told,) = [line for line in ferrule("doctor", folder=tmp_path / "shop").out.split("\n") if "no role" in line]
    assert "no role 'support-rol' in the catalog, and [[serve.grants]] and the key " in told
    assert told.endswith("of bot name it: whoever comes by that is refused; did you mean 'support-role'? it has the roles"
                         " support-role")  # fmt: skip


def test_a_workspace_that_binds_nobody_is_told_nothing_of_roles(tmp_path: Path) -> None:
    write_workspace(tmp_path / "shop")
    assert "grants" not in ferrule("doctor", folder=tmp_path / "shop").out


def test_a_name_in_cache_tools_that_no_tool_has_is_told(tmp_path: Path) -> None:
    write_workspace(tmp_path / "shop")
    settings = tmp_path / "shop" / "ferrule.toml"
    settings.write_text(f"{settings.read_text()}\n[cache]\ntools = {{ find-custmer = 60, send-reply = 0 }}\n")
    told = ferrule("doctor", folder=tmp_path / "shop").out
    assert "[cache] tools names 'find-custmer', and there is no such tool; did you mean 'find-customer'?" in told
    assert "'send-reply', and" not in told
