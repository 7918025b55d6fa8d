"""Fetches the files that `ref` attachments point to. The address comes from an argument, so only listed hosts are asked."""

from __future__ import annotations

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.network.failures import BrokenAnswer, TooLong
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.runtime.executors.rest.attachments import Fetch
from ferrule.runtime.executors.rest.values import refused
from ferrule.runtime.executors.surroundings import Surroundings


class Fetcher:
    """Gets files, without any credentials: from hosts in `[network] allow`, and from the tool's own origin."""

    def __init__(self, surroundings: Surroundings, base: Target) -> None:
        self._client = surroundings.client
        self._base = base
        self.most = surroundings.upstreams.rest.max_attachment_bytes

    def of(self, context: Context) -> Fetch:
        """What fetches for one call."""

        async def fetch(name: str, url: str, most: int) -> bytes:
            try:
                target = parse_url(url)
            except BadUrl as error:
                raise refused(name, f"has a `url` that cannot be used: {error}") from None
            return await self._fetched(name, target, most, context)

        return fetch

    async def _fetched(self, name: str, target: Target, most: int, context: Context) -> bytes:
        is_own = target[:3] == self._base[:3] and not context.is_confined
        try:
            response = await self._client.send("GET", target, [("Accept", "*/*")], listed_only=not is_own)
            if response.status != 200:
                response.close()
                message = (
                    f"the file of the argument {name!r} could not be fetched: {target.host} answered {response.status}"
                )
                raise ExecutionFailed(
                    "invalid_arguments",
                    message,
                    code="attachment_unavailable",
                    native_error_ref=f"file:{response.status}",
                )
            return await response.read(most)
        except Forbidden as error:
            message = f"the file of the argument {name!r} must not be fetched: {error}"
            raise ExecutionFailed("policy_blocked", message, code="address_forbidden") from None
        except TooLong:
            raise refused(name, f"points to a file of more than {most:,} bytes") from None
        except (OSError, BrokenAnswer):
            message = (
                f"the file of the argument {name!r} could not be fetched: {target.host} does not answer as it should"
            )
            raise ExecutionFailed("dependency_unavailable", message, code="attachment_unavailable") from None
