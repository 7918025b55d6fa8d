"""The table of methods: which there are, in which revisions, and behind which capability."""

from __future__ import annotations

from ferrule.servers.mcp.calling import call_tool
from ferrule.servers.mcp.completion import complete
from ferrule.servers.mcp.discovery import (
    discover,
    has_completions,
    has_prompts,
    has_resources,
    hears_of_resources,
    tells_changes,
)
from ferrule.servers.mcp.listing import list_tools
from ferrule.servers.mcp.prompts import get_prompt, list_prompts
from ferrule.servers.mcp.resources import list_resources, list_templates, read_resource
from ferrule.servers.mcp.server import Method
from ferrule.servers.mcp.session_methods import ping, set_level
from ferrule.servers.mcp.subscriptions import listen, subscribe, unsubscribe
from ferrule.servers.mcp.task_methods import cancel_task, get_task, update_task

METHODS: dict[str, Method] = {
    "server/discover": Method(discover, is_sessioned=False),
    "ping": Method(ping, is_modern=False),
    "logging/setLevel": Method(set_level, is_modern=False),
    "tools/list": Method(list_tools),
    "tools/call": Method(call_tool),
    "resources/list": Method(list_resources, is_declared=has_resources),
    "resources/templates/list": Method(list_templates, is_declared=has_resources),
    "resources/read": Method(read_resource, is_declared=has_resources),
    "resources/subscribe": Method(subscribe, is_modern=False, is_declared=hears_of_resources),
    "resources/unsubscribe": Method(unsubscribe, is_modern=False, is_declared=hears_of_resources),
    "prompts/list": Method(list_prompts, is_declared=has_prompts),
    "prompts/get": Method(get_prompt, is_declared=has_prompts),
    "completion/complete": Method(complete, is_declared=has_completions),
    "subscriptions/listen": Method(listen, is_sessioned=False, is_declared=tells_changes),
    "tasks/get": Method(get_task, is_sessioned=False),
    "tasks/update": Method(update_task, is_sessioned=False),
    "tasks/cancel": Method(cancel_task, is_sessioned=False),
}
