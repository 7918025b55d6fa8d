"""A vault over one place of secrets that counts how often it is asked."""

from __future__ import annotations

import asyncio
from typing import Any

from ferrule.contracts.executor import Context
from ferrule.infra.credentials.vault import CachedVault
from ferrule.model.credentials import Credentials, SecretRef, read_credentials
from tests.infra.clouds.fixtures import Learned


class CountingStore:
    """A place of secrets that counts."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.asked = 0
        self.trouble: Exception | None = None
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    def is_missing(self, ref: SecretRef) -> bool:
        return ref.name not in self.values

    async def fetch(self, ref: SecretRef) -> str:
        self.asked += 1
        await self.may_answer.wait()
        if self.trouble is not None:
            raise self.trouble
        return self.values[ref.name]


class VaultSetup:
    """A vault over one such place, with a clock."""

    def __init__(self, *, cache_seconds: float = 300.0, **values: str) -> None:
        self.store = CountingStore(**values)
        self.learned = Learned()
        self.now = 0.0
        self.vault = CachedVault(lambda name: self.store, self.learned, lambda: self.now, cache_seconds=cache_seconds)


def make_context(run_id: str = "r1") -> Context:
    """The context of a call in a run."""
    return Context(invocation_id="i", principal="p", agent=None, tenant="", run_id=run_id)


def make_credentials(**written: Any) -> Credentials:
    """Credentials that name a variable."""
    return read_credentials({"source": "env", "name": "KEY", **written})
