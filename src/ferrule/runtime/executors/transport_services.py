"""The services that executors of transports share: network, credentials, clouds, settings and the workspace's folder.

The app builds them once per process; executors only use them. Nothing is connected yet when they are built."""

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


class TransportServices(msgspec.Struct, frozen=True, kw_only=True):
    """The services of one process, shared by all its executors of transports."""

    client: Client
    """The HTTP client of every executor that speaks HTTP."""
    guard: Guard
    """The check of every address that is dialled without the HTTP client."""
    vault: Vault
    clouds: Clouds
    """The clients of the clouds, with the identity from the environment or `.env`; executors share tokens and keys."""
    users: UserTokens | None = None
    """Tokens that users authorized."""
    bindings: Mapping[str, SecretRef] = {}
    """`[secrets.bindings]`: where secrets are, by the ids that tools use."""
    env: Mapping[str, str]
    """This process's environment; programs that it starts get nothing of `.env`."""
    root: Path
    """The workspace's folder."""
    upstreams: Upstreams = Upstreams()
    """The settings in `ferrule.toml` of the systems behind tools."""
    learn_secret: Callable[[str, str], None] = lambda name, value: None
    """Registers a secret with the redactor, under the name that replaces it."""
    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    redact_arguments: Callable[[Tool, Any], Any] = lambda tool, arguments: arguments
    """Redacts a tool's arguments for people: masks sensitive members, removes known secrets."""
    redact_bytes: Callable[[bytes], bytes] = lambda data: data
    """Removes known secrets from bytes that are changed or written before the pipeline sees them."""
    issue_callback: Callable[[str, int], str] = lambda invocation_id, expires_at: ""
    """Issues a token that lets outsiders answer one call until a time (microseconds since 1970); empty when none is issued."""

    def __repr__(self) -> str:
        return f"TransportServices({str(self.root)!r})"  # an environment holds secrets, and tracebacks print it
