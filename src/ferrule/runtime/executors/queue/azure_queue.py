"""Base of both kinds of Azure queues: their address, our identity there, and the meaning of failing answers."""

from __future__ import annotations

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.api_request import Meaning, reach, status_failure
from ferrule.infra.clouds.azure import Azure
from ferrule.infra.network.client import Fetched, Headers
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.identity import CloudIdentity, demand_trusted
from ferrule.runtime.executors.transport_services import TransportServices
from ferrule.runtime.executors.waits import seconds_left

_ANSWER_BYTES = 16 * 1024**2


def azure_target(written: str, tool_id: str) -> Target:
    """Parses the address of a queue. Raises ExecutionFailed (`setup_required`)."""
    try:
        target = parse_url("https://" + written.removeprefix("sb://") if written.startswith("sb://") else written)
    except BadUrl as error:
        raise ExecutionFailed("setup_required", f"the queue of {tool_id!r} has no usable address: {error}") from None
    if not target.path.strip("/") or "?" in target.path:
        raise ExecutionFailed("setup_required", f"the queue of {tool_id!r} has to be an address that ends in its name")
    return target._replace(path="/" + target.path.strip("/"))


class AzureQueue:
    """One Azure queue, and our identity there."""

    is_repeatable = False
    suffixes: tuple[str, ...]
    """Suffixes of hosts that may receive our tokens and signatures."""
    scope: str
    """The scope of tokens."""
    service: str
    """The service's name in messages."""

    def __init__(
        self,
        services: TransportServices,
        azure: Azure,
        identity: CloudIdentity,
        written: str,
        tool_id: str,
        reply_to: str = "",
    ) -> None:
        self._client = services.client
        self._azure = azure
        self._identity = identity
        self._target = azure_target(written, tool_id)
        self._reply_to = reply_to
        self._now = services.now
        self._learn = services.learn_secret
        self._what = f"the queue of {tool_id!r}"
        self.host = self._target.host

    async def aclose(self) -> None:
        """Closes nothing: the HTTP client is shared."""

    def _listening_context(self) -> Context:
        """Returns a context for requests that belong to no call: receiving replies."""
        return Context("replies", "ferrule", None, "", run_id=f"replies {self._target.url}")

    async def _request(
        self, method: str, url: str, headers: Headers, body: bytes, context: Context, seconds: float | None = None
    ) -> Fetched:
        return await reach(
            self._client,
            self._what,
            method,
            url,
            headers,
            body,
            timeout_seconds=seconds or seconds_left(context, 30.0),
            listed_only=context.is_confined,
            max_bytes=_ANSWER_BYTES,
        )

    async def _shared_key(self, context: Context, name: str, key: str) -> tuple[str, str] | None:
        """Returns name and key of a shared key from the two members of the secret; None when a token is used instead."""
        demand_trusted(self._client.guard, self._target, self._what, self.suffixes)
        if not self._identity.is_account:
            return None
        members = await self._identity.members(context)
        return (str(members[name]), str(members[key])) if members.get(name) and members.get(key) else None

    async def _bearer(self, context: Context) -> str:
        return f"Bearer {await self._azure.token(await self._identity.azure_account(context), self.scope)}"

    def _status_failure(
        self, answer: Fetched, context: Context, *, meaning: Meaning | None = None, reference: str = ""
    ) -> ExecutionFailed:
        message = f"{self._what}: {self.service} answered with status {answer.status}"
        failed = status_failure(message, answer, meaning=meaning, reference=reference)
        return self._identity.forget_if_refused(failed, context, self._azure)


def request_id_of(answer: Fetched) -> JsonObject:
    """Returns Azure's id of the request, for the record."""
    found = answer.headers.get("x-ms-request-id") or answer.headers.get("tracking-id")
    return {"request_id": found} if found else {}
