"""One request to a provider, and what it means when it fails. Nothing of an answer's body is ever told: it may hold tokens."""

from __future__ import annotations

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.network.client import Client, Fetched, Headers
from ferrule.infra.network.failures import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.urls import Target

_SECONDS = 15.0


async def asked(
    client: Client, name: str, method: str, target: Target, headers: Headers, body: bytes, max_bytes: int
) -> Fetched:
    """A provider's answer, whatever its status. Raises ExecutionFailed."""
    accepted = (*headers, ("Accept", "application/json"))
    try:
        return await client.fetch(method, target, accepted, body, max_bytes=max_bytes, timeout_seconds=_SECONDS)
    except Forbidden as error:
        raise ExecutionFailed("policy_blocked", f"[oauth.{name}]: {error}", code="address_forbidden") from None
    except Unreachable as error:
        raise _down(name, f"{error}") from None
    except TimeoutError:
        raise _down(name, f"{target.host} did not answer within {_SECONDS:g} seconds") from None
    except (BrokenAnswer, TooLong, BadRequest) as error:
        raise _down(name, f"{target.host} gave no answer that can be used: {error}") from None


def _down(name: str, why: str) -> ExecutionFailed:
    return ExecutionFailed(
        "dependency_unavailable", f"the provider {name!r} cannot be asked: {why}", code="provider_unavailable"
    )
