"""What the executors of transports are given: the network, the credentials and the folder they work in. Nothing is open yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.credentials import UserTokens, Vault
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.model.credentials import SecretRef
from ferrule.model.tool import Tool
from ferrule.model.upstreams import Upstreams


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """One process's, shared by all its executors."""

    client: Client
    """For everything that speaks HTTP."""
    guard: Guard
    """For everything that does not: an address is judged before it is dialled."""
    vault: Vault
    clouds: Clouds
    """Who we are at the clouds, as the environment or `.env` says; tokens and keys are shared by all executors."""
    users: UserTokens | None = None
    """Tokens that users authorized."""
    bindings: Mapping[str, SecretRef] = {}
    """`[secrets.bindings]`: where secrets are, by the ids that tools use."""
    env: Mapping[str, str]
    """Of this process alone: programs that are started get nothing of `.env`."""
    root: Path
    """The workspace's folder."""
    upstreams: Upstreams = Upstreams()
    """What `ferrule.toml` says about the systems behind tools."""
    learn: Callable[[str, str], None] = lambda name, value: None
    """Tells the redactor a secret, by the name it is told under."""
    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    shown: Callable[[Tool, Any], Any] = lambda tool, arguments: arguments
    """A tool's arguments as people may see them: sensitive members masked, known secrets taken out."""
    clean: Callable[[bytes], bytes] = lambda data: data
    """Bytes without the secrets that are known: for what is changed, or written, before the pipeline sees it."""
    callback: Callable[[str, int], str] = lambda invocation_id, expires_at: ""
    """A token by which one call may be answered from outside, until then (microseconds since 1970); empty: there is none."""

    def __repr__(self) -> str:
        return f"Surroundings({str(self.root)!r})"  # an environment holds secrets, and tracebacks print it
