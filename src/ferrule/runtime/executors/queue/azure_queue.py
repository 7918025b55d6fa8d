"""What both kinds of Azure queues have in common: an address, who we are there, and what a refusal means."""

from __future__ import annotations

from typing import Any

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.api_request import Meaning, reach, status_failure
from ferrule.infra.clouds.azure import Azure
from ferrule.infra.network.client import Fetched, Headers
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.runtime.executors.identity import Identity, demand_trusted
from ferrule.runtime.executors.surroundings import Surroundings
from ferrule.runtime.executors.waits import seconds_left

_ANSWER_BYTES = 16 * 1024**2


def azure_target(written: str, tool_id: str) -> Target:
    """Where a queue is. Raises ExecutionFailed (`setup_required`)."""
    try:
        target = parse_url("https://" + written.removeprefix("sb://") if written.startswith("sb://") else written)
    except BadUrl as error:
        raise ExecutionFailed("setup_required", f"the queue of {tool_id!r} has no usable address: {error}") from None
    if not target.path.strip("/") or "?" in target.path:
        raise ExecutionFailed("setup_required", f"the queue of {tool_id!r} has to be an address that ends in its name")
    return target._replace(path="/" + target.path.strip("/"))


class AzureQueue:
    """One queue, and who we are there."""

    is_repeatable = False
    suffixes: tuple[str, ...]
    """Hosts that may be shown what we prove ourselves with."""
    scope: str
    """What tokens are for."""
    service: str
    """What answers, for messages."""

    def __init__(
        self, around: Surroundings, azure: Azure, identity: Identity, written: str, tool_id: str, reply_to: str = ""
    ) -> None:
        self._client = around.client
        self._azure = azure
        self._identity = identity
        self._target = azure_target(written, tool_id)
        self._reply_to = reply_to
        self._now = around.now
        self._learn = around.learn
        self._what = f"the queue of {tool_id!r}"
        self.host = self._target.host

    async def aclose(self) -> None:
        """Nothing is held."""

    def _listening(self) -> Context:
        """For requests that belong to no call: those for replies."""
        return Context("replies", "ferrule", None, "", run_id=f"replies {self._target.url}")

    async def _reached(
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
        """The key in the secret, by the members that hold its name and itself; None when it is a token that is wanted."""
        demand_trusted(self._client.guard, self._target, self._what, self.suffixes)
        if not self._identity.is_account:
            return None
        members = await self._identity.members(context)
        return (str(members[name]), str(members[key])) if members.get(name) and members.get(key) else None

    async def _bearer(self, context: Context) -> str:
        return f"Bearer {await self._azure.token(await self._identity.azure_account(context), self.scope)}"

    def _failed(
        self, answer: Fetched, context: Context, *, meaning: Meaning | None = None, reference: str = ""
    ) -> ExecutionFailed:
        message = f"{self._what}: {self.service} answered with status {answer.status}"
        failed = status_failure(message, answer, meaning=meaning, reference=reference)
        return self._identity.told(failed, context, self._azure)


def tracked(answer: Fetched) -> dict[str, Any]:
    """What Azure calls this very request."""
    found = answer.headers.get("x-ms-request-id") or answer.headers.get("tracking-id")
    return {"request_id": found} if found else {}
