"""The check of settings that are valid and would still deny every call, for `ferrule check`."""

from __future__ import annotations

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.oxp_tools import check_oxp_server
from ferrule.infra.lockfile.tools import check_server
from ferrule.model.credentials import BadCredentials, read_credentials
from ferrule.runtime.hooks.builtin import check_hooks
from ferrule.runtime.hooks.guardrail_set import check_guardrails
from ferrule.runtime.redaction.redactor import KnownSecrets
from ferrule.settings import FILE_NAME
from ferrule.workspace.workspace import Workspace


def refuse_unusable(workspace: Workspace) -> None:
    """Raises SettingsError for hooks, guardrails, patterns and MCP servers that could never work.

    Nothing of the workspace is run."""
    settings = workspace.settings
    try:
        check_hooks(settings.hooks)
        check_guardrails(settings.guardrails)
        KnownSecrets(settings.redaction, {})
        for server_id, server in settings.mcp.servers.items():
            check_server(server_id, server)
            read_credentials(server.credentials)
        for server_id, tool_server in settings.oxp.servers.items():
            check_oxp_server(server_id, tool_server)
        named = [(f"the hook {hook.id!r}", hook.function) for hook in settings.hooks]
        named += [(f"the guardrail {guardrail.id!r}", guardrail.function) for guardrail in settings.guardrails]
        for name, function in named:
            file = function.rpartition(":")[0]
            if file.endswith(".py") and not (workspace.root / file).is_file():
                raise SettingsError(f"{name}: there is no file {file!r} in the workspace; mend its `function`")
    except BadCredentials as error:
        raise SettingsError(f"{workspace.root / FILE_NAME}: [mcp.servers.{server_id}] credentials: {error}") from None
    except SettingsError as error:
        raise SettingsError(f"{workspace.root / FILE_NAME}: {error}") from None
