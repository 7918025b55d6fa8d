"""The table of methods: which there are, in which revisions, and behind which capability. What a client's first questions do not
need is loaded when it is first asked for."""

from __future__ import annotations

from ferrule.registry import late
from ferrule.servers.mcp.discovery import (
    discover,
    has_completions,
    has_prompts,
    has_resources,
    hears_of_resources,
    tells_changes,
)
from ferrule.servers.mcp.listing import list_tools
from ferrule.servers.mcp.server import Method

METHODS: dict[str, Method] = {
    "server/discover": Method(discover, is_sessioned=False),
    "ping": Method(late("ferrule.servers.mcp.session_methods:ping"), is_modern=False),
    "logging/setLevel": Method(late("ferrule.servers.mcp.session_methods:set_level"), is_modern=False),
    "tools/list": Method(list_tools),
    "tools/call": Method(late("ferrule.servers.mcp.calling:call_tool")),
    "resources/list": Method(late("ferrule.servers.mcp.resources:list_resources"), is_declared=has_resources),
    "resources/templates/list": Method(late("ferrule.servers.mcp.resources:list_templates"), is_declared=has_resources),
    "resources/read": Method(late("ferrule.servers.mcp.resources:read_resource"), is_declared=has_resources),
    "resources/subscribe": Method(
        late("ferrule.servers.mcp.subscriptions:subscribe"), is_modern=False, is_declared=hears_of_resources
    ),
    "resources/unsubscribe": Method(
        late("ferrule.servers.mcp.subscriptions:unsubscribe"), is_modern=False, is_declared=hears_of_resources
    ),
    "prompts/list": Method(late("ferrule.servers.mcp.prompts:list_prompts"), is_declared=has_prompts),
    "prompts/get": Method(late("ferrule.servers.mcp.prompts:get_prompt"), is_declared=has_prompts),
    "completion/complete": Method(late("ferrule.servers.mcp.completion:complete"), is_declared=has_completions),
    "subscriptions/listen": Method(
        late("ferrule.servers.mcp.subscriptions:listen"), is_sessioned=False, is_declared=tells_changes
    ),
    "tasks/get": Method(late("ferrule.servers.mcp.task_methods:get_task"), is_sessioned=False),
    "tasks/update": Method(late("ferrule.servers.mcp.task_methods:update_task"), is_sessioned=False),
    "tasks/cancel": Method(late("ferrule.servers.mcp.task_methods:cancel_task"), is_sessioned=False),
}
