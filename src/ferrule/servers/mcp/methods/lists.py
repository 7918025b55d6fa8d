"""All lists of a caller together: what they are worth comparing by."""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.servers.mcp.exchange import Exchange
from ferrule.servers.mcp.methods.listing import TOOLS, lists_of, tools_of
from ferrule.servers.mcp.methods.prompts import PROMPTS, prompts_of
from ferrule.servers.mcp.methods.resources import RESOURCES, TEMPLATES, resources_of, templates_of
from ferrule.servers.mcp.server import McpServer


def fingerprints(server: McpServer, exchange: Exchange, kinds: Iterable[str]) -> dict[str, bytes]:
    """A fingerprint of each of these lists, as the caller gets them now. Stored results come and go with every call, so the
    list of resources is compared without them."""
    lists = lists_of(server)
    found: dict[str, bytes] = {}
    for kind in kinds:
        match kind:
            case "tools":
                found[kind] = lists.listing(exchange, TOOLS, *tools_of(server, exchange)).fingerprint
            case "prompts":
                found[kind] = lists.listing(exchange, PROMPTS, *prompts_of(server, exchange)).fingerprint
            case "resources":
                declared = lists.listing(exchange, RESOURCES, *resources_of(server, exchange)).fingerprint
                templates = lists.listing(exchange, TEMPLATES, *templates_of(server, exchange)).fingerprint
                found[kind] = declared + templates
    return found
