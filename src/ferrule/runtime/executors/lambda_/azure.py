"""Azure Functions: called at their address with a key or a token, or looked up by their resource path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.clouds.functions import AzureFunction, find_azure_function
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import ErrorCode
from ferrule.runtime.executors.identity import CloudIdentity, demand_trusted
from ferrule.runtime.executors.lambda_.function import LambdaSettings
from ferrule.runtime.executors.lambda_.http import FunctionAccess, HttpFunction, HttpFunctions, function_target

_PATH = re.compile(r"/subscriptions/.+/sites/([^/?#]+)/functions/([^/?#]+)", re.IGNORECASE)
_MEMBER = "function_key"
"""A member of ours in a `service-account` secret: a function's or host's key."""
_HEADER = "x-functions-key"


class AzureCloudFunction(HttpFunction[AzureFunction]):
    """One Azure function, by its address or its resource path."""

    source = "azure_function"

    def __init__(
        self,
        clouds: Clouds,
        http: HttpFunctions,
        identity: CloudIdentity,
        settings: LambdaSettings,
        tool_id: str,
        codes: Mapping[str, ErrorCode],
        learn: Callable[[str, str], None],
    ) -> None:
        """Raises ExecutionFailed (`setup_required`) for an id that is neither an address nor a path."""
        super().__init__(clouds.azure, clouds, http, identity, settings, tool_id, codes)
        self._learn = learn
        self._url = settings.url or (settings.function_id if "://" in settings.function_id else "")
        found = None if self._url else _PATH.fullmatch(settings.function_id)
        if not self._url and found is None:
            raise ExecutionFailed(
                "setup_required",
                f"{self._what} is neither an address nor a path like"
                " /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Web/sites/APP/functions/NAME",
            )
        self.host = f"azure {found[1]} {found[2]}" if found else function_target(self._url, self._what).host

    async def _resolve_access(self, context: Context) -> FunctionAccess:
        if not (self._identity.is_account or self._identity.is_own):
            if not self._url:
                raise self._identity.unsupported_scheme("Azure")
            return FunctionAccess(self._url, await self._identity.headers(context))
        account: JsonObject | None = None
        if self._identity.is_account:
            members = await self._identity.members(context)
            if self._url and members.get(_MEMBER):
                demand_trusted(self._clouds.client.guard, function_target(self._url, self._what), self._what)
                return FunctionAccess(self._url, {_HEADER: str(members[_MEMBER])})
            account = await self._identity.azure_account(context)
        if not self._url:
            place = await self._place(account)
            demand_trusted(self._clouds.client.guard, function_target(place.url, self._what), self._what)
            return FunctionAccess(place.url, {_HEADER: place.key} if place.key else {})
        token = await self._clouds.azure.token(account, f"{self._audience()}/.default")
        return FunctionAccess(self._url, {"Authorization": f"Bearer {token}"})

    def _audience(self) -> str:
        """Returns the audience of the token: the function's own address, or `x-audience`. Raises ExecutionFailed."""
        # A token for another audience only goes to hosts that the operator listed: the receiver could use it there in our
        # name, and Microsoft's own services are audiences as well.
        guard, target = self._clouds.client.guard, function_target(self._url, self._what)
        demand_trusted(guard, target, self._what)
        own, configured = f"https://{target.authority}", self._settings.audience.rstrip("/")
        if configured and configured != own and not guard.lists(target):
            raise ExecutionFailed(
                "setup_required",
                f"x-audience of {self._what} is not its own address; name {target.host} in [network] allow if it may be"
                " shown a token for somebody else",
            )
        return configured or own

    def _describe(self, host: str, access: FunctionAccess) -> str:
        if not access.headers:
            how = "without credentials"
        else:
            how = "with a key" if _HEADER in access.headers else "with a token"
        suffix = "; the function itself was not asked" if self._url else ""
        return f"{host} would be called {how}{suffix}"

    async def _look_up(self, account: JsonObject | None) -> AzureFunction:
        clouds, name = self._clouds, self._settings.function_id
        return await find_azure_function(clouds.azure, clouds.client, clouds.env, name, account, learn=self._learn)
