"""ContextForge for the group `serve`: a gateway, installed into an environment of its own where pip can bring it.

It has no functions as tools, so its `add` is a REST tool behind it (`bench/upstream.py`): each call is one more hop. It runs with
its own settings but for its limits of rate, with a token, on SQLite.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from bench.serve_load import NotMeasured

HERE = Path(__file__).parent
PLACE = HERE / "peers" / "contextforge"
PYTHON = PLACE / "bin" / "python"
SCRIPT = HERE / "peers" / "serve_contextforge.py"
NAME = "ContextForge, a REST tool behind it"
_PACKAGE = "mcp-contextforge-gateway>=1.0"
_INSTALL_SECONDS = 900
_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}


def installed(python: str) -> None:
    """Install it, once. Raises NotMeasured."""
    if (PLACE / "bin" / "mcpgateway").exists():
        return
    pip = [str(PYTHON), "-m", "pip", "install", "-qq", "--disable-pip-version-check", _PACKAGE]
    for words in ([python, "-m", "venv", str(PLACE)], pip):
        try:
            ended = subprocess.run(words, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise NotMeasured("its installation takes too long") from None
        if ended.returncode:
            raise NotMeasured(
                f"it cannot be installed: {(ended.stderr.strip().splitlines() or ['no reason given'])[-1]}"
            )


@contextmanager
def upstream() -> Iterator[int]:
    """The system behind its tool; gives the port."""
    words = [sys.executable, "-m", "bench.upstream"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE.parent) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.communicate("")


def token(folder: Path, port: int, behind: int) -> str:
    """A token of an administrator; the tool is made known with it, unless it is already. Raises NotMeasured."""
    words = [str(PYTHON), str(SCRIPT), "token"]
    said = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=True).stdout.strip().splitlines()
    tool = {"name": "add", "url": f"http://127.0.0.1:{behind}/add", "description": "Add two whole numbers.",
            "integration_type": "REST", "request_type": "GET", "input_schema": _SCHEMA}  # fmt: skip
    body = json.dumps({"tool": tool, "team_id": None, "visibility": "public"}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {said[-1]}"}
    try:
        urlopen(Request(f"http://127.0.0.1:{port}/tools", body, headers), timeout=30).close()
    except HTTPError as error:
        if error.code != 409:
            raise NotMeasured(f"its tool cannot be made: HTTP {error.code} {error.read()[:200]!r}") from None
    return said[-1]
