"""The contract of a source of secret values. A source fetches one secret; the vault caches, selects members and
redacts."""

from __future__ import annotations

from typing import Protocol

from ferrule.model.credentials import SecretRef


class SecretUnavailable(Exception):
    """A secret that is not available. The message names the secret and what to do, never a value."""

    def __init__(
        self,
        message: str,
        *,
        is_final: bool = True,
        reference: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.is_final = is_final
        """False when another try may succeed: the store did not answer."""
        self.reference = reference
        """The store's own error: `aws:ResourceNotFoundException`, `http:404`."""
        self.retry_after = retry_after
        """Seconds to wait before the next attempt, as the store demands."""


class SecretSource(Protocol):
    """One store of secrets. It keeps no connection open."""

    def is_missing(self, ref: SecretRef) -> bool:
        """Returns True when the secret is known to be missing, without contacting the store."""

    async def fetch(self, ref: SecretRef) -> str:
        """Returns the secret's text; ignores `key`. Raises SecretUnavailable, and ExecutionFailed for causes other
        than the secret: a driver that is not installed, an address that may not be reached."""
