"""Our side of the group `serve`: a workspace with `add`, decided by a policy and recorded in a ledger on disk, behind a token."""

from __future__ import annotations

import time
from pathlib import Path

from bench.check import Bench
from bench.serve_load import NotMeasured

_START_SECONDS = 120.0
TOKEN = Path(".ferrule") / "keys" / "agent.token"
_FUNCTIONS = '''
import ferrule

FACTS = {{"read_only": True, "open_world": False, "concurrency_safe": True}}


@ferrule.tool(inline=True, **FACTS)
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


@ferrule.tool(**FACTS)
async def add_async(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


def _again(number):
    def one(a: int, b: int) -> int:
        return a + b

    return ferrule.tool(name=f"add_{{number}}", description="Add two whole numbers.", inline=True, **FACTS)(one)


globals().update({{f"add_{{number}}": _again(number) for number in range({more})}})
'''
_POLICY = '[[rules]]\nid = "yes"\ndecision = "allow"\ntool = "add*"\n'
_SETTINGS = """namespace = "bench"
[functions]
modules = ["functions.py"]
[surface]
defer_above = {tools}
[serve.mcp]
page_size = {tools}
"""


def workspace(folder: Path, tools: int = 2) -> Path:
    """A workspace with so many tools, all listed on one page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "functions.py").write_text(_FUNCTIONS.format(more=tools - 2))
    (folder / "policy.toml").write_text(_POLICY)
    (folder / "ferrule.toml").write_text(_SETTINGS.format(tools=max(tools, 50)))
    return folder


def command(bench: Bench, folder: Path, *options: str) -> list[str]:
    """`ferrule serve`, as anybody starts it."""
    return [bench.ferrule, "serve", "--workspace", str(folder), *options]


def token(folder: Path) -> str:
    """The agents' token, made at the first start. Raises NotMeasured."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if (folder / TOKEN).exists():
            return (folder / TOKEN).read_text().strip()
        time.sleep(0.02)
    raise NotMeasured("it made no token")
