"""Where secret values come from. A source fetches one secret; caching, choosing members and redaction are not its business."""

from __future__ import annotations

from typing import Protocol

from ferrule.model.credentials import SecretRef


class SecretUnavailable(Exception):
    """A secret that cannot be had. The message names the secret and what to do, never a value."""

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
        """What the store said, in its own words: `aws:ResourceNotFoundException`, `http:404`."""
        self.retry_after = retry_after
        """How many seconds the store wants to be left alone."""


class SecretSource(Protocol):
    """One place where secrets are kept. It holds nothing open."""

    def is_missing(self, ref: SecretRef) -> bool:
        """True when it is known, without asking anybody, that the secret is not there."""

    async def fetch(self, ref: SecretRef) -> str:
        """The secret's text; `key` is not looked at. Raises SecretUnavailable, and ExecutionFailed for what is no fault of
        the secret: a driver that is not installed, an address that may not be reached."""
