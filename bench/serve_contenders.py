"""Who serves `add` in the group `serve`, and how each of them is started and spoken to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import serve_contextforge, serve_ours
from bench.check import WORK, Bench

HERE = Path(__file__).parent
FOLDER = WORK / "serve"
OURS, OURS_SESSION = "ferrule, without sessions", "ferrule, in a session"
OURS_ASYNC = "ferrule, without sessions, an async function"
SDK, SDK_MODERN = "SDK low-level server, stateless, JSON answers", "SDK low-level server, 2026-07-28"
FLOOR, FLOOR_STDIO = "bare ASGI on uvicorn, a fixed body", "bare loop over lines"
SDK_STDIO = "SDK low-level server"
ARCADE = "Bench_Add"
"""What Arcade calls the tool."""


class Contender(NamedTuple):
    """Somebody who serves over HTTP."""

    start: Callable[[Bench, int], Sequence[str]]
    """The command, given a port."""
    era: str = "plain"
    """`modern` (2026-07-28), `session` (2025-11-25, after initialize) or `plain` (2025-11-25, without a session)."""
    token: Callable[[int], str] | None = None
    """What it lets callers in with, once it listens on a port."""
    path: str = "/mcp"
    tool: str = "add"


class Piped(NamedTuple):
    """Somebody who serves over standard streams."""

    start: Callable[[Bench], Sequence[str]]
    era: str = "session"
    tool: str = "add"


def peer(script: str, mode: str, *more: str) -> Callable[[Bench, int], Sequence[str]]:
    """A program of the peers' environment."""
    return lambda bench, port: [bench.peers, str(HERE / "peers" / f"serve_{script}.py"), mode, str(port), *more]


def ours(name: str, *options: str) -> Callable[[Bench, int], Sequence[str]]:
    """`ferrule serve` of one of our workspaces."""
    return lambda bench, port: serve_ours.command(bench, FOLDER / name, "--port", str(port), *options)


def token(name: str) -> Callable[[int], str]:
    """The agents' token of one of our workspaces."""
    return lambda port: serve_ours.token(FOLDER / name)


HTTP: dict[str, Contender] = {
    OURS: Contender(ours("one"), "modern", token("one")),
    OURS_SESSION: Contender(ours("one"), "session", token("one")),
    OURS_ASYNC: Contender(ours("one"), "modern", token("one"), tool="add_async"),
    SDK: Contender(peer("mcp", "http")),
    SDK_MODERN: Contender(peer("mcp", "http"), "modern"),
    "FastMCP, stateful": Contender(peer("fastmcp", "stateful"), "session"),
    "FastMCP, stateless": Contender(peer("fastmcp", "stateless")),
    "FastMCP, 2026-07-28": Contender(peer("fastmcp", "stateless"), "modern"),
    "Arcade, in a session": Contender(peer("arcade", "http"), "session", tool=ARCADE),
    FLOOR: Contender(peer("floor", "http")),
}
STDIO: dict[str, Piped] = {
    OURS: Piped(lambda bench: serve_ours.command(bench, FOLDER / "one", "--stdio"), "modern"),
    OURS_SESSION: Piped(lambda bench: serve_ours.command(bench, FOLDER / "one", "--stdio")),
    OURS_ASYNC: Piped(lambda bench: serve_ours.command(bench, FOLDER / "one", "--stdio"), "modern", "add_async"),
    SDK_STDIO: Piped(lambda bench: peer("mcp", "stdio")(bench, 0)),
    "FastMCP": Piped(lambda bench: peer("fastmcp", "stdio")(bench, 0)),
    "Arcade": Piped(lambda bench: peer("arcade", "stdio")(bench, 0), tool=ARCADE),
    FLOOR_STDIO: Piped(lambda bench: [bench.peers, str(HERE / "peers" / "serve_floor_stdio.py")]),
}


def gateway(behind: int) -> Contender:
    """ContextForge, with the system behind its tool on a port."""
    return Contender(
        lambda bench, port: [str(serve_contextforge.PYTHON), str(serve_contextforge.SCRIPT), str(port)],
        token=lambda port: serve_contextforge.token(FOLDER, port, behind),
        path="/mcp/",
    )
