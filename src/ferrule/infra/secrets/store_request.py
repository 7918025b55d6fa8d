"""Asks a cloud's store for one secret, and translates refusals and failures: whether to retry, and the message.

The sources for AWS, Azure and Google Cloud share it. It knows no store's wire format.
"""

from __future__ import annotations

from collections.abc import Awaitable

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.clouds.api_request import bearer_headers, reach, read_json_object, status_failure
from ferrule.infra.clouds.tokens import TokenCloud
from ferrule.infra.network.client import Client
from ferrule.model.failure import ErrorClass
from ferrule.model.value import JsonObject

TIMEOUT_SECONDS = 10.0
"""How long a store may take."""
_PASSING: frozenset[ErrorClass] = frozenset({"dependency_unavailable", "rate_limited", "timeout"})
"""A retry may help."""
_OURS: frozenset[ErrorClass] = frozenset({"setup_required", "policy_blocked"})
"""Not the secret's fault: passed on unchanged."""


def translate_failure(label: str, failure: ExecutionFailed) -> Exception:
    """Returns the exception to raise when a store failed."""
    if failure.error_class in _OURS:
        return failure
    return SecretUnavailable(
        f"the secret {label!r} cannot be had: {failure.message}",
        is_final=failure.error_class not in _PASSING,
        reference=failure.native_error_ref,
        retry_after=failure.retry_after,
    )


async def ask_store(
    client: Client, cloud: TokenCloud, store: str, url: str, token: Awaitable[str], label: str
) -> JsonObject:
    """Returns a store's answer about a secret. Raises SecretUnavailable; ExecutionFailed for anything that is not the
    secret's fault."""
    try:
        headers = bearer_headers(await token)
        fetched = await reach(client, store, "GET", url, headers, timeout_seconds=TIMEOUT_SECONDS)
    except ExecutionFailed as failure:
        raise translate_failure(label, failure) from None
    said = read_json_object(fetched.body)
    if fetched.status == 200:
        return said
    if fetched.status == 401:
        cloud.forget()
    answered = status_failure(f"{store} answered {fetched.status}{_read_reason(said)}", fetched)
    raise translate_failure(label, answered)


def _read_reason(said: JsonObject) -> str:
    """Returns the store's own word for a status, where it has one."""
    error = said.get("error")
    word = error.get("status") if isinstance(error, dict) else None
    return f" {word}" if isinstance(word, str) and word.isascii() and word.replace("_", "").isalpha() else ""
