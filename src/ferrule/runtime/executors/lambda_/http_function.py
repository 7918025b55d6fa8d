"""What functions of Azure and Google Cloud have in common: they are found, shown who we are, and posted to. How each is found
and what it is shown, its own file knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.clouds.kept import Fresh, Kept
from ferrule.runtime.executors.definition import ErrorCode
from ferrule.runtime.executors.identity import Cloud, Identity
from ferrule.runtime.executors.lambda_.function import Answer
from ferrule.runtime.executors.lambda_.http import HttpFunctions
from ferrule.runtime.executors.lambda_.payloads import Payload
from ferrule.runtime.executors.lambda_.settings import LambdaSettings

T = TypeVar("T")
_KEEP_SECONDS = 300.0


class Reached(NamedTuple):
    """Where a function is, and what is shown there."""

    url: str
    headers: Mapping[str, str]


class HttpFunction(ABC, Generic[T]):
    """One function that listens for HTTP. `T` is what looking it up gives."""

    source: str
    """What its native ids are from."""

    def __init__(
        self,
        cloud: Cloud,
        clouds: Clouds,
        http: HttpFunctions,
        identity: Identity,
        settings: LambdaSettings,
        tool_id: str,
        codes: Mapping[str, ErrorCode],
    ) -> None:
        self._cloud = cloud
        self._clouds = clouds
        self._http = http
        self._identity = identity
        self._settings = settings
        self._codes = codes
        self._what = f"the function of {tool_id!r}"
        self._kept: Kept[T] = Kept()

    async def invoke(self, payload: Payload, context: Context) -> Answer:
        """POST, with what proves who we are."""
        try:
            url, headers = await self._reached(context)
            return await self._http.post(
                self._what, self.source, url, headers, payload, context,
                is_event=self._settings.is_event, codes=self._codes,
            )  # fmt: skip
        except ExecutionFailed as failed:
            raise self._told(failed, context) from None

    async def probe(self, context: Context) -> str:
        """Look it up, get what is shown to it, and connect. Nothing is sent."""
        try:
            reached = await self._reached(context)
            host = await self._http.knock(reached.url, self._what, context)
        except ExecutionFailed as failed:
            raise self._told(failed, context) from None
        return self._found(host, reached)

    @abstractmethod
    async def _reached(self, context: Context) -> Reached:
        """Where it is, and what is shown there. Raises ExecutionFailed."""

    @abstractmethod
    def _found(self, host: str, reached: Reached) -> str:
        """What a probe tells."""

    @abstractmethod
    async def _looked_up(self, account: dict[str, Any] | None) -> T:
        """Where the cloud says it is. Raises ExecutionFailed."""

    async def _place(self, account: dict[str, Any] | None) -> T:
        """The same, kept for a while."""

        async def look() -> Fresh[T]:
            return Fresh(await self._looked_up(account), _KEEP_SECONDS)

        return await self._kept.get("place", look)

    def _told(self, failed: ExecutionFailed, context: Context) -> ExecutionFailed:
        """A function that was not found may have moved; one that refused may have another key."""
        if failed.code == "credential_refused" or failed.native_error_ref == "http:404":
            self._kept.forget(lambda key: True)
        return self._identity.told(failed, context, self._cloud)
