"""A real client that closes its socket: its call is cancelled at once (MCP-71)."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.servers.local_server import WAIT_SECONDS, running_process
from tests.servers.mcp.modern_client import make_body, make_headers, make_meta

TOOLS = '''
import asyncio, pathlib, time
import ferrule

HERE = pathlib.Path(__file__).parent


@ferrule.tool(read_only=True)
async def wait_for_ever(context: ferrule.Context) -> str:
    """Wait."""
    (HERE / "begun").write_text("")
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        (HERE / "cancelled.new").write_text(str(time.time()))
        (HERE / "cancelled.new").rename(HERE / "cancelled")
        raise
    return "never"
'''


def until(file: Path) -> str:
    end = time.monotonic() + WAIT_SECONDS
    while not file.exists():
        assert time.monotonic() < end, f"{file.name} never came"
        time.sleep(0.005)
    return file.read_text()


def test_a_closed_socket_cancels_the_call(tmp_path: Path) -> None:
    """MCP-71: an answer that is JSON and has not begun, too. The time is that of a quiet machine, with room for a busy one."""
    (tmp_path / "ferrule.toml").write_text('[functions]\nmodules = ["tools.py"]\n')
    (tmp_path / "tools.py").write_text(TOOLS)
    with running_process(tmp_path, "--no-auth") as server:
        where = urlsplit(server.url)
        message = json.dumps(make_body("tools/call", {"name": "wait_for_ever", "_meta": make_meta()})).encode()
        said = make_headers("tools/call", "wait_for_ever") | {
            "Host": f"localhost:{where.port}",
            "Content-Type": "application/json",
            "Content-Length": str(len(message)),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        with socket.create_connection((where.hostname or "", where.port or 0), WAIT_SECONDS) as client:
            client.sendall(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + message)
            until(tmp_path / "begun")
            closed = time.time()
        assert float(until(tmp_path / "cancelled")) - closed < 5
