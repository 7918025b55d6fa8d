"""Functions of Google Cloud: looked up by name, called at their address with an identity token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.clouds.functions import google_function_url
from ferrule.runtime.executors.definition import ErrorCode
from ferrule.runtime.executors.identity import Identity, demand_trusted
from ferrule.runtime.executors.lambda_.function import LambdaSettings
from ferrule.runtime.executors.lambda_.http import HttpFunction, HttpFunctions, Reached, function_target

_NAME = re.compile(r"projects/([A-Za-z0-9:._-]+)/(?:locations/([a-z0-9-]+)/)?functions/([A-Za-z0-9_-]+)")


class GcpFunction(HttpFunction[str]):
    """One function, by its resource name."""

    source = "gcp_function"

    def __init__(
        self,
        clouds: Clouds,
        http: HttpFunctions,
        identity: Identity,
        settings: LambdaSettings,
        tool_id: str,
        codes: Mapping[str, ErrorCode],
    ) -> None:
        """Raises ExecutionFailed (`setup_required`) for a name or an address that is none."""
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

    async def _reached(self, context: Context) -> Reached:
        if not (self._identity.is_account or self._identity.is_own):
            if not self._settings.url:
                raise self._identity.unfit("Google Cloud")
            return Reached(self._settings.url, await self._identity.headers(context))
        account = await self._identity.gcp_account(context)
        url = self._settings.url or await self._place(account)
        self._demand_fit(url)
        token = await self._clouds.gcp.identity_token(account, self._settings.audience or url)
        return Reached(url, {"Authorization": f"Bearer {token}"})

    def _demand_fit(self, url: str) -> None:
        """A token for another audience is shown only to hosts that the operator named: others could use it there."""
        target, audience = function_target(url, self._what), self._settings.audience
        demand_trusted(self._clouds.client.guard, target, self._what)
        origin = f"{target.scheme}://{target.authority}"
        if audience and audience != url and audience.rstrip("/") != origin:
            demand_trusted(self._clouds.client.guard, target, self._what, ())

    def _found(self, host: str, reached: Reached) -> str:
        if self._settings.url:
            return f"{host} would be called; the function itself was not asked"
        return f"it is at {host}"

    async def _looked_up(self, account: dict[str, Any] | None) -> str:
        clouds = self._clouds
        return await google_function_url(clouds.gcp, clouds.client, clouds.env, self._settings.function_id, account)
