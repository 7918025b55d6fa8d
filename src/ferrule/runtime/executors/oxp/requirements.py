"""What a tool at another server requires, gathered for one call: tokens of its user, secrets, the user's id (OXP-38 to OXP-40).

Only what the definition names is sent. A token that nobody here can get is left out: the server then says where its user has
to go.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.model.requirements import Requirements, read_requirements
from ferrule.model.tool import Tool
from ferrule.runtime.executors.credentialed import demand_authorized
from ferrule.runtime.executors.surroundings import Surroundings


class RequirementContext:
    """The `context` of one tool's calls."""

    def __init__(self, tool: Tool, around: Surroundings) -> None:
        self._name = tool.tool_id
        self._around = around
        self._required = (
            Requirements() if tool.credentials is None else read_requirements(msgspec.json.decode(tool.credentials))
        )

    @property
    def has_values(self) -> bool:
        """True when secrets or tokens are sent."""
        return bool(self._required.secrets or self._required.authorization)

    async def values(self, context: Context) -> dict[str, Any]:
        """What goes with one call; empty for a tool that requires nothing (OXP-37). Raises ExecutionFailed."""
        required = self._required
        if not required.is_anything:
            return {}
        found: dict[str, Any] = {}
        if tokens := await self._tokens(context):
            found["authorization"] = [{"id": name, "token": token} for name, token in tokens.items()]
        if secrets := await self._secrets(context):
            found["secrets"] = [{"id": name, "value": value} for name, value in secrets.items()]
        if required.user_id:
            if not context.principal:
                raise ExecutionFailed(
                    "credential_missing",
                    f"tool {self._name!r} needs the id of a user; call it on somebody's behalf",
                    code="user_id_required",
                )
            found["user_id"] = context.principal
        return found

    async def demand(self, context: Context) -> None:
        """Raises ExecutionFailed when something is not there. No user is sent anywhere."""
        await self._secrets(context)
        demand_authorized(self._name, self._required, self._around.users, context)

    async def _secrets(self, context: Context) -> dict[str, str]:
        bindings, found = self._around.bindings, {}
        for name in sorted(self._required.secrets):
            if name in bindings:
                found[name] = await self._around.vault.secret(bindings[name], context)
            elif name in context.handed:
                found[name] = context.handed[name]
        return found

    async def _tokens(self, context: Context) -> dict[str, str]:
        """The user's tokens: brought with the call, or authorized here. Raises AuthorizationRequired, where that can be done."""
        required, users = self._required.authorization, self._around.users
        found = {name: context.handed[name] for name in required if name in context.handed}
        if users is None:
            return found
        wanted = {
            name: scopes for name, scopes in required.items() if name not in found and self._is_known(name, context)
        }
        return {**found, **await users.tokens(wanted, context.principal, tenant=context.tenant)} if wanted else found

    def _is_known(self, provider: str, context: Context) -> bool:
        """True when users can authorize it here."""
        assert self._around.users is not None
        try:
            self._around.users.problem(provider, context.principal, tenant=context.tenant)
        except ExecutionFailed as failed:
            return failed.code != "provider_unknown"
        return True
