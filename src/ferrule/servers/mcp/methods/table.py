"""The table of methods: their names, revisions and capabilities. Those that a client's first requests do not need are
imported on first use."""

from __future__ import annotations

from ferrule.contracts.registry import late
from ferrule.servers.mcp.methods.discovery import (
    discover,
    has_completions,
    has_prompts,
    has_resources,
    tells_changes,
    tells_resource_changes,
)
from ferrule.servers.mcp.methods.listing import list_tools
from ferrule.servers.mcp.methods.tools_call import call_tool
from ferrule.servers.mcp.server import Method

METHODS: dict[str, Method] = {
    "server/discover": Method(discover, is_sessioned=False),
    "ping": Method(late("ferrule.servers.mcp.methods.session_methods:ping"), is_modern=False),
    "logging/setLevel": Method(late("ferrule.servers.mcp.methods.session_methods:set_level"), is_modern=False),
    "tools/list": Method(list_tools),
    "tools/call": Method(call_tool),
    "resources/list": Method(late("ferrule.servers.mcp.methods.resources:list_resources"), is_declared=has_resources),
    "resources/templates/list": Method(
        late("ferrule.servers.mcp.methods.resources:list_templates"), is_declared=has_resources
    ),
    "resources/read": Method(late("ferrule.servers.mcp.methods.resources:read_resource"), is_declared=has_resources),
    "resources/subscribe": Method(
        late("ferrule.servers.mcp.methods.subscriptions:subscribe"), is_modern=False, is_declared=tells_resource_changes
    ),
    "resources/unsubscribe": Method(
        late("ferrule.servers.mcp.methods.subscriptions:unsubscribe"),
        is_modern=False,
        is_declared=tells_resource_changes,
    ),
    "prompts/list": Method(late("ferrule.servers.mcp.methods.prompts:list_prompts"), is_declared=has_prompts),
    "prompts/get": Method(late("ferrule.servers.mcp.methods.prompts:get_prompt"), is_declared=has_prompts),
    "completion/complete": Method(late("ferrule.servers.mcp.methods.completion:complete"), is_declared=has_completions),
    "subscriptions/listen": Method(
        late("ferrule.servers.mcp.methods.subscriptions:listen"), is_sessioned=False, is_declared=tells_changes
    ),
    "tasks/get": Method(late("ferrule.servers.mcp.tasks.methods:get_task"), is_sessioned=False),
    "tasks/update": Method(late("ferrule.servers.mcp.tasks.methods:update_task"), is_sessioned=False),
    "tasks/cancel": Method(late("ferrule.servers.mcp.tasks.methods:cancel_task"), is_sessioned=False),
}
