"""Words of pages about tools for the codes that the API returns."""

from __future__ import annotations

from collections.abc import Mapping

from ferrule.model.approval import ADMIN
from ferrule.servers.console.rendering import part
from ferrule.servers.console.view import ConsoleView

CATALOG = "/console/catalog"
DIALECTS = {
    "aml": "AML",
    "adl": "ADL",
    "oxp": "OXP",
    "oxp_server": "OXP server",
    "agent_tool": "Agent Tool",
    "mcp": "MCP",
    "function": "Python",
    "python": "Python",
}
EFFECTS = {
    "reads": "reads",
    "writes": "writes",
    "destroys": "cannot be undone",
    "depends": "depends on its input",
}
RUNS_ON = {
    "": "this process",
    "rest-api": "HTTP",
    "lambda": "cloud function",
    "mcp": "MCP server",
    "oxp": "OXP server",
    "database": "database",
    "message-queue": "queue",
    "human": "a person",
}
ASKS = {"always": "always asks", "depends": "may ask", "never": "none"}
"""Whether calls of a tool wait for a person."""
STATES = {"allow": "ok", "ask": "wait", "depends": "queue", "deny": "deny", "blocked": "off"}
"""The sign of each verdict."""


def oversees(view: ConsoleView) -> bool:
    """Returns True when the reader may see the full catalog: the admin scope, for no single tenant."""
    return view.may(ADMIN) and view.caller.identity.tenant is None


def address_of(tool_id: str) -> str:
    """Returns the address of a tool's page."""
    return f"{CATALOG}/{part(tool_id)}"


def one_line(text: str, most: int = 140) -> str:
    """Returns the beginning of a text on one line."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def first_sentence(text: str) -> str:
    """Returns the first sentence of a text, or as much of it as fits on one line."""
    line = one_line(text, 300)
    end = line.find(". ")
    return one_line(line if end < 0 else line[: end + 1], 110)


def effect_words(effect: str, *, is_inferred: bool) -> str:
    """Returns the effect of a tool in words; a tool that writes may leave open whether that can be undone."""
    return "writes, undo not stated" if effect == "writes" and is_inferred else EFFECTS[effect]


def effect_of(facts: Mapping[str, object]) -> str:
    """Returns the effect of a tool in words, by its facts."""
    if facts["requires_user_interaction"]:
        return "asks a person"
    if isinstance(facts["is_read_only"], str) or isinstance(facts["is_destructive"], str):
        return EFFECTS["depends"]
    return EFFECTS["reads" if facts["is_read_only"] else "destroys" if facts["is_destructive"] else "writes"]
