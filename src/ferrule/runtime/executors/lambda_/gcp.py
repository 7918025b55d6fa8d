"""Functions of Google Cloud: looked up by name, called at their address with an identity token."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.clouds.functions import find_google_function
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import ErrorCode
from ferrule.runtime.executors.identity import CloudIdentity, demand_trusted
from ferrule.runtime.executors.lambda_.function import LambdaSettings
from ferrule.runtime.executors.lambda_.http import FunctionAccess, HttpFunction, HttpFunctions, function_target

_NAME = re.compile(r"projects/([A-Za-z0-9:._-]+)/(?:locations/([a-z0-9-]+)/)?functions/([A-Za-z0-9_-]+)")


class GcpFunction(HttpFunction[str]):
    """One function of Google Cloud, by its resource name."""

    source = "gcp_function"

    def __init__(
        self,
        clouds: Clouds,
        http: HttpFunctions,
        identity: CloudIdentity,
        settings: LambdaSettings,
        tool_id: str,
        codes: Mapping[str, ErrorCode],
    ) -> None:
        """Raises ExecutionFailed (`setup_required`) for an invalid name or address."""
        super().__init__(clouds.gcp, clouds, http, identity, settings, tool_id, codes)
        found = _NAME.fullmatch(settings.function_id)
        if found is None:
            raise ExecutionFailed(
                "setup_required",
                f"{self._what} has to be named like projects/PROJECT/locations/REGION/functions/NAME",
            )
        if settings.url:
            function_target(settings.url, self._what)
        self.host = f"gcp {found[1]} {found[3]}"

    async def _resolve_access(self, context: Context) -> FunctionAccess:
        if not (self._identity.is_account or self._identity.is_own):
            if not self._settings.url:
                raise self._identity.unsupported_scheme("Google Cloud")
            return FunctionAccess(self._settings.url, await self._identity.headers(context))
        account = await self._identity.gcp_account(context)
        url = self._settings.url or await self._place(account)
        self._demand_fit(url)
        token = await self._clouds.gcp.identity_token(account, self._settings.audience or url)
        return FunctionAccess(url, {"Authorization": f"Bearer {token}"})

    def _demand_fit(self, url: str) -> None:
        """Raises ExecutionFailed when a token for another audience would go to a host that the operator has not listed."""
        target, audience = function_target(url, self._what), self._settings.audience
        demand_trusted(self._clouds.client.guard, target, self._what)
        origin = f"{target.scheme}://{target.authority}"
        if audience and audience != url and audience.rstrip("/") != origin:
            demand_trusted(self._clouds.client.guard, target, self._what, ())

    def _describe(self, host: str, access: FunctionAccess) -> str:
        if self._settings.url:
            return f"{host} would be called; the function itself was not asked"
        return f"it is at {host}"

    async def _look_up(self, account: JsonObject | None) -> str:
        clouds = self._clouds
        return await find_google_function(clouds.gcp, clouds.client, clouds.env, self._settings.function_id, account)
