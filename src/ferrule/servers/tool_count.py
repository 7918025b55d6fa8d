"""How many tools are served, in the parts that other commands count alone: `ferrule check` those of definitions, `ferrule list`
also those of other servers. Functions that are tools of their own are known once their modules run."""

from __future__ import annotations

from collections import Counter

from ferrule.app.app import App
from ferrule.infra.lockfile.oxp_tools import SERVER_DIALECT
from ferrule.infra.lockfile.tools import DIALECT as MCP_DIALECT
from ferrule.model.tool import Tool
from ferrule.runtime.surface.filters import is_usable

_SERVERS = "other servers"
_SOURCES = {"python": "functions", MCP_DIALECT: _SERVERS, SERVER_DIALECT: _SERVERS}


def counted(app: App) -> str:
    """The tools of an app: how many, from where, and how many of them nobody can call."""
    tools = [listed.tool for listed in app.catalog.preferred()]
    sources = Counter(map(_source, tools))
    told = f"{len(tools):,} tool{'' if len(tools) == 1 else 's'}"
    if sources.keys() - {"definitions"}:
        told += f" ({', '.join(f'{number:,} from {source}' for source, number in sorted(sources.items()))})"
    idle = sum(not is_usable(tool, app.readiness) for tool in tools)
    return f"{told}, {idle:,} of them not in use" if idle else told


def _source(tool: Tool) -> str:
    return _SOURCES.get(tool.dialect, "definitions")
