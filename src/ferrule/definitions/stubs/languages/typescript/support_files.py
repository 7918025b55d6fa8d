"""The support files: hand-written TypeScript beside this module, copied with a header."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ferrule.definitions.stubs.languages.typescript.parts import SHARED

_CHECKING = """
    alternatives arrays checker definition document equality json numbers objects patternMachine patternTree patterns scalars
    schema
"""
_CALLING = ("answers", "client", "errors", "events", "following", "host")
_TOOLS = ("host", "logger", "settings", "tool")


def support_names(*, is_client: bool, is_served: bool, is_remote: bool) -> list[str]:
    """Which files a plan needs: a client, tools, tools that are served, tools that are done elsewhere."""
    names = {*_CHECKING.split()}
    names.update(_CALLING if is_client else _TOOLS)
    if is_served:
        names.add("mcp")
    if is_remote:
        names.update((*_CALLING, "remote"))
    return sorted(names)


@cache
def support_text(name: str) -> str:
    """One of them."""
    return f"{SHARED}\n{(files(__package__) / 'support' / f'{name}.ts').read_text(encoding='utf-8')}"
